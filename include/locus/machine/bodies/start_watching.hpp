// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that machine/start_watching.hpp declares.
#pragma once
#include <cerrno>    // errno
#include <cstring>   // strerror
#include <unistd.h>  // close
#include <utility>   // exchange

#include <locus/core/environment.hpp>           // from_environment
#include <locus/core/error.hpp>                 // bad_file
#include <locus/core/macros.hpp>                // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/machine/machine_functions.hpp>  // finish_traced
#include <locus/machine/start_watching.hpp>     // the declarations
#include <locus/runtime/at_end.hpp>             // at_end
#include <locus/runtime/output_file.hpp>        // open_output
#include <locus/runtime/rank_queue.hpp>         // between_ranks
#include <locus/runtime/variables.hpp>          // ranges_said
#include <locus/watch/log.hpp>                  // path_of_process, open_json_log
#include <locus/watch/trace_file.hpp>           // write_trace

LOCUS_COLD_BEGIN

namespace locus::runtime {

/// The file of the running trace.
struct trace_target {
  mutex lock;
  int file = -1;
  bool one_name = false;  // for all ranks of a program
  decltype(path_of_process({})) path;
};
LOCUS_SHARED_STATE inline trace_target& the_trace_target() {
  static trace_target* const t = new trace_target;
  return *t;
}

LOCUS_FUNCTION void close_trace(bool at_exit, bool finish) {
  trace_target& to = the_trace_target();
  if (finish && is_watched(watcher::trace) && table.gpu_machine)
    table.gpu_machine->finish_traced(at_exit);
  if (finish && !at_exit && is_watched(watcher::trace) && between_ranks)
    between_ranks->finish_marks();
  set_watcher(watcher::trace, false);
  lock_guard hold(to.lock);
  if (to.file < 0) return;
  lock_guard quiet(the_tracer().lock());
  bool const good = write_trace(the_tracer(), to.file);
  ::close(std::exchange(to.file, -1));
  if (good) return;
  message text;
  throw bad_file(text << "locus: the trace cannot be written to " << shown(to.path.view()).view()
                      << ": " << std::strerror(errno));
}

LOCUS_FUNCTION bool trace_has_one_name() {
  trace_target& to = the_trace_target();
  lock_guard hold(to.lock);
  return to.file >= 0 && to.one_name;
}

LOCUS_FUNCTION void close_trace_at_end(bool terminating) {
  if (terminating) {  // perhaps inside of traced code
    if (!the_tracer().lock().try_lock()) return;
    the_tracer().lock().unlock();
  }
  try {
    close_trace(true, !terminating);
  } catch (std::exception const& e) {
    log_line line;
    write_line(line << e.what());
  }
}

LOCUS_FUNCTION void open_trace(std::string_view path, trace_options const& options) {
  close_trace();
  trace_target& to = the_trace_target();
  lock_guard hold(to.lock);
  to.path = path_of_process(path), to.one_name = is_one_name(path);
  to.file = open_output("a trace cannot be written to", to.path.view());
  the_tracer().start(options);
  set_watcher(watcher::trace, true);
  at_end(close_trace_at_end);
}

}  // namespace locus::runtime

// ---- variables ----

namespace locus::runtime::detail {

/// means: f(); if it cannot open a file, the error names the variable
template <class F>
void named_by(char const* variable, char const* value, F const& f) {
  try {
    f();
  } catch (bad_file const& e) {
    message text;
    throw configuration_error(text << e.what() << " (" << std::string_view(variable) << " is \""
                                   << shown(value).view() << "\")");
  }
}

LOCUS_FUNCTION void read_log_variable() {
  char const* const variable = from_environment("LOCUS_LOG");
  if (!variable || !*variable) return;
  std::string_view rest = variable;
  auto const take = [&](std::string_view word) {
    bool const is = rest.substr(0, word.size()) == word;
    if (is) rest.remove_prefix(word.size());
    return is;
  };
  auto const how_often = take("every,") ? log_frequency::every : log_frequency::once;
  if (take("json:") && !rest.empty()) {
    named_by("LOCUS_LOG", variable, [&] { open_json_log(rest); });
  } else if (!(take("text") && rest.empty())) {
    message text;
    throw configuration_error(text << "locus: LOCUS_LOG is \"" << shown(variable).view()
                                   << "\"; write text or json:PATH, with every, in front of it "
                                      "for each time instead of once");
  }
  debugging::set_log_device_placement(true, how_often);
}

/// fails: configuration_error, for a word such as "on" in place of a path, since no user wants a
///        file of that name
inline void require_path(char const* variable, std::string_view value, std::string_view remedy) {
  for (std::string_view const word : {"1", "true", "false", "yes", "no", "on", "off"}) {
    if (value != word) continue;
    message text;
    throw configuration_error(text << "locus: " << std::string_view(variable) << " is \"" << value
                                   << "\"; write " << remedy);
  }
}

}  // namespace locus::runtime::detail

namespace locus::runtime {

/// means: the value of a variable; null if it is not set, empty or 0
inline char const* switch_variable(char const* name) {
  char const* const v = from_environment(name);
  return v && *v && !(v[0] == '0' && v[1] == '\0') ? v : nullptr;
}

LOCUS_SHARED_STATE inline constinit bool watch_variables_read = false;

LOCUS_FUNCTION void read_watch_variables() {
  if (watch_variables_read) return;
  static_cast<void>(time_since_start());
  detail::read_log_variable();
  if (char const* const path = switch_variable("LOCUS_TRACE")) {
    detail::require_path("LOCUS_TRACE", path, "the path of a file");
    detail::named_by("LOCUS_TRACE", path, [&] { open_trace(path, {}); });
  }
  if (ranges_said() == 1) set_watcher(watcher::ranges, true);
  if (char const* const said = switch_variable("LOCUS_EXPLAIN")) {
    if (std::string_view(said) != "1")
      detail::require_path("LOCUS_EXPLAIN", said, "1 for stderr, or the path of a file");
    set_watcher(watcher::report, true);
  }
  watch_variables_read = true;
}

}  // namespace locus::runtime

LOCUS_COLD_END
