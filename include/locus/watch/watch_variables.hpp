// SPDX-License-Identifier: Apache-2.0
// LOCUS_LOG, LOCUS_TRACE, LOCUS_NVTX, LOCUS_EXPLAIN: variables by which a user watches a program
// without changing it.
#pragma once
#include <locus/core/macros.hpp>        // LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/runtime/variables.hpp>  // ranges_said
#include <locus/watch/trace_file.hpp>   // open_trace
#include <locus/watch/watch.hpp>        // set_watcher

LOCUS_COLD_BEGIN

namespace locus::runtime {

namespace detail {
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
/// the value of LOCUS_LOG: [every,]text or [every,]json:PATH
LOCUS_FUNCTION void read_log_variable();
/// fails: configuration_error, for a word such as "on" in place of a path, since no user wants a
///        file of that name
LOCUS_FUNCTION void require_path(char const* variable, std::string_view value,
                                 std::string_view remedy);
}  // namespace detail

/// means: the value of a variable; null if it is not set, empty or 0
LOCUS_FUNCTION char const* switch_variable(char const* name);

/// means: starts the watchers that the environment names; read once, when the device table is made
/// fails: configuration_error, naming variable, value and remedy
LOCUS_SHARED_STATE inline void read_watch_variables() {
  static bool done = false;
  if (done) return;
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
  done = true;
}

}  // namespace locus::runtime

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/watch/bodies/watch_variables.hpp>  // bodies of the functions above
#endif
