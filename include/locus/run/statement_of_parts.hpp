// SPDX-License-Identifier: Apache-2.0
// A statement of maps that reads slices of tensors and of views on one CPU: a run finds extents and addresses without the
// arrays of a plan. The plan runs the statement in all other cases, and names all errors.
#pragma once
#include <locus/core/macros.hpp>            // LOCUS_MODE, LOCUS_LEAN_BEGIN
#include <locus/ops/views.hpp>              // slice_op
#include <locus/plan/plan.hpp>              // require_plan
#include <locus/run/open_plan.hpp>          // has_open_places
#include <locus/run/requests.hpp>           // has_requests
#include <locus/run/statement_kernel.hpp>   // run_maps, find_extents
#include <locus/run/statement_of_maps.hpp>  // map_statement
#include <locus/run/statement_of_plan.hpp>  // plan_statement
#include <locus/shape/range.hpp>            // range

namespace locus {
inline namespace LOCUS_MODE {
namespace lowering {

/// means: X is a tensor or a view
template <class X>
inline constexpr bool is_array = false;
template <class T, class E, class Where, class Source>
inline constexpr bool is_array<Leaf<T, E, Where, Source>> = true;
template <class T, class E, class Where, bool Dense>
inline constexpr bool is_array<ViewLeaf<T, E, Where, Dense>> = true;
/// means: E is a map of tensors, views, slices of these, and numbers
template <class E>
inline constexpr bool is_tree_of_parts = is_array<E>;
template <class T>
inline constexpr bool is_tree_of_parts<Scalar<T>> = true;
template <class F, class... Es>
inline constexpr bool is_tree_of_parts<Node<map_op<F>, Es...>> = (is_tree_of_parts<Es> && ...);
template <axis_set Cut, std::int64_t... Ends, class X>
inline constexpr bool is_tree_of_parts<Node<slice_op<Cut, Ends...>, X>> = is_array<X>;
/// means: E has slices
template <class E>
inline constexpr bool has_parts = false;
template <class F, class... Es>
inline constexpr bool has_parts<Node<map_op<F>, Es...>> = (has_parts<Es> || ...);
template <axis_set Cut, std::int64_t... Ends, class X>
inline constexpr bool has_parts<Node<slice_op<Cut, Ends...>, X>> = true;

/// means: the statement of Graph reads slices, and its plan is one kernel of maps on a CPU
template <class Graph>
inline constexpr bool is_statement_of_parts = false;
template <class Policy, class F, class... Es, class Where>
  requires(is_tree_of_parts<Node<map_op<F>, Es...>> && has_parts<Node<map_op<F>, Es...>> &&
           numerics_of<Policy>() != numerics::reproducible)
inline constexpr bool is_statement_of_parts<graph<Policy, root_of<Node<map_op<F>, Es...>, Where>>> =
    [] {
      using Graph = graph<Policy, root_of<Node<map_op<F>, Es...>, Where>>;
      if constexpr (internal::require_plan<Graph>()) {
        using one = plan_statement<Graph>;
        plan_view const p = one::p;
        return one::possible && p.steps[one::ends].kind == step_kind::map && !has_open_places(p) &&
               !has_requests(p);
      } else
        return false;
    }();

LOCUS_LEAN_BEGIN
/// A value that a statement reads; `own` and `steps` hold the extents and strides of a slice.
struct part_value : statement_value {
  shape own;
  std::int64_t steps[max_rank];
};
/// means: part = the elements of `whole` inside the ranges; no extents, where a range does not fit or the
///        tensor has died
inline void note_part(part_value& part, statement_value const& whole, range const* ranges,
                      axis_set cut, int bytes) {
  part.extents = nullptr;
  if (!whole.extents) return;
  std::int64_t at = 0;
  part.own.rank = whole.extents->rank;
  for (int a = 0; a < part.own.rank; ++a) {
    std::int64_t const n = whole.extents->extent[a];
    part.own.extent[a] = n, part.steps[a] = whole.strides[a];
    if (!has_axis(cut, a)) continue;
    std::int64_t const taken = ranges[a].length(n);
    if (taken < 0) return;
    at += range::absolute(ranges[a].begin, n) * whole.strides[a];
    part.own.extent[a] = taken;
    part.steps[a] = ranges[a].stride(whole.strides[a], taken);
  }
  part.data = static_cast<char*>(whole.data) + at * bytes;
  part.extents = &part.own, part.strides = part.steps, part.object = whole.object;
}
LOCUS_LEAN_END
inline void note_leaf(part_value& to, tensor_block const* b) {
  note_leaf(static_cast<statement_value&>(to), b);
}

template <class Graph>
struct part_statement;
template <class Policy, class E, class Where>
struct part_statement<graph<Policy, root_of<E, Where>>> {
  using Graph = graph<Policy, root_of<E, Where>>;
  using maps = map_statement<Graph>;
  static constexpr int leaves = maps::leaves;

  /// a guard says that extents are equal where the plan takes them for equal
  static constexpr bool has_guards = plan_statement<Graph>::p.guards.count > 0;
  static bool are_alike(statement_value const* values, shape const& extents) {
    bool alike = true;
    for (int k = 0; k < leaves; ++k) alike = alike && *values[k].extents == extents;
    return alike;
  }
  /// the destination for the plan: the one that is known, or that of find
  template <class FindTarget>
  struct destination_finder {
    FindTarget const& find;
    target const* known;
    target operator()(int k, shape const& extents, place const& at) const {
      return known ? *known : find(k, extents, at);
    }
  };
  /// means: find_target(0, extents, where) = e     by_plan(find): runs the plan
  template <class FindTarget, class ByPlan>
  static void run(FindTarget const& find_target, ByPlan const& by_plan, E const& e) {
    using finder = destination_finder<FindTarget>;
    part_value parts[leaves];
    auto const stage = maps::bind(e, parts);
    using Stage = std::remove_const_t<decltype(stage)>;
    constexpr statement_code const& c = maps::template code<Stage>;
    statement_value values[leaves + 1];
    for (int k = 0; k < leaves; ++k) values[k] = parts[k];
    shape const extents = find_extents(c, values);
    bool const fit = fits(extents) && countable(extents, UINT16_MAX);
    if (!fit || (has_guards && !are_alike(values, extents)))
      return by_plan(finder{find_target, nullptr});
    auto&& to = find_target(0, extents, Where::value);
    values[leaves] = {to.locals[0].data, &to.extents, to.locals[0].strides, nullptr};
    pack<> const no_folds{};
    host::map_context<Stage, pack<>> const context{stage, &no_folds};
    if (!run_maps(c, &context, values, extents, !to.fresh && !to.no_alias))
      by_plan(finder{find_target, &to});
  }
};

}  // namespace lowering
}  // namespace LOCUS_MODE
}  // namespace locus
