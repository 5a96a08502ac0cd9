// SPDX-License-Identifier: Apache-2.0
// into, plan, run: named assignments, and several assignments as one plan.
#pragma once
#include <type_traits>  // conditional

#include <locus/ops/views.hpp>      // is_at_op
#include <locus/tensor/parts.hpp>   // view_destination, window_destination
#include <locus/tensor/tensor.hpp>  // Tensor
#include <locus/tensor/view.hpp>    // View

namespace locus {

/// What a plan writes: a Tensor, a view, or a small object that refers to one.
template <class Destination>
concept destination = requires(Destination const& d) {
  { d.as_target() } -> std::same_as<target>;
  typename Destination::policy;
  typename Destination::value_type;
  typename Destination::extents_type;
};

namespace detail {
/// a Tensor as a destination; its address and extents are read when the plan runs
template <class Owner>
struct tensor_destination {
  using policy = typename Owner::policy;
  using value_type = typename Owner::value_type;
  using extents_type = typename Owner::extents_type;
  Owner* tensor;
  target as_target() const { return tensor->as_target(); }
};
}  // namespace detail

/// means: to = e, computed by run()
template <class E, destination To>
struct [[nodiscard(
    "locus: an assignment with a name runs nothing by itself; write run(into(y, e))")]] Assignment {
  using expression = E;
  using policy = typename To::policy;
  E e;
  To to;
};

namespace detail {
template <class To, class E>
auto make_assignment(To to, E e) {
  if constexpr (require_takes<typename To::value_type, typename To::extents_type, E>())
    return Assignment<E, To>{std::move(e), std::move(to)};
}
/// into accepts To: a Tensor that has a name and is not const, a view, or a slice of a Tensor
template <class To, class Plain = std::remove_cvref_t<To>>
inline constexpr bool may_be_written =
    tensor_owner<Plain>
        ? std::is_lvalue_reference_v<To> && !std::is_const_v<std::remove_reference_t<To>>
        : destination<Plain> || is_slice_of_leaf<Plain> || is_window_of_leaf<Plain>;
}  // namespace detail

inline namespace LOCUS_MODE {

/// means: the assignment to = e as an object for plan and run; `to` is a Tensor, a view, or a part of
///        one: slice(x, ...), row_at(x, i). Its memory and extents are those that it has when the plan
///        runs; a plan that is kept does not outlive it
/// fails: at compile time, for another element type or other static extents; at run time:
///        shape_error, for other extents
template <class To, tensor_operand X>
  requires(tensor_owner<To> && !std::is_const_v<To>)
auto into(To& to, X&& e) {
  return detail::make_assignment(detail::tensor_destination<To>{&to},
                                 as_operand<void>(std::forward<X>(e)));
}
template <destination To, tensor_operand X>
  requires(!tensor_owner<To>)
auto into(To const& to, X&& e) {
  return detail::make_assignment(to, as_operand<void>(std::forward<X>(e)));
}
template <class To, tensor_operand X>
  requires(detail::is_slice_of_leaf<To>)
auto into(To const& to, X&& e) {
  return detail::make_assignment(
      detail::view_destination([part = to] { return detail::view_of_slice(part); }),
      as_operand<void>(std::forward<X>(e)));
}
/// a part of a tensor in pieces whose ends the type knows, or along other axes than the cut
template <class To, tensor_operand X>
  requires(detail::is_window_of_leaf<To>)
auto into(To const& to, X&& e) {
  constexpr bool is_window = !detail::window_of<To>::value.is_nowhere(),
                 is_slice = !internal::is_at_op<std::remove_cvref_t<decltype(to.op)>>;
  static_assert(
      is_window || is_slice,
      "locus: one index along the cut lies in one piece, which a plan cannot write alone; "
      "gather the array first with to<Device>(x)");
  static_assert(is_window || !is_slice,
                "locus: a slice across the cut is written whose ends the type does not know, or "
                "that leaves out more than 32 rows; write interior<1>(y), or slice<0, 1, -1>(y)");
  auto operand = as_operand<void>(std::forward<X>(e));
  // a part that lies at other rows is copied by a kernel, which reads margins
  if constexpr (is_window && detail::reads_window_of_leaf<decltype(operand)>)
    return into(detail::window_destination<To>(to),
                make_node(map_op<identity_fn>{}, std::move(operand)));
  else if constexpr (is_window)
    return into(detail::window_destination<To>(to), std::move(operand));
}
template <class To, tensor_operand X>
  requires(!detail::may_be_written<To>)
auto into(To&&, X&&) {
  static_assert(
      always_false<To>,
      "locus: into writes a Tensor that has a name and is no constant, a view, or a slice "
      "of a view or of a Tensor on one device; make one of these first");
}

/// means: several assignments as one plan: every right side is computed before any left side is
///        written. The members of plan_facts describe the plan: step.copies(), step.explain() ...
template <placement_policy Policy, class... Assignments>
class [[nodiscard("locus: a plan runs nothing by itself; write run(step)")]] Plan
    : public plan_facts<graph<
          Policy, root_of<typename Assignments::expression, typename Assignments::policy>...>> {
 public:
  using graph_type =
      graph<Policy, root_of<typename Assignments::expression, typename Assignments::policy>...>;
  constexpr explicit Plan(Assignments... a) : assignments_(make_pack(std::move(a)...)) {}

  void run(call_site where = call_site::here()) const {
    run(std::index_sequence_for<Assignments...>{}, where);
  }
  /// means: calls see(seen_plan) for the plan with the extents and devices that its tensors have
  ///        now; runs nothing
  template <class See>
  auto look(See const& see) const {
    return look(see, std::index_sequence_for<Assignments...>{});
  }

 private:
  template <std::size_t... Idx>
  void run(std::index_sequence<Idx...>, call_site where) const {
    target const targets[] = {get<Idx>(assignments_).to.as_target()...};
    lowering::run_graph<graph_type>(
        where, [&](int k, shape const&, place const&) -> target const& { return targets[k]; },
        get<Idx>(assignments_).e...);
  }
  template <class See, std::size_t... Idx>
  auto look(See const& see, std::index_sequence<Idx...>) const {
    target const targets[] = {get<Idx>(assignments_).to.as_target()...};
    return lowering::graph_code<graph_type>::look(targets, see, get<Idx>(assignments_).e...);
  }
  pack<Assignments...> assignments_;
};

/// means: the assignments as one plan; runs nothing
/// fails: at compile time, when a pass refuses the plan
template <placement_policy Policy = default_policy, class... E, class... To>
  requires(sizeof...(E) > 0)
constexpr auto plan(Assignment<E, To>... assignments) {
  using Graph = graph<Policy, root_of<E, typename To::policy>...>;
  if constexpr (internal::require_plan<Graph>())
    return Plan<Policy, Assignment<E, To>...>(std::move(assignments)...);
}

/// means: runs a plan, or one assignment
template <class Policy, class... Assignments>
void run(Plan<Policy, Assignments...> const& step, call_site where = call_site::here()) {
  runtime::devices("run", where);
  step.run(where);
}
template <placement_policy Policy = default_policy, class E, class To>
void run(Assignment<E, To> assignment, call_site where = call_site::here()) {
  runtime::devices("run", where);
  plan<Policy>(std::move(assignment)).run(where);
}
/// means: run(plan(assignments...)): every right side is computed before any left side is written
template <placement_policy Policy = default_policy, class... E, class... To>
  requires(sizeof...(E) > 1)
void run(Assignment<E, To>... assignments) {
  call_site const where = runtime::site_of_operator();
  runtime::devices("run", where);
  plan<Policy>(std::move(assignments)...).run(where);
}
template <tensor_operand X>
void run(X const&) {
  static_assert(always_false<X>,
                "locus: run takes a plan or an assignment; write run(into(y, e)), or eval(e)");
}

}  // namespace LOCUS_MODE

/// means: a destination whose memory no operand overlaps, by the promise of the program
template <class To>
struct NoAlias {
  using policy = typename To::policy;
  using value_type = typename To::value_type;
  using extents_type = typename To::extents_type;
  using member = std::conditional_t<tensor_owner<To>, detail::tensor_destination<To>, To>;
  member to;
  explicit NoAlias(member const& of) : to(of) {}
  NoAlias(NoAlias const&) = default;
  target as_target() const {
    target t = to.as_target();
    t.no_alias = true;
    return t;
  }
  NoAlias& operator=(NoAlias const&) = delete;  // no element would be written
  template <tensor_operand X, class Mode = mode>
  [[gnu::always_inline]] void operator=(X&& x) const {
    locus::run(into(*this, std::forward<X>(x)), runtime::site_of_operator());
  }
};
/// means: no_alias(y) = e: assigns e without the check whether e reads y at other indices
/// cost:  saves a comparison of addresses for each leaf
template <destination To>
auto no_alias(To& to) {
  if constexpr (tensor_owner<To>)
    return NoAlias<To>(detail::tensor_destination<To>{&to});
  else
    return NoAlias<To>(to);
}

/// means: a compile-time guarantee of no copy between devices     fails: at compile time
template <class E, class To>
constexpr void require_no_copies(Assignment<E, To> const&) {
  static_assert(
      plan_facts<graph<default_policy, root_of<E, typename To::policy>>>::copies() == 0,
      "locus: this assignment copies between devices; print plan(...).explain() to see where");
}
template <class Policy, class... Assignments>
constexpr void require_no_copies(Plan<Policy, Assignments...> const&) {
  static_assert(Plan<Policy, Assignments...>::copies() == 0,
                "locus: this plan copies between devices; print its explain() to see where");
}
template <tensor_operand X>
constexpr void require_no_copies(X const&) {
  static_assert(
      plan_of<X const&>.copies() == 0,
      "locus: this expression copies between devices; print plan_of<E>.explain() to see where");
}

}  // namespace locus
