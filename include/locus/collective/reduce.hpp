// SPDX-License-Identifier: Apache-2.0
// Reductions over replicas, by whoever carries them: one fold where one kernel reaches all terms;
// among cards NCCL, or, where replica order or NaN matter, terms to the card that owns a segment, a
// fold there, and the segments to all; otherwise the host.
// Before: each term, and the memory of each result, is ordered in its device's compute queue.
// After: so are the results, unless `done` holds a stamp.
#pragma once

#include <locus/collective/group.hpp>  // nccl_group
#include <locus/core/macros.hpp>       // LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/work/fold.hpp>         // replica_terms

LOCUS_COLD_BEGIN

namespace locus::detail {

using fold_fn = void (*)(launch_site const&, replica_terms const&);

/// One reduction: the replicas' terms, dense and of one length, and where the results go.
struct reduction_job {
  void* terms[max_devices]{};    // [replica]
  short whose[max_devices]{};    // [replica]: whose term that is, as a check
  void* outs[max_devices]{};     // [replica]; may be the term
  stamp done[max_devices]{};     // [replica]: when the result is there, if not in queue order
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

/// Elements that one replica folds, and where to.
struct segment {
  std::int64_t begin = 0, count = 0;
  int owner = 0;
  void* out = nullptr;
};

/// means: NCCL's operation with the meaning of ours; -1: it has none. Its extrema of floats lose
///        NaN.
constexpr int nccl_op_for(reduction op, runtime::nccl_type type) {
  switch (op) {
  case reduction::sum: return runtime::nccl_sum;
  case reduction::max: return is_floating(type) ? -1 : int(runtime::nccl_max);
  case reduction::min: return is_floating(type) ? -1 : int(runtime::nccl_min);
  case reduction::any: return runtime::nccl_max;
  case reduction::all: return runtime::nccl_min;
  default: return -1;
  }
}
constexpr runtime::nccl_type nccl_type_of(element e) {
  using enum runtime::nccl_type;
  constexpr runtime::nccl_type types[] = {float32, float64, int32,    int64, uint8,
                                          uint8,   float16, bfloat16, int8,  none};
  return types[static_cast<int>(e)];
}

class replica_reducer {
 public:
  replica_reducer(replica_topology const& t, collective_name const& name) : t_(t), name_(name) {}

  /// NCCL's own operation serves
  bool is_direct(reduction_job const& j) const;
  /// NCCL's own reduce serves
  bool reduces_directly(reduction_job const& j) const {
    return t_.how == collective_algorithm::nccl && is_direct(j);
  }
  /// how, for the log
  text_buffer<80> describe(reduction_job const* j) const;
  /// where all-reduces of these run: beside the compute queues, if no kernel has a part in them
  queue_kind queue_of(reduction_job const* jobs, int n) const;
  // ---- memory: what a job needs besides terms and results, on each replica's device ----
  std::int64_t scratch_of(segment const& s, int element_bytes) const {
    return (t_.count - t_.on_card(t_.rank[s.owner])) * round_up(s.count * element_bytes);
  }
  std::int64_t scratch_of_all_reduce(reduction_job const& j, int r) const;
  /// through the host: the sum, and each term that does not lie there
  std::int64_t host_scratch(reduction_job const& j) const;

  /// every replica's result
  void all_reduce(reduction_job* jobs, int n);
  /// the result on one replica's device, at `out`; on a list without a common reach and without
  /// NCCL it stays on the host, and is returned
  void* reduce(reduction_job& j, int root, void* out);
  /// each segment on its owner's device
  void fold_segments(reduction_job& j, segment const* segments, int n);

 private:
  // ---- order ----
  static void after(logical_device& d, queue_kind queue, logical_device& before);
  /// what NCCL does on a card comes after what its devices were given
  void wait_for_cards(queue_kind queue);
  /// every term is that of its replica
  void require_order(reduction_job const& j) const;
  [[noreturn, gnu::cold]] void refuse_order(reduction_job const& j, short r) const;

  // ---- kernels ----
  /// terms in one card's memory, folded by the kernel of one of its devices
  static void fold(logical_device& d, reduction_job const& j, replica_terms const& terms);
  /// means: one kernel reads all terms and writes `outs`; it runs on replica `at`
  void fold_in_reach(reduction_job const& j, void* const* outs, int out_count, int at);
  /// all replicas, or those of rank p, go on after what `d` was given: it reads their terms
  void follow(logical_device& d, int p = -1);
  /// one value of a card's device to others of that card; divides it first where a mean is owed
  void spread(reduction_job const& j, int p, bool divides);
  /// the terms of each card's own replicas, in its first result
  void fold_cards(reduction_job const& j);

  // ---- NCCL ----
  [[gnu::cold]] void all_reduce_by_nccl(reduction_job* jobs, int n);
  [[gnu::cold]] void reduce_by_nccl(reduction_job const& j, int root, void* out);

  // ---- terms to the owner of a segment, in replica order ----
  /// the part of rank p, when the cards share a value
  segment cut(reduction_job const& j, int p) const;
  void* slot(reduction_job const& j, segment const& s, int k) const {
    return static_cast<char*>(j.scratch[s.owner]) + k * round_up(s.count * j.element_bytes);
  }
  void gather(nccl_group& group, reduction_job const& j, segment const* segments, int n);
  void fold_gathered(reduction_job const& j, segment const& s);
  [[gnu::cold]] void all_reduce_in_segments(reduction_job* jobs, int n);

  // ---- by way of the host ----
  [[gnu::cold]] void* fold_on_host(reduction_job const& j);
  [[gnu::cold]] void send_back(reduction_job const& j, void const* sum);

  replica_topology const& t_;
  collective_name name_;
};

}  // namespace locus::detail

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/collective/bodies/reduce.hpp>  // bodies of the functions above
#endif
