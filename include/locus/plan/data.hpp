// SPDX-License-Identifier: Apache-2.0
// The plan as data: arrays that the passes fill, at compile time and when a plan is bound.
#pragma once
#include <locus/expr/step.hpp>  // step, edge, transfer, array_view

namespace locus {

/// How undecided steps are placed.
enum class placement_rule : unsigned char { prefer_gpu, follow_data, min_copies };
/// prefer_gpu: the GPU on which most operands lie, GPU:0 if none does, the CPU without a GPU kernel
struct prefer_gpu {
  static constexpr auto rule = placement_rule::prefer_gpu;
};
/// follow_data: where the operands lie
struct follow_data {
  static constexpr auto rule = placement_rule::follow_data;
};
/// min_copies: where the fewest bytes cross devices (the fewest copies while an extent is open)
struct min_copies {
  static constexpr auto rule = placement_rule::min_copies;
};

/// How many bytes of all-reduces travel together: a bucket takes values until it holds more than its
/// limit, so a large value ends a bucket. The first limit is smaller, so that the first bucket leaves
/// early. A policy with a member `buckets` has its own.
/// after: TensorFlow's bytes_per_pack
struct bucket_sizes {
  std::int64_t first = std::int64_t(1) << 20, others = std::int64_t(4) << 20;
};
/// for replicas on several nodes, where a message costs more
inline constexpr bucket_sizes buckets_off_node{std::int64_t(1) << 20, std::int64_t(25) << 20};
template <class Policy>
constexpr bucket_sizes buckets_of() {
  if constexpr (requires { Policy::buckets; })
    return Policy::buckets;
  else
    return {};
}

template <class Policy>
concept placement_policy = std::is_same_v<decltype(Policy::rule), placement_rule const>;

enum class plan_error : unsigned char {
  none,
  device_lists_differ,       // operands over different device lists
  cuts_do_not_meet,          // pieces along different axes
  matmul_cuts,               // a combination of pieces without a row in the table
  call_cuts,                 // a call over pieces that are no equal numbers of rows
  stretched_cut,             // an operand of extent 1 is cut where it would stretch
  view_across_cut,           // a reshape or a slice that would mix pieces
  request_on_distributed,    // on<Device> around replicas
  all_reduce_without_terms,  // a value that is equal everywhere, or in pieces, is summed over
                             // replicas
  strict_placement,          // no GPU kernel, and a GPU is where it must run
  strict_on_cpu,             // no CPU kernel, and a CPU is where it must run
  no_kernel,                 // no kernel on any side
  too_many_steps,            // above max_steps
  not_reproducible,          // an operation whose bits depend on the library that has it
  not_reproducible_across_replicas,  // a sum of floats over replicas
};

inline constexpr int max_steps = 128;
/// The most values that one kernel reads, and folds, and writes.
inline constexpr int max_region_values = 24;

/// What a plan is asked for: one value, and where it shall be (nowhere: where the plan puts it).
struct root {
  short from = -1;
  short by = -1;
  place destination{};
  place result{};
  friend constexpr bool operator==(root const&, root const&) = default;
};

enum class action_kind : unsigned char { launch, transfer, bucket };
/// One thing the executor does. launch: the kernel that ends in step `what`; transfer: that one;
/// bucket: all all-reduces with that number.
struct action {
  action_kind kind = action_kind::launch;
  short what = -1;
  friend constexpr bool operator==(action const&, action const&) = default;
};

/// What each step is within its region.
enum class level : unsigned char {
  element,  // one value for each element of the region's space
  fold,     // a reduction over the region's axes
  row,      // one value for each row that a fold leaves
};

/// means: the arrays of one plan
struct plan_view {
  array_view<step> steps;
  array_view<edge> edges;
  array_view<transfer> transfers;  // count grows in `move`
  array_view<root> roots;
  array_view<action> actions;  // count grows in `schedule`
  array_view<level> levels;    // [step]

  constexpr array_view<edge> operands(step const& s) const {
    return {edges.first + s.first_edge, s.arity};
  }
};

/// Where a pass failed.
struct verdict {
  plan_error error = plan_error::none;
  short culprit = -1;  // step
};

/// means: where step i's readers want it; nowhere if they do not agree. Replicas of one list agree.
constexpr place wanted_by_readers(plan_view const& p, short i) {
  place at{};
  bool any = false, agree = true;
  auto ask = [&](place const& here) {
    bool const same_list =
        here.is_distributed() && at.is_distributed() && here.devices == at.devices;
    if (any && !(here == at)) agree = agree && same_list, at = at.mirrored();
    if (!any) at = here, any = true;
  };
  for (short k = static_cast<short>(i + 1); k < p.steps.count; ++k)
    for (edge const& e : p.operands(p.steps[k]))
      if (e.from == i) ask(e.arrives.is_nowhere() ? p.steps[k].where : e.arrives);
  for (root const& r : p.roots)
    if (r.from == i) ask(r.destination);
  return agree ? at : place{};
}

/// means: the level at which step i reads its operands: a fold reads elements
constexpr level level_read_by(plan_view const& p, short i) {
  return p.levels[i] == level::row ? level::row : level::element;
}

/// means: the step of the first result of a call, which has its operands
constexpr short first_result(plan_view const& p, short i) {
  return static_cast<short>(i - p.steps[i].result);
}
/// means: the operand that says how many rows the batch has, and how it is cut; -1: none
constexpr int operand_of_rows(plan_view const& p, short i) {
  step const& s = p.steps[first_result(p, i)];
  int found = -1;
  for (int k = s.arity; k-- > 0;)
    if (s.call->rule.operands[k] == call_role::rows) found = k;
  return found;
}
/// means: the operands of a call come in pieces
constexpr bool call_is_cut(plan_view const& p, short i) {
  step const& s = p.steps[first_result(p, i)];
  for (edge const& e : p.operands(s))
    if ((e.arrives.is_nowhere() ? p.steps[e.from].where : e.arrives).is_sharded()) return true;
  return false;
}

/// means: each of these devices is a GPU
constexpr bool is_on_gpus(place const& where) {
  for (int r = 0; r < where.count(); ++r)
    if (!where.at(r).is_gpu()) return false;
  return where.count() > 0;
}
/// means: product i is a part of the kernel for GPUs behind it (plan/fuse.hpp), also where AllGpus turns out to be a CPU
constexpr bool is_product_with_row(plan_view const& p, short i) { return p.steps[i].has_row; }

/// means: the step in whose memory a view of a view looks
constexpr short memory_of(plan_view const& p, short i) {
  while (p.steps[i].is_view() && p.steps[i].region < 0) i = p.operands(p.steps[i])[0].from;
  return i;
}

}  // namespace locus
