// SPDX-License-Identifier: Apache-2.0
// LOCUS_INSTANTIATE: makes a .cu compile the GPU kernels that units of the host compiler launch.
#pragma once
#include <locus/run/bind_and_run.hpp>  // graph_code
#include <locus/tensor/assign.hpp>     // Assignment, Plan

// means: registers every kernel of that plan before main; write it at namespace scope of
//        a .cu. The argument is the type of
//          an expression:  LOCUS_INSTANTIATE(decltype(2.f * x + y))               eval, fetch, to<...>
//          the same with a destination and a policy: LOCUS_INSTANTIATE(E, CpuDevice, min_copies)
//          an assignment or a plan: LOCUS_INSTANTIATE(decltype(plan(into(y, 2.f * x + y))))
// device: none; in a unit of a host compiler it does nothing
// fails: at compile time, when the plan does not hold
#define LOCUS_INSTANTIATE(...)                                              \
  [[maybe_unused]] static bool const LOCUS_INSTANTIATE_NAME_(__COUNTER__) = \
      ::locus::lowering::instantiate<__VA_ARGS__>()
#define LOCUS_INSTANTIATE_NAME_(number) LOCUS_INSTANTIATE_JOIN_(number)
#define LOCUS_INSTANTIATE_JOIN_(number) locus_instantiated_##number

// means: registers the folds over replicas for all element types; write it once in a program
#define LOCUS_INSTANTIATE_COMMON()                                          \
  [[maybe_unused]] static bool const LOCUS_INSTANTIATE_NAME_(__COUNTER__) = \
      ::locus::lowering::instantiate_folds<>()

namespace locus {
inline namespace LOCUS_MODE {
namespace lowering {

/// the graph of an expression, an assignment or a plan
template <class X, class Where, class Policy>
struct instantiated {
  using type =
      graph<Policy,
            root_of<std::remove_cvref_t<decltype(as_operand<void>(std::declval<X>()))>, Where>>;
};
template <class E, class To, class Where, class Policy>
struct instantiated<Assignment<E, To>, Where, Policy> {
  using type = graph<Policy, root_of<E, typename To::policy>>;
};
template <class P, class... Assignments, class Where, class Policy>
struct instantiated<Plan<P, Assignments...>, Where, Policy> {
  using type = typename Plan<P, Assignments...>::graph_type;
};

/// means: instantiates the code of a plan, with its kernels, in this unit
template <class X, class Where = nowhere, class Policy = default_policy>
bool instantiate() {
  if constexpr (LOCUS_CUDA_KERNELS) {
    using Graph = typename instantiated<std::remove_cvref_t<X>, Where, Policy>::type;
    if constexpr (internal::has_second_plan<Graph>)
      if (graph_code<internal::second_graph<Graph>>::code.plan.steps.count == 0) return false;
    if constexpr (internal::require_plan<Graph>())
      return graph_code<Graph>::code.plan.steps.count > 0;
  }
  return false;
}

template <reduction R, class... T>
void instantiate_fold() {
  (cuda_side::require_registered<fold_work<R, T>>(), ...);
}
template <class Mode = mode>
bool instantiate_folds() {
  if constexpr (LOCUS_CUDA_KERNELS) {
    instantiate_fold<reduction::sum, float, double, half, bfloat16, std::int32_t, std::int64_t>();
    instantiate_fold<reduction::max, float, double, half, bfloat16, std::int32_t, std::int64_t>();
    instantiate_fold<reduction::min, float, double, half, bfloat16, std::int32_t, std::int64_t>();
    instantiate_fold<reduction::product, float, double, half, bfloat16, std::int64_t>();
    instantiate_fold<reduction::first_max, ranked<float>, ranked<double>, ranked<std::int32_t>,
                     ranked<std::int64_t>>();
    instantiate_fold<reduction::any, bool>();
    instantiate_fold<reduction::all, bool>();
  }
  return true;
}

}  // namespace lowering
}  // namespace LOCUS_MODE
}  // namespace locus
