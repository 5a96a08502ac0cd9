// SPDX-License-Identifier: Apache-2.0
// The plan as data: arrays that the passes fill at compile time, and binding at run time.
#pragma once
#include <locus/expr/step.hpp>  // step, edge, transfer, array_view

namespace locus {

/// How steps without a decided place are placed.
enum class placement_rule : unsigned char { prefer_gpu, follow_data, min_copies };
/// prefer_gpu: the GPU that holds the most operands; GPU:0 if none holds one; without a GPU kernel
/// the CPU
struct prefer_gpu {
  static constexpr auto rule = placement_rule::prefer_gpu;
};
/// follow_data: the device of the first operand with a place of its own
struct follow_data {
  static constexpr auto rule = placement_rule::follow_data;
};
/// min_copies: the places that move the fewest bytes (copies, while an extent is dynamic)
struct min_copies {
  static constexpr auto rule = placement_rule::min_copies;
};

/// How many bytes of all-reduces travel together: a bucket takes values until it exceeds its limit,
/// so a large value ends a bucket. The first limit is smaller, so that the first bucket starts
/// early. A policy may have a member `buckets` instead.
/// after: TensorFlow's bytes_per_pack
struct bucket_sizes {
  std::int64_t first = std::int64_t(1) << 20, others = std::int64_t(4) << 20;
};
/// for replicas on several nodes, where each message costs more
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
  device_lists_differ,               // operands over different device lists
  cuts_do_not_meet,                  // pieces along different axes
  matmul_cuts,                       // pieces in a combination that the table does not have
  call_cuts,                         // operands of a call in pieces of different rows
  own_call_cuts,                     // operands in pieces that the operation of a call cannot read
  stretched_cut,                     // an operand of extent 1 is sharded along a broadcast axis
  view_across_cut,                   // a reshape or a slice that would mix pieces
  windows_do_not_meet,               // parts of pieces that leave out other numbers of rows
  window_in_own_kernel,              // a part of pieces in a kernel that takes whole pieces
  window_without_home,               // a part of pieces that is to become a tensor of its own
  reads_beyond_margin,               // an operand is read at rows that no margin holds
  request_on_distributed,            // on<Device> around distributed operands
  all_reduce_without_terms,          // all_reduce of a value that is not partial
  strict_placement,                  // no GPU kernel, and the step must run on a GPU
  strict_on_cpu,                     // no CPU kernel, and the step must run on a CPU
  no_kernel,                         // no kernel on either side
  too_many_steps,                    // above max_steps
  not_reproducible,                  // the bits of the operation depend on a library
  not_reproducible_across_replicas,  // a sum of floats over replicas
};

inline constexpr int max_steps = 128;
/// The largest number of values that one kernel reads, folds and writes.
inline constexpr int max_region_values = 24;

/// One requested value of a plan, and its destination (nowhere: the plan decides).
struct root {
  short from = -1;
  short by = -1;
  place destination{};
  place result{};
  friend constexpr bool operator==(root const&, root const&) = default;
};

enum class action_kind : unsigned char { launch, transfer, bucket };
/// One action of the run-time loop. launch: the kernel that ends in step `what`; transfer: transfer
/// `what`; bucket: all all-reduces of bucket `what`.
struct action {
  action_kind kind = action_kind::launch;
  short what = -1;
  // of a launch in three parts: the rows at both ends of a piece that need margins; 0, 0: one part
  unsigned char before = 0, behind = 0;
  constexpr bool in_parts() const { return before + behind > 0; }
  friend constexpr bool operator==(action const&, action const&) = default;
};

/// The level of a step within its region.
enum class level : unsigned char {
  element,  // one value for each element of the region's space
  fold,     // a reduction over the region's axes
  row,      // one value for each row of a fold's result
};

/// Two steps whose extents a kernel takes for equal, although only a run can tell.
struct guard {
  short a = -1, b = -1;
  friend constexpr bool operator==(guard const&, guard const&) = default;
};

/// means: the arrays of one plan
struct plan_view {
  array_view<step> steps;
  array_view<edge> edges;
  array_view<transfer> transfers;  // count grows in `move`
  array_view<root> roots;
  array_view<action> actions;  // count grows in `schedule`
  array_view<level> levels;    // [step]
  array_view<guard> guards{};
  int launches_otherwise = 0;  // if some guard does not hold: of the plan without guesses

  constexpr array_view<edge> operands(step const& s) const {
    return {edges.first + s.first_edge, s.arity};
  }
  /// means: operands(s)[k], which g++ 13 takes for a reference into a temporary
  constexpr edge const& operand(step const& s, int k) const { return operands(s)[k]; }
};

/// The result of a pass: its error, and the step that has it.
struct verdict {
  plan_error error = plan_error::none;
  short culprit = -1;  // step
};

/// means: the place where the readers of step i need it; nowhere if they differ. Replicas of one
///        list agree.
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

/// means: the level of the values that step i reads: a fold reads elements
constexpr level level_read_by(plan_view const& p, short i) {
  return p.levels[i] == level::row ? level::row : level::element;
}

/// means: the step of the call's first result, which has the operands as edges
constexpr short first_result(plan_view const& p, short i) {
  return static_cast<short>(i - p.steps[i].result);
}
/// means: the operand whose rows are the batch, and whose cut is that of the call; -1: none
constexpr int operand_of_rows(plan_view const& p, short i) {
  step const& s = p.steps[first_result(p, i)];
  int found = -1;
  for (int k = s.arity; k-- > 0;)
    if (s.call->rule.operands[k] == call_role::rows) found = k;
  return found;
}
/// means: some operand of a call is sharded
constexpr bool call_is_cut(plan_view const& p, short i) {
  step const& s = p.steps[first_result(p, i)];
  for (edge const& e : p.operands(s))
    if ((e.arrives.is_nowhere() ? p.steps[e.from].where : e.arrives).is_sharded()) return true;
  return false;
}
/// means: the place of operand k of a call where the kernel reads the value
constexpr place const& place_of_operand(plan_view const& p, step const& first, int k) {
  edge const& e = p.operand(first, k);
  return e.arrives.is_nowhere() ? p.steps[e.from].where : e.arrives;
}
/// means: of an operation that states its cuts: that of its operands where its kernel reads them;
///        does not fit: none is in pieces
constexpr call_cut own_cut_of_call(plan_view const& p, step const& first) {
  call_axes found;
  bool is_cut = false;
  for (int k = 0; k < first.arity; ++k) {
    place const& at = place_of_operand(p, first, k);
    found[k] = at.is_sharded() ? at.axis : call_cut::whole;
    is_cut = is_cut || at.is_sharded();
  }
  return is_cut ? first.call->cut(found) : call_cut{};
}

/// means: all devices of the place are GPUs
constexpr bool is_on_gpus(place const& where) {
  for (int r = 0; r < where.local_count(); ++r)
    if (!where.at(r).is_gpu()) return false;
  return where.local_count() > 0;
}
/// means: product i belongs to the kernel of the map that adds a row (plan/fuse.hpp), also where
///        AllGpus is a CPU at run time
constexpr bool is_product_with_row(plan_view const& p, short i) { return p.steps[i].has_row; }

namespace internal {
/// means: the place of slice s of a value at `at`: a window, where the slice goes across the cut;
///        nowhere: its type does not know the ends, or they leave out too many rows
constexpr place place_of_slice(step const& s, place const& at) {
  if (!at.is_sharded() || !has_axis(s.axes, at.axis)) return at;
  if (s.front[at.axis] == open_end) return {};
  int const lead = at.lead + s.front[at.axis], trail = at.trail + s.back[at.axis];
  return lead + trail > 2 * max_left_out ? place{} : at.window(lead, trail);
}
}  // namespace internal

/// means: the rows behind its own rows that step `me` reads of an operand at `at`; below 0: before
constexpr int reach_of(step const& me, place const& at) {
  return at.is_sharded() && me.where.is_sharded() ? at.lead - me.where.lead : 0;
}

/// means: the step whose memory a view, or a view of a view, reads
constexpr short memory_of(plan_view const& p, short i) {
  while (p.steps[i].is_view() && p.steps[i].region < 0) i = p.operands(p.steps[i])[0].from;
  return i;
}

}  // namespace locus
