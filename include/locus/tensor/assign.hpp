// SPDX-License-Identifier: Apache-2.0
// into, plan, run: assignments with names, several of them as one plan.
#pragma once
#include <locus/tensor/tensor.hpp>  // Tensor
#include <locus/tensor/view.hpp>    // View

namespace locus {

/// What a plan may write: a Tensor that lives, or a view.
template <class D>
concept destination = requires(D const& d) {
  { d.as_target() } -> std::same_as<target>;
  typename D::policy;
};

/// means: to = e, when it is run
template <class E, class Where>
struct [[nodiscard]] Assignment {
  using expression = E;
  using policy = Where;
  E e;
  target to;
};

/// means: to = e, as a value that plan and run take
/// fails: when it is run: shape_error, for other extents
template <destination D, tensor_operand X>
  requires(!std::is_const_v<std::remove_reference_t<D>>)
auto into(D& to, X&& e) {
  auto operand = as_operand<void>(std::forward<X>(e));
  return Assignment<decltype(operand), typename D::policy>{std::move(operand), to.as_target()};
}
template <destination D, tensor_operand X>
  requires(!std::is_lvalue_reference_v<D> && !tensor_owner<D>)
auto into(D&& to, X&& e) {
  auto operand = as_operand<void>(std::forward<X>(e));
  return Assignment<decltype(operand), typename D::policy>{std::move(operand), to.as_target()};
}

/// means: the destination, with the promise that nothing which is read overlaps with it
template <class Where>
struct NoAlias {
  target to;
  using policy = Where;
  target as_target() const { return to; }
  template <tensor_operand X, class Mode = mode>
  void operator=(X&& x) const;
};
/// means: no_alias(y) = e, without looking whether e reads y at other places
template <destination D>
auto no_alias(D& to) {
  target t = to.as_target();
  t.no_alias = true;
  return NoAlias<typename D::policy>{t};
}

inline namespace LOCUS_MODE {

/// means: several assignments as one plan: every right side is computed before any left side is
/// written The members of plan_facts say what it does: step.copies(), step.all_reduces(),
/// step.explain() ...
template <placement_policy Policy, class... Assignments>
class [[nodiscard]] Plan
    : public plan_facts<graph<
          Policy, root_of<typename Assignments::expression, typename Assignments::policy>...>> {
 public:
  using graph_type =
      graph<Policy, root_of<typename Assignments::expression, typename Assignments::policy>...>;
  constexpr explicit Plan(Assignments... a) : assignments_(make_pack(std::move(a)...)) {}

  void run() const {
    [&]<std::size_t... Idx>(std::index_sequence<Idx...>) {
      target const* const targets[] = {&get<Idx>(assignments_).to...};
      lowering::graph_code<graph_type>::run([&](int k, shape const&) { return *targets[k]; },
                                            get<Idx>(assignments_).e...);
    }(std::index_sequence_for<Assignments...>{});
  }

 private:
  pack<Assignments...> assignments_;
};

/// means: the assignments as one plan; nothing has run
/// fails: at compile time, when the plan does not hold
template <placement_policy Policy = default_policy, class... E, class... Where>
  requires(sizeof...(E) > 0)
constexpr auto plan(Assignment<E, Where>... assignments) {
  using Graph = graph<Policy, root_of<E, Where>...>;
  if constexpr (detail::require_plan<Graph>())
    return Plan<Policy, Assignment<E, Where>...>(std::move(assignments)...);
}

/// means: runs a plan, or one assignment
template <class Policy, class... Assignments>
void run(Plan<Policy, Assignments...> const& step) {
  step.run();
}
template <placement_policy Policy = default_policy, class E, class Where>
void run(Assignment<E, Where> assignment) {
  plan<Policy>(std::move(assignment)).run();
}

/// means: y = e under a policy of its own
template <placement_policy Policy, destination D, tensor_operand X>
void assign(D& to, X&& e) {
  run<Policy>(into(to, std::forward<X>(e)));
}

}  // namespace LOCUS_MODE

template <class Where>
template <tensor_operand X, class Mode>
void NoAlias<Where>::operator=(X&& x) const {
  auto operand = as_operand<void>(std::forward<X>(x));
  run(Assignment<decltype(operand), Where>{std::move(operand), to});
}

/// means: a compile-time guarantee that nothing crosses devices     fails: at compile time
template <class E, class Where>
constexpr void require_no_copies(Assignment<E, Where> const&) {
  static_assert(
      plan_facts<graph<default_policy, root_of<E, Where>>>::copies() == 0,
      "locus: this assignment copies between devices; print plan(...).explain() to see where");
}
template <class Policy, class... Assignments>
constexpr void require_no_copies(Plan<Policy, Assignments...> const& step) {
  static_assert(step.copies() == 0,
                "locus: this plan copies between devices; print its explain() to see where");
}
template <tensor_operand X>
constexpr void require_no_copies(X const&) {
  static_assert(
      plan_of<X const&>.copies() == 0,
      "locus: this expression copies between devices; print plan_of<E>.explain() to see where");
}

}  // namespace locus
