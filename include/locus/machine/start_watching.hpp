// SPDX-License-Identifier: Apache-2.0
// A program begins to watch itself: start_trace, stop_trace (a timeline for Perfetto), set_nvtx; or
// its user watches it by LOCUS_LOG, LOCUS_TRACE, LOCUS_NVTX, LOCUS_EXPLAIN.
#pragma once
#include <locus/core/macros.hpp>  // LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/watch/trace.hpp>  // trace_options
#include <locus/watch/watch.hpp>  // set_watcher

LOCUS_COLD_BEGIN

namespace locus {

namespace runtime {

/// means: ends the running trace and writes it; finish: issued work runs before, but at exit
///        simulated GPUs drop the work that they have not run
/// fails: bad_file
[[gnu::cold]] LOCUS_FUNCTION void close_trace(bool at_exit = false, bool finish = true);
/// means: a trace runs whose file has the same name in all ranks that this process may join
LOCUS_FUNCTION bool trace_has_one_name();
/// at the end of the program. Functions of the end run in reverse order, so this one is added again
/// after devices are open: it runs while CUDA still answers
LOCUS_FUNCTION void close_trace_at_end(bool terminating);
/// means: ends the running trace and begins another one     fails: bad_file
[[gnu::cold]] LOCUS_FUNCTION void open_trace(std::string_view path, trace_options const& options);

namespace detail {
/// the value of LOCUS_LOG: [every,]text or [every,]json:PATH
LOCUS_FUNCTION void read_log_variable();
}  // namespace detail

/// means: starts the watchers that the environment names; read once, when the device table is made
/// fails: configuration_error, naming variable, value and remedy
LOCUS_FUNCTION void read_watch_variables();

}  // namespace runtime

namespace debugging {

using runtime::trace_options;

/// means: records a trace from now on: each step, copy and collective on the track of its queue,
///        arrows from the source of a copy to its target, the memory of each device. stop_trace
///        writes the file, or else the end of the program. LOCUS_TRACE=PATH traces a whole program.
///        Open the file at ui.perfetto.dev. %p in the path becomes the process number, %r the rank.
/// cost:  some hundred bytes for each event, up to max_events; on a GPU two events for each launch
/// fails: bad_file
inline void start_trace(std::string_view path, trace_options const& options = {}) {
  runtime::open_trace(path, options);
}
/// means: waits for issued work and writes the trace; does nothing if there is no trace
/// fails: bad_file
inline void stop_trace() { runtime::close_trace(); }

/// means: each step, copy and collective of a GPU is a range of NVTX, named after it and its device
/// after: LOCUS_NVTX=1 does it for a whole program
inline void set_nvtx(bool on) { runtime::set_watcher(runtime::watcher::ranges, on); }

}  // namespace debugging

}  // namespace locus

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/machine/bodies/start_watching.hpp>  // bodies of the functions above
#endif
