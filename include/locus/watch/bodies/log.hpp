// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that watch/log.hpp declares.
#pragma once
#include <cerrno>    // errno
#include <cstring>   // strerror
#include <unistd.h>  // close, getpid
#include <utility>   // exchange

#include <locus/core/error.hpp>           // configuration_error
#include <locus/core/macros.hpp>          // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/core/printable.hpp>       // write_printable
#include <locus/runtime/output_file.hpp>  // open_output
#include <locus/runtime/ranks.hpp>        // this_rank, rank_of_files
#include <locus/runtime/variables.hpp>    // is_switched_on
#include <locus/runtime/write_all.hpp>    // write_all, write_to_stderr
#include <locus/watch/log.hpp>            // the declarations
#include <locus/watch/watch.hpp>          // time_since_start

LOCUS_COLD_BEGIN

namespace locus::runtime {

LOCUS_FUNCTION bool is_quiet() {
  static bool const quiet = is_switched_on("LOCUS_QUIET");
  return quiet;
}

LOCUS_FUNCTION void write_line(log_line const& line) {
  log_line printable;
  write_printable(printable, line.view());
  text_buffer<sizeof(log_line) + 16> whole;
  if (this_rank.ranks > 1) whole << "[" << this_rank.rank << "] ";
  whole << printable.view() << "\n";
  write_to_stderr(whole.view());
}

/// The destination of the log.
struct log_sink {
  mutex lock;
  log_callback callback = nullptr;  // null: stderr
  void* context = nullptr;
  bool beside_stderr = false;  // warnings also go to stderr
  int file = -1;               // of JSON lines
  bool one_name = false;       // of that file, for all ranks of a program
};
LOCUS_SHARED_STATE inline constinit log_sink log_goes_to;
LOCUS_SHARED_STATE inline thread_local constinit bool inside_log = false;

inline void log_now(run_event& e) noexcept {
  if (inside_log) return;
  e.time = time_since_start();
  log_line line = text_of(e);
  lock_guard hold(log_goes_to.lock);
  if (!log_goes_to.callback) return write_line(line);
  inside_log = true;
  try {
    log_goes_to.callback(e, line.view(), log_goes_to.context);
  } catch (...) {}  // an exception of the program's callback is dropped
  inside_log = false;
}

/// Settings that changed.
struct noted_settings {
  static constexpr int max = 32;
  mutex lock;
  struct {
    std::string_view call, subject;
  } of[max]{};
  int count = 0;
};
LOCUS_SHARED_STATE inline constinit noted_settings settings_to_say;

LOCUS_FUNCTION void note_setting(std::string_view call, std::string_view subject) {
  lock_guard hold(settings_to_say.lock);
  if (settings_to_say.count < noted_settings::max)
    settings_to_say.of[settings_to_say.count++] = {call, subject};
}

LOCUS_FUNCTION void say_settings() noexcept {
  for (;;) {
    run_event e;
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

LOCUS_FUNCTION void log(run_event& e) noexcept {
  say_settings();
  log_now(e);
}

LOCUS_FUNCTION void warn(run_event& e, bool first) noexcept {
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

LOCUS_FUNCTION void warn(log_line const& sentence) {
  run_event e{.kind = event_kind::fallback, .reason = sentence.view()};
  warn(e);
}

LOCUS_FUNCTION log_frequency how_often_logged() {
  log_frequency now;
  __atomic_load(&placement_log, &now, __ATOMIC_RELAXED);
  return now;
}

LOCUS_FUNCTION bool is_wanted(void const* what, call_site where) {
  log_frequency const how_often = how_often_logged();
  if (how_often == log_frequency::off) return false;
  return first_time(what, where) || how_often == log_frequency::every;
}

LOCUS_FUNCTION text_buffer<4200> path_of_process(std::string_view path) {
  text_buffer<4200> out;  // longer than a path, so that open() refuses a long one
  bool differs = false;   // between the ranks of a program
  for (std::size_t i = 0; i < path.size(); ++i) {
    char const next = path[i] == '%' && i + 1 < path.size() ? path[i + 1] : '\0';
    if (next != 'p' && next != 'r') {
      out << path.substr(i, 1);
      continue;
    }
    out << (next == 'p' ? static_cast<int>(getpid()) : rank_of_files.rank);
    differs = true, ++i;
  }
  if (!differs && rank_of_files.ranks > 1) out << "." << rank_of_files.rank;
  return out;
}

LOCUS_FUNCTION bool is_one_name(std::string_view path) {
  return rank_of_files.ranks <= 1 && path.find("%p") == path.npos;
}
LOCUS_FUNCTION bool log_has_one_name() {
  lock_guard hold(log_goes_to.lock);
  return log_goes_to.file >= 0 && log_goes_to.one_name;
}

inline void write_json_line(run_event const& e, std::string_view, void*) {
  json_text line;
  write_json(line, e);
  line.raw("\n");
  if (log_goes_to.file < 0 || write_all(log_goes_to.file, line.view())) return;
  ::close(std::exchange(log_goes_to.file, -1));
  log_line last;
  write_line(last << "locus: the log cannot be written any more: " << std::strerror(errno));
}

LOCUS_FUNCTION void send_log_to(log_callback callback, void* context, int file) {
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

LOCUS_FUNCTION void open_json_log(std::string_view path) {
  auto const name = path_of_process(path);
  int const file = open_output("the log cannot be written to", name.view());
  send_log_to(write_json_line, nullptr, file);
  lock_guard hold(log_goes_to.lock);
  log_goes_to.one_name = is_one_name(path);
}

}  // namespace locus::runtime

namespace locus::debugging {

LOCUS_FUNCTION void set_log_device_placement(bool on, log_frequency how_often) {
  log_frequency const now = on ? how_often : log_frequency::off;
  runtime::set_watched(runtime::watcher::log, now != log_frequency::off, runtime::placement_log,
                       now);
}

LOCUS_FUNCTION void log_to_json(std::string_view path) {
  if (path.empty()) return set_log_sink(nullptr);
  runtime::open_json_log(path);
}

}  // namespace locus::debugging

LOCUS_COLD_END
