// SPDX-License-Identifier: Apache-2.0
// start_trace, stop_trace, set_nvtx: a timeline of work for Perfetto and for Nsight.
#pragma once
#include <locus/core/macros.hpp>                // LOCUS_COLD_BEGIN
#include <locus/machine/machine_functions.hpp>  // gpus_of_program
#include <locus/runtime/at_end.hpp>             // at_end
#include <locus/watch/trace_file.hpp>           // open_trace, close_trace
#include <locus/watch/watch.hpp>                // set_watcher

LOCUS_COLD_BEGIN

namespace locus {

namespace runtime::detail {
/// waits until issued work has run; at exit, simulated GPUs drop the work that they have not run
inline void finish_traced_work(bool at_exit) {
  if (table.gpu_machine) table.gpu_machine->finish_traced(at_exit);
}
}  // namespace runtime::detail

namespace runtime {
/// means: a trace that is open when the program ends is finished and written
/// after: devices are open; exit handlers run in reverse order, so this one runs while CUDA answers
inline void trace_devices() {
  finish_traces_with(detail::finish_traced_work);
  at_end(close_trace_at_end);
}
}  // namespace runtime

namespace debugging {

using runtime::trace_options;

/// means: records a trace from now on: each step, copy and collective on the track of its queue,
///        arrows from the source of a copy to its target, the memory of each device. stop_trace
///        writes the file, or else the end of the program. LOCUS_TRACE=PATH traces a whole program.
///        Open the file at ui.perfetto.dev. %p in the path becomes the process number.
/// cost:  some hundred bytes for each event, up to max_events; on a GPU two events for each launch
/// fails: bad_file
inline void start_trace(std::string_view path, trace_options const& options = {}) {
  runtime::finish_traces_with(runtime::detail::finish_traced_work);
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
