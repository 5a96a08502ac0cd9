// SPDX-License-Identifier: Apache-2.0
// Where events go: stderr, a callback or a stream of the program, a file of JSON lines. Each line
// whole, one at a time.
#pragma once
#include <cerrno>   // errno
#include <cstring>  // strerror
#include <utility>  // exchange

#include <unistd.h>  // close, getpid

#include <locus/core/config.hpp>          // LOCUS_SHARED_STATE, LOCUS_COLD_BEGIN
#include <locus/core/error.hpp>           // configuration_error, bad_file
#include <locus/core/lock.hpp>            // mutex
#include <locus/core/printable.hpp>       // write_printable
#include <locus/runtime/log_event.hpp>    // log_event, text_of, write_json
#include <locus/runtime/output_file.hpp>  // open_output
#include <locus/runtime/variables.hpp>    // is_switched_on
#include <locus/runtime/watch.hpp>        // set_watcher, time_since_start
#include <locus/runtime/write_all.hpp>    // write_all, write_to_stderr

LOCUS_COLD_BEGIN

namespace locus {

/// How often the placement log speaks of one step of one call site.
enum class log_frequency : unsigned char { off, once, every };

/// What a program may put in place of stderr. It is called by one thread at a time; what it throws,
/// and what it does with locus that would be logged, is dropped.
using log_callback = void (*)(log_event const& event, std::string_view text, void* context);

namespace runtime {

LOCUS_SHARED_STATE inline constinit log_frequency placement_log = log_frequency::off;

inline bool is_quiet() {
  static bool const quiet = is_switched_on("LOCUS_QUIET");
  return quiet;
}
inline void write_line(log_line const& line) {
  log_line printable;
  write_printable(printable, line.view());
  text_buffer<sizeof(log_line) + 2> whole;
  whole << printable.view() << "\n";
  write_to_stderr(whole.view());
}

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

[[gnu::cold]] inline void log_now(log_event& e) noexcept {
  if (inside_log) return;
  e.time = time_since_start();
  log_line line = text_of(e);
  lock_guard hold(log_goes_to.lock);
  if (!log_goes_to.callback) return write_line(line);
  inside_log = true;
  try {
    log_goes_to.callback(e, line.view(), log_goes_to.context);
  } catch (...) {}  // the program's own trouble
  inside_log = false;
}
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

[[gnu::cold]] inline void note_setting(std::string_view call, std::string_view subject) {
  lock_guard hold(settings_to_say.lock);
  if (settings_to_say.count < noted_settings::max)
    settings_to_say.of[settings_to_say.count++] = {call, subject};
}
[[gnu::cold]] inline void say_settings() noexcept {
  for (;;) {
    log_event e;
    {
      lock_guard hold(settings_to_say.lock);
      noted_settings& s = settings_to_say;
      if (s.count == 0) return;
      e.kind = event_kind::configuration, e.name = s.of[0].call, e.reason = s.of[0].subject;
      for (int i = 1; i < s.count; ++i) s.of[i - 1] = s.of[i];
      --s.count;
    }
    log_now(e);
  }
}
/// means: one event, to where the log goes
[[gnu::cold]] inline void log(log_event& e) noexcept {
  say_settings();
  log_now(e);
}
/// means: an event that a user must hear of goes where the program wants its log. Without such a place it goes to
///        stderr, unless LOCUS_QUIET is set or it was said there before (first is false)
[[gnu::cold]] inline void warn(log_event& e, bool first = true) noexcept {
  log_line line = text_of(e);
  bool elsewhere, beside_stderr;
  if (inside_log) {  // this thread holds the lock
    elsewhere = true, beside_stderr = log_goes_to.beside_stderr;
  } else {
    lock_guard hold(log_goes_to.lock);
    elsewhere = log_goes_to.callback != nullptr, beside_stderr = log_goes_to.beside_stderr;
  }
  if (elsewhere) log(e);
  if (first && (!elsewhere || beside_stderr) && !is_quiet()) write_line(line);
}
inline void warn(log_line const& sentence) {
  log_event e;
  e.kind = event_kind::fallback, e.reason = sentence.view();
  warn(e);
}

inline log_frequency how_often_logged() {
  log_frequency now;
  __atomic_load(&placement_log, &now, __ATOMIC_RELAXED);
  return now;
}
/// means: this event of that thing at that place is wanted
[[gnu::cold]] inline bool is_wanted(void const* what, call_site where) {
  log_frequency const how_often = how_often_logged();
  if (how_often == log_frequency::off) return false;
  return first_time(what, where) || how_often == log_frequency::every;
}

// ---- JSON lines ----

/// means: the path with %p as the number of the process
inline text_buffer<4200> path_of_process(std::string_view path) {
  text_buffer<4200> out;  // longer than a path: one that is too long is refused, not cut
  for (std::size_t i = 0; i < path.size(); ++i)
    if (path[i] == '%' && i + 1 < path.size() && path[i + 1] == 'p')
      out << static_cast<int>(getpid()), ++i;
    else
      out << path.substr(i, 1);
  return out;
}
[[gnu::cold]] inline void write_json_line(log_event const& e, std::string_view, void*) {
  json_text line;
  write_json(line, e);
  line.raw("\n");
  if (log_goes_to.file < 0 || write_all(log_goes_to.file, line.view())) return;
  ::close(std::exchange(log_goes_to.file, -1));
  log_line last;
  write_line(last << "locus: the log cannot be written any more: " << std::strerror(errno));
}
/// null: stderr     fails: configuration_error, in a callback of the log itself
inline void send_log_to(log_callback callback, void* context, int file = -1) {
  if (inside_log) {
    if (file >= 0) ::close(file);
    throw configuration_error(
        "locus: a callback of the log changes where the log goes; change it outside");
  }
  lock_guard hold(log_goes_to.lock);
  if (log_goes_to.file >= 0) ::close(log_goes_to.file);
  log_goes_to.callback = callback, log_goes_to.context = context, log_goes_to.file = file;
  log_goes_to.beside_stderr = file >= 0;
}
/// fails: bad_file
inline void open_json_log(std::string_view path) {
  auto const name = path_of_process(path);
  int const file = open_output("the log cannot be written to", name.view());
  send_log_to(write_json_line, nullptr, file);
}

}  // namespace runtime

namespace debugging {

/// means: steps, copies, collectives, creations and fallbacks are written, once for each call site
///        or every time
/// after: tf.debugging.set_log_device_placement
inline void set_log_device_placement(bool on, log_frequency how_often = log_frequency::once) {
  log_frequency const now = on ? how_often : log_frequency::off;
  runtime::set_watched(runtime::watcher::log, now != log_frequency::off, runtime::placement_log,
                       now);
}
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
inline void log_to_json(std::string_view path) {
  if (path.empty()) return set_log_sink(nullptr);
  runtime::open_json_log(path);
}

}  // namespace debugging

}  // namespace locus

LOCUS_COLD_END
