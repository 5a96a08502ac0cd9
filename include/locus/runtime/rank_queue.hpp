// SPDX-License-Identifier: Apache-2.0
// The queue of the host for reductions between ranks: a thread carries them in order, while the
// program's thread computes. A stamp with the number of this queue waits for one of them.
#pragma once
#include <cstdint>  // uint64_t

#include <locus/core/hooks.hpp>            // between_ranks
#include <locus/core/macros.hpp>           // LOCUS_SHARED_STATE
#include <locus/runtime/device_table.hpp>  // stamp

namespace locus::runtime {

struct trace_span;  // watch/trace.hpp

/// The number of this queue in stamps; no device has one as large.
inline constexpr short queue_of_ranks = 0x7fff;
constexpr bool is_of_ranks(stamp s) { return s.queue == queue_of_ranks; }

struct rank_queue_functions {
  /// means: returns when the reduction with that number has ended
  /// fails: with its error, or with that of an earlier one
  void (*wait)(std::uint64_t ticket);
  /// means: the span begins, or ends, when the reductions that the queue has now have ended
  void (*mark)(trace_span const& span, bool ends);
  /// means: returns when the spans marked so far have their times
  void (*finish_marks)();
};

/// This thread carries the reductions of the queue.
LOCUS_SHARED_STATE inline thread_local constinit bool carries_reductions = false;

}  // namespace locus::runtime
