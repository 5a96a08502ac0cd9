// SPDX-License-Identifier: Apache-2.0
// The events of a run of a plan, and of tensors: operations have TensorFlow's names.
#pragma once
#include <locus/core/macros.hpp>          // LOCUS_COLD_BEGIN, LOCUS_FUNCTION, LOCUS_RUN_MODE
#include <locus/machine/event_scope.hpp>  // event_scope
#include <locus/run/run_state.hpp>        // run_state

LOCUS_COLD_BEGIN

namespace locus::detail {

using runtime::event_scope;

inline namespace LOCUS_RUN_MODE {

/// means: the run of a plan begins; its work is that of the host
[[gnu::cold]] LOCUS_FUNCTION void begin_plan(event_scope& scope, run_state const& run);
/// means: the run of a plan ends: the listener of the thread and the report get its counts
[[gnu::cold]] LOCUS_FUNCTION void end_plan(run_state const& run);
/// means: a launch begins; kernel: on a GPU, the names of its kernels
[[gnu::cold]] LOCUS_FUNCTION void begin_launch(event_scope& scope, run_state const& run,
                                               launch const& what, std::int64_t bytes,
                                               std::string_view kernel);
/// means: a collective over `over` begins on a queue of `at`: the device that folds, or the host
[[gnu::cold]] LOCUS_FUNCTION void begin_collective(event_scope& scope, run_state const& run,
                                                   transfer_kind how, int tensors,
                                                   place const& over, std::string_view algorithm,
                                                   std::int64_t bytes, logical_device& at,
                                                   queue_kind queue);
/// means: a transfer moves a value or a piece; skipped: the reason why nothing moves, or nothing
[[gnu::cold]] LOCUS_FUNCTION void log_transfer(run_state const& run, transfer const& t,
                                               std::int64_t bytes, device from, device to,
                                               std::string_view skipped);
/// means: warns that step i has no kernel for its device: each time in the destination of the log;
///        without one, on stderr once for each operation name, and only if the program requested
///        the device or there are GPUs
[[gnu::cold]] LOCUS_FUNCTION void say_fallback(run_state const& run, short i);

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::detail

namespace locus::internal {

/// means: tells the log that a tensor was made
[[gnu::cold]] LOCUS_FUNCTION void log_creation(std::string_view type, shape const& extents,
                                               place const& where, call_site site);
/// means: tells the log that a tensor was copied on its device
[[gnu::cold]] LOCUS_FUNCTION void log_tensor_copy(std::string_view type, shape const& extents,
                                                  std::int64_t bytes, device on);

}  // namespace locus::internal

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/run/bodies/events.hpp>  // bodies of the functions above
#endif
