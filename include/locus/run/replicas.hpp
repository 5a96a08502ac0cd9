// SPDX-License-Identifier: Apache-2.0
// Reductions over replicas inside a run: the reducer is given the terms of a bucket, and the memory of
// their results.
#pragma once

#include <locus/collective/reduce.hpp>  // reduction_job, segment
#include <locus/core/macros.hpp>        // LOCUS_RUN_MODE, LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/run/copy_value.hpp>     // transport
#include <locus/run/run_watch.hpp>      // run_watch

LOCUS_COLD_BEGIN

namespace locus::detail {
inline namespace LOCUS_RUN_MODE {

class replica_reduction : protected transport {
 protected:
  replica_reduction(program const& p, run_arrays const& arrays, target const* targets,
                    run_watch const& seen)
      : transport(p, arrays, targets), seen_(seen) {}

  /// means: a reduction finds the memory that it takes besides its terms and its results. Communicators are made before
  ///        that memory is counted, and not within a step
  [[gnu::cold]] void foresee_terms(transfer const& me);
  /// all-reduces of one bucket: their terms travel together
  [[gnu::cold]] void reduce_bucket(short bucket);
  /// partial to single or to pieces
  [[gnu::cold]] void reduce_apart(transfer const& me);

  tally done_{};
  run_watch const seen_;
  runtime::collective_choices const chosen_ = runtime::chosen_for_collectives();

 private:
  /// for a trace: the card that does the work, or the host
  static logical_device& carrier_of(replica_topology const& on) {
    return on.in_reach() || on.uses_nccl() ? *on.on[0] : runtime::find_device(cpu(0));
  }
  std::int64_t bytes_of_terms(transfer const& t) const {
    return extents_[t.from].size() * plan_.steps[t.from].element_bytes;
  }
  void need(logical_device& d, std::int64_t bytes) {
    if (bytes > 0) will_need(d, bytes);
  }
  void* take(logical_device& d, std::int64_t bytes) {
    return bytes > 0 ? take_reserve(d, bytes) : nullptr;
  }
  static collective_name name_of_collective(transfer const& me) {
    return {name_of(me.how), me.bucket};
  }
  reduction_job describe(transfer const& me) const;

  // ---- terms to one device, or to pieces ----
  /// pieces of whole rows: each is folded where it belongs
  static bool goes_in_segments(transfer const& me, replica_topology const& over) {
    return me.arrives.is_sharded() && me.arrives.axis == 0 && over.uses_nccl();
  }
  segment segment_of(transfer const& me, int r) const;
  /// the replica that folds: the destination if it is one
  int root_of(transfer const& me, replica_topology const& over) const;
  /// its result is made where it belongs
  bool reduces_in_place(transfer const& me, replica_topology const& over) const;
  /// a sum that lies on one device to its destination, or to each its piece
  void deliver(transfer const& me, logical_device& at, void* sum);

  // ---- terms ----
  /// a fold runs over dense terms: one that is looked at with gaps or in another order is packed
  void* dense_term(transfer const& me, int r);
  /// the terms of a transfer in replica order, each on its device
  void take_terms(transfer const& me, replica_topology const& over, reduction_job& j);
  /// a result that comes beside the compute queue: work that reads it, or writes there, waits for it
  void await(transfer const& me, replica_topology const& over, reduction_job const& j);
};

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::detail

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/run/bodies/replicas.hpp>  // bodies of the functions above
#endif
