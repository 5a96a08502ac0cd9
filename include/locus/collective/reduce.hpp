// SPDX-License-Identifier: Apache-2.0
// Reductions over replicas, by the algorithm that collective/choice.hpp gives: one fold, where one
// kernel can read all terms; between cards NCCL, or, where the order of replicas or NaN matters,
// each card gets all terms of its segment, folds them, and sends the result to all; otherwise the
// host folds.
// Before: each term, and the memory of each result, is ordered in its device's compute queue.
// After: so are the results, unless `done` holds a stamp.
#pragma once

#include <locus/collective/group.hpp>  // nccl_group
#include <locus/core/macros.hpp>       // LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/work/fold.hpp>         // replica_terms

LOCUS_COLD_BEGIN

namespace locus::detail {

using fold_fn = void (*)(launch_site const&, replica_terms const&);

}  // namespace locus::detail

namespace locus::internal {

/// means: one reduction: the terms of the replicas, dense and of one length, and addresses of
///        results
struct reduction_job {
  void* terms[max_devices]{};    // [replica]
  short whose[max_devices]{};    // [replica]: the replica of that term, to check
  void* outs[max_devices]{};     // [replica]; may be the term
  stamp done[max_devices]{};     // [replica]: the result is ready then, if not in queue order
  void* scratch[max_devices]{};  // [replica]: scratch_bytes there
  void* host_scratch = nullptr;  // host_scratch_bytes
  std::int64_t count = 0;        // elements
  int element_bytes = 0;
  runtime::nccl_type type = runtime::nccl_type::none;
  reduction op = reduction::sum;
  scaling scaled = scaling::none;
  double by = 1;
  fold_fn fold = nullptr;
  step_record record{};

  std::int64_t bytes() const { return count * element_bytes; }
  void* term_at(int r, std::int64_t element) const {
    return static_cast<char*>(terms[r]) + element * element_bytes;
  }
};

/// A reduction over ranks whose terms are in host memory: outs[0] gets the result.
struct host_reduction {
  reduction_job job;
  replica_terms terms;
};

/// means: elements that one replica folds, and the address of the result
struct segment {
  std::int64_t begin = 0, count = 0;
  int owner = 0;
  void* out = nullptr;
};

}  // namespace locus::internal

namespace locus::detail {

/// means: NCCL's operation that computes op; -1: NCCL has none. NCCL's max and min of floats drop
///        NaN.
constexpr int nccl_op_for(reduction op, runtime::nccl_type type) {
  switch (op) {
  case reduction::sum: return runtime::nccl_sum;
  case reduction::product: return runtime::nccl_prod;
  case reduction::max: return is_floating(type) ? -1 : int(runtime::nccl_max);
  case reduction::min: return is_floating(type) ? -1 : int(runtime::nccl_min);
  case reduction::any: return runtime::nccl_max;
  case reduction::all: return runtime::nccl_min;
  default: return -1;
  }
}

}  // namespace locus::detail

namespace locus::internal {

/// means: the type of NCCL for an element type; none, where NCCL has no such type
constexpr runtime::nccl_type nccl_type_of(element e) {
  using enum runtime::nccl_type;
  constexpr runtime::nccl_type types[] = {float32, float64,  int32, int64, uint8, uint8,
                                          float16, bfloat16, int8,  none,  none,  uint32,
                                          uint64,  none,     none,  none};
  return types[static_cast<int>(e)];
}

class replica_reducer {
 public:
  replica_reducer(replica_topology const& t, collective_name const& name) : t_(t), name_(name) {}

  /// one operation of NCCL computes the all-reduce
  bool is_direct(reduction_job const& j) const;
  /// it does so over ranks. Their other reductions go through the host
  bool is_direct_over_ranks(reduction_job const& j) const {
    return t_.has_nccl_among_ranks() && is_direct(j);
  }
  /// ncclReduce computes the reduction to one replica
  bool reduces_directly(reduction_job const& j) const {
    return t_.how == collective_algorithm::nccl && is_direct(j);
  }
  /// the algorithm of a reduction to one place in words, for the log; of an all-reduce
  text_buffer<80> describe(reduction_job const* j) const;
  text_buffer<80> describe_all_reduce(reduction_job const* j) const;
  /// the queue of these all-reduces: the compute queue, if a kernel of locus or the program's thread
  /// takes part; else the communication queue
  queue_kind queue_of(reduction_job const* jobs, int n) const;
  // ---- scratch memory of a job on each replica's device ----
  std::int64_t scratch_of(segment const& s, int element_bytes) const {
    return (t_.count - t_.on_card(t_.rank[s.owner])) * round_up(s.count * element_bytes);
  }
  std::int64_t scratch_of_all_reduce(reduction_job const& j, int r) const;
  /// through the host: the sum, and each term that is not in host memory
  std::int64_t host_scratch(reduction_job const& j) const;
  std::int64_t host_scratch_of_all_reduce(reduction_job const& j) const {
    return is_direct_over_ranks(j) ? 0 : host_scratch(j);
  }

  /// means: the thread between ranks may carry these all-reduces; `done` says when they have ended
  void let_end_later(reduction_job const* jobs, int n);
  /// every replica gets the result
  void all_reduce(reduction_job* jobs, int n);
  /// one replica gets the result, at `out`; on a list that no kernel can read and that has no NCCL,
  /// the result stays on the host, and its address is returned
  void* reduce(reduction_job& j, int root, void* out);
  /// folds each segment on its owner's device
  void fold_segments(reduction_job& j, segment const* segments, int n);

 private:
  // ---- order ----
  static void after(logical_device& d, queue_kind queue, logical_device& before);
  /// the queues of the cards wait for the work that the compute queues of their devices have
  void wait_for_cards(queue_kind queue);
  /// in checked builds: every term is that of its own replica
  void require_order(reduction_job const& j) const;
  [[noreturn, gnu::cold]] void refuse_order(reduction_job const& j, short r) const;

  // ---- kernels ----
  /// folds terms in one card's memory by a kernel on one of its devices
  static void fold(logical_device& d, reduction_job const& j, replica_terms const& terms);
  /// means: one kernel reads all terms and writes `outs`; it runs on replica `at`
  void fold_in_reach(reduction_job const& j, void* const* outs, int out_count, int at);
  /// all replicas, or those of rank p, wait for the work of `d`, which reads their terms
  void follow(logical_device& d, int p = -1);
  /// copies one value of a card's device to the others of that card; first divides it for a mean
  void spread(reduction_job const& j, int p, bool divides);
  /// folds the terms of the replicas of each card into the first result of that card
  void fold_cards(reduction_job const& j);

  // ---- NCCL ----
  /// over ranks it carries the jobs that are direct
  [[gnu::cold]] void all_reduce_by_nccl(reduction_job* jobs, int n);
  [[gnu::cold]] void reduce_by_nccl(reduction_job const& j, int root, void* out);

  // ---- terms to the owner of a segment, in replica order ----
  /// the segment of rank p, when each card folds one segment
  segment cut(reduction_job const& j, int p) const;
  void* slot(reduction_job const& j, segment const& s, int k) const {
    return static_cast<char*>(j.scratch[s.owner]) + k * round_up(s.count * j.element_bytes);
  }
  void gather(nccl_group& group, reduction_job const& j, segment const* segments, int n);
  void fold_gathered(reduction_job const& j, segment const& s);
  [[gnu::cold]] void all_reduce_in_segments(reduction_job* jobs, int n);

  // ---- through the host ----
  /// the only term of this rank lies on the host: the ranks fold it into its result
  bool folds_into_result() const {
    return t_.how == collective_algorithm::over_ranks && t_.count == 1 && t_.on[0]->is_host();
  }
  /// the terms in host memory; outs[0] = into, or scratch memory there
  [[gnu::cold]] replica_terms terms_on_host(reduction_job const& j, void* into);
  [[gnu::cold]] void* fold_on_host(reduction_job const& j);
  [[gnu::cold]] void all_reduce_on_host(reduction_job* jobs, int n);
  [[gnu::cold]] void send_back(reduction_job const& j, void const* sum);

  replica_topology const& t_;
  collective_name name_;
  bool ends_later_ = false;
};

}  // namespace locus::internal

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/collective/bodies/reduce.hpp>  // bodies of the functions above
#endif
