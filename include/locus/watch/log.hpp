// SPDX-License-Identifier: Apache-2.0
// Where events go: stderr, a callback or a stream of the program, a file of JSON lines. Each line
// whole, one at a time.
#pragma once

#include <locus/core/lock.hpp>        // mutex
#include <locus/core/macros.hpp>      // LOCUS_SHARED_STATE, LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/watch/log_event.hpp>  // log_event

LOCUS_COLD_BEGIN

namespace locus {

/// How often the placement log speaks of one step of one call site.
enum class log_frequency : unsigned char { off, once, every };

/// What a program may put in place of stderr. It is called by one thread at a time; what it throws,
/// and what it does with locus that would be logged, is dropped.
using log_callback = void (*)(log_event const& event, std::string_view text, void* context);

namespace runtime {

LOCUS_SHARED_STATE inline constinit log_frequency placement_log = log_frequency::off;

LOCUS_FUNCTION bool is_quiet();
LOCUS_FUNCTION void write_line(log_line const& line);

/// Where the log goes.
struct log_sink {
  mutex lock;
  log_callback callback = nullptr;  // null: stderr
  void* context = nullptr;
  bool beside_stderr = false;  // warnings go to stderr too
  int file = -1;               // of JSON lines
};
LOCUS_SHARED_STATE inline constinit log_sink log_goes_to;
LOCUS_SHARED_STATE inline thread_local constinit bool inside_log = false;

[[gnu::cold]] LOCUS_FUNCTION void log_now(log_event& e) noexcept;
// A setting changes while devices are locked, and a callback may use them: it is said with the next
// event, or when devices are first used.
struct noted_settings {
  static constexpr int max = 32;
  mutex lock;
  struct {
    std::string_view call, subject;
  } of[max]{};
  int count = 0;
};
LOCUS_SHARED_STATE inline constinit noted_settings settings_to_say;

[[gnu::cold]] LOCUS_FUNCTION void note_setting(std::string_view call, std::string_view subject);
[[gnu::cold]] LOCUS_FUNCTION void say_settings() noexcept;
/// means: one event, to where the log goes
[[gnu::cold]] LOCUS_FUNCTION void log(log_event& e) noexcept;
/// means: an event that a user must hear of goes where the program wants its log. Without such a place it goes to
///        stderr, unless LOCUS_QUIET is set or it was said there before (first is false)
[[gnu::cold]] LOCUS_FUNCTION void warn(log_event& e, bool first = true) noexcept;
LOCUS_FUNCTION void warn(log_line const& sentence);

LOCUS_FUNCTION log_frequency how_often_logged();
/// means: this event of that thing at that place is wanted
[[gnu::cold]] LOCUS_FUNCTION bool is_wanted(void const* what, call_site where);

// ---- JSON lines ----

/// means: the path with %p as the number of the process
LOCUS_FUNCTION text_buffer<4200> path_of_process(std::string_view path);
[[gnu::cold]] LOCUS_FUNCTION void write_json_line(log_event const& e, std::string_view, void*);
/// null: stderr     fails: configuration_error, in a callback of the log itself
LOCUS_FUNCTION void send_log_to(log_callback callback, void* context, int file = -1);
/// fails: bad_file
LOCUS_FUNCTION void open_json_log(std::string_view path);

}  // namespace runtime

namespace debugging {

/// means: steps, copies, collectives, creations and fallbacks are written, once for each call site
///        or every time
/// after: tf.debugging.set_log_device_placement
LOCUS_FUNCTION void set_log_device_placement(bool on,
                                             log_frequency how_often = log_frequency::once);
/// means: what is logged, and what a user must hear of, goes to callback(event, text, context)
///        instead of stderr; null: to stderr again
inline void set_log_sink(log_callback callback, void* context = nullptr) {
  runtime::send_log_to(callback, context);
}
/// means: lines go to a stream that lives as long as it is named here
template <class Stream>
  requires requires(Stream& s) { s.write("", 0); }
void log_to(Stream& out) {
  set_log_sink(
      [](log_event const&, std::string_view text, void* stream) {
        auto& to = *static_cast<Stream*>(stream);
        to.write(text.data(), static_cast<std::ptrdiff_t>(text.size()));
        to.write("\n", 1);
        if constexpr (requires { to.flush(); }) to.flush();
      },
      static_cast<void*>(&out));
}
/// means: one JSON object for each event, in a new file of that name; %p in it is the number of the
///        process. What a user must hear of stays on stderr too. An empty path: stderr again
/// fails: bad_file
LOCUS_FUNCTION void log_to_json(std::string_view path);

}  // namespace debugging

}  // namespace locus

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/watch/bodies/log.hpp>  // bodies of the functions above
#endif
