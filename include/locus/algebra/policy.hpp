// SPDX-License-Identifier: Apache-2.0
// algebra<>: the policy under which a plan computes simpler expressions of equal value.
#pragma once
#include <locus/plan/data.hpp>  // placement_policy, prefer_gpu

namespace locus {

/// means: the plan of the expressions that the rules of algebra/rules.hpp make of its roots. The
///        rules hold for real numbers: rounding, overflow and NaN may differ
/// cost:  a run copies the nodes of its expressions; each rewrite is a constant that explain() shows
///        with its gain
/// fails: never by itself: where a pass refuses the new plan, that of the written expressions is kept
/// after: Hu and Shing, "Computation of matrix chain products", 1982, state the problem of chains
template <placement_policy Placement = prefer_gpu>
struct algebra : Placement {
  static constexpr bool rewrites = true;
};

namespace internal {

/// means: a plan under Policy computes rewritten expressions
template <class Policy>
concept rewriting = requires { requires Policy::rewrites; };

/// The policy of a graph whose expressions are rewritten.
template <class Policy>
struct already_rewritten : Policy {
  static constexpr bool rewrites = false;
};

}  // namespace internal

}  // namespace locus
