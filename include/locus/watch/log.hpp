// SPDX-License-Identifier: Apache-2.0
// The log: events go to stderr, to a callback or a stream of the program, or to a file of JSON
// lines. Lines are never mixed.
#pragma once

#include <locus/core/lock.hpp>    // mutex
#include <locus/core/macros.hpp>  // LOCUS_SHARED_STATE, LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/watch/event.hpp>  // run_event
#include <locus/watch/watch.hpp>  // is_watched

LOCUS_COLD_BEGIN

namespace locus {

/// How often the placement log writes one step of one call site.
enum class log_frequency : unsigned char { off, once, every };

/// A program's replacement for stderr. One thread at a time calls it; its exceptions, and events
/// that it causes itself, are dropped.
using log_callback = void (*)(run_event const& event, std::string_view text, void* context);

namespace runtime {

LOCUS_SHARED_STATE inline constinit log_frequency placement_log = log_frequency::off;

LOCUS_FUNCTION bool is_quiet();
LOCUS_FUNCTION void write_line(log_line const& line);

/// means: notes a setting that changed. A change happens while devices are locked, and a callback of
///        the log may use devices; so it is logged with the next event, or when devices are first
///        used
[[gnu::cold]] LOCUS_FUNCTION void note_setting(std::string_view call, std::string_view subject);
[[gnu::cold]] LOCUS_FUNCTION void say_settings() noexcept;
/// means: writes one event to the destination of the log
[[gnu::cold]] LOCUS_FUNCTION void log(run_event& e) noexcept;
/// means: writes a warning to the destination of the log. Without a destination it goes to stderr,
///        unless LOCUS_QUIET is set or the same warning was written before (first is false)
[[gnu::cold]] LOCUS_FUNCTION void warn(run_event& e, bool first = true) noexcept;
LOCUS_FUNCTION void warn(log_line const& sentence);

LOCUS_FUNCTION log_frequency how_often_logged();
[[gnu::cold]] LOCUS_FUNCTION bool is_wanted(void const* what, call_site where);

/// means: the path, with the process id in place of %p and the rank in place of %r; over ranks, a path
///        without both ends with a point and the rank
LOCUS_FUNCTION text_buffer<4200> path_of_process(std::string_view path);
/// means: that path is the same in all ranks that this process may join
LOCUS_FUNCTION bool is_one_name(std::string_view path);
/// means: the log goes to a file of such a path
LOCUS_FUNCTION bool log_has_one_name();
/// callback null: to stderr     fails: configuration_error, inside a callback of the log itself
LOCUS_FUNCTION void send_log_to(log_callback callback, void* context, int file = -1);
/// fails: bad_file
LOCUS_FUNCTION void open_json_log(std::string_view path);

}  // namespace runtime

namespace debugging {

/// means: logs steps, copies, collectives, creations and fallbacks, once for each call site or
///        every time
/// after: tf.debugging.set_log_device_placement
LOCUS_FUNCTION void set_log_device_placement(bool on,
                                             log_frequency how_often = log_frequency::once);
/// means: events of the log and warnings go to callback(event, text, context) instead of stderr;
///        null: to stderr again
inline void set_log_sink(log_callback callback, void* context = nullptr) {
  runtime::send_log_to(callback, context);
}
/// means: lines go to a stream, which must live until another sink is set
template <class Stream>
  requires requires(Stream& s) { s.write("", 0); }
void log_to(Stream& out) {
  set_log_sink(
      [](run_event const&, std::string_view text, void* stream) {
        auto& to = *static_cast<Stream*>(stream);
        to.write(text.data(), static_cast<std::ptrdiff_t>(text.size()));
        to.write("\n", 1);
        if constexpr (requires { to.flush(); }) to.flush();
      },
      static_cast<void*>(&out));
}
/// means: writes one JSON object for each event to a new file; %p in its name becomes the process
///        id, %r the rank. Warnings go to stderr too. An empty path: to stderr again
/// fails: bad_file
LOCUS_FUNCTION void log_to_json(std::string_view path);

}  // namespace debugging

}  // namespace locus

LOCUS_COLD_END

namespace locus::runtime {
/// means: the placement log wants this event of `what` at this call site     cost: one test without
///        a log
inline bool log_wants(void const* what, call_site where) {
  return is_watched(watcher::log) && is_wanted(what, where);
}
}  // namespace locus::runtime

#if LOCUS_HAS_BODIES
#include <locus/watch/bodies/log.hpp>  // bodies of the functions above
#endif
