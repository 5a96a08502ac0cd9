// SPDX-License-Identifier: Apache-2.0
// Which bits a plan promises. exact: each operation is rounded as IEEE 754 says, products and sums
// may be fused, folds are added in the fastest order. relaxed: divisions and square roots are
// approximations. reproducible: the same bits on every backend and for every number of threads.
#pragma once
#include <locus/core/numerics.hpp>    // numerics
#include <locus/plan/data.hpp>        // plan_view, placement_policy
#include <locus/plan/guesses.hpp>     // guess, guess_of
#include <locus/plan/overlapped.hpp>  // overlaps_of

namespace locus {

/// means: the placement policy itself, which is exact
template <placement_policy Placement = prefer_gpu>
using exact = Placement;

/// means: on the host, division and square root of float are right to 3 ulp (0.6 with AVX-512)
///        instead of half a unit, for normal numbers, divisors up to 2^125 and normal quotients; on
///        GPUs a relu of a product plus a row may turn NaN into 0
/// after: Intel's vrcp14ps, vrsqrt14ps with one Newton step
template <placement_policy Placement = prefer_gpu>
struct relaxed : Placement {
  static constexpr numerics bits = numerics::relaxed;
};

/// means: the same bits from the host with any number of threads and from simulated and real GPUs,
///        for all optimisation and contraction flags of the compiler; except the sign of the result
///        when max or min compares zeros of both signs
/// cost:  products are never fused into sums; sums of floats follow one tree of 256 lanes, which
///        depends only on the length
/// fails: at compile time, for operations whose bits differ between libraries (exp, log, matmul),
///        for folds across replicas, and under -ffast-math
template <placement_policy Placement = prefer_gpu>
struct reproducible : Placement {
  static constexpr numerics bits = numerics::reproducible;
};

template <class Policy>
constexpr numerics numerics_of() {
  if constexpr (requires { Policy::bits; })
    return Policy::bits;
  else
    return numerics::exact;
}

/// A policy as a value.
struct policy_value {
  placement_rule rule = placement_rule::prefer_gpu;
  numerics bits = numerics::exact;
  guess guesses = guess::guarded;
  bool overlaps = false;
  bool rewrites = false;  // algebra<> (algebra/policy.hpp)
};
template <class Policy>
constexpr policy_value value_of_policy() {
  // of already_rewritten, too: a text names the policy that the program wrote
  constexpr bool rewrites = requires { Policy::rewrites; };
  return {Policy::rule, numerics_of<Policy>(), guess_of<Policy>(), overlaps_of<Policy>(), rewrites};
}
/// means: writes the policy as a program names it: careful<relaxed<prefer_gpu>>
template <class Text>
constexpr Text& write_policy(Text& out, policy_value const& policy) {
  constexpr std::string_view rules[] = {"prefer_gpu", "follow_data", "min_copies"},
                             bits[] = {"", "relaxed<", "reproducible<"},
                             guesses[] = {"", "careful<", "alike<"};
  auto const guess = static_cast<int>(policy.guesses), bit = static_cast<int>(policy.bits);
  out << (policy.rewrites ? "algebra<" : "") << (policy.overlaps ? "overlapped<" : "")
      << guesses[guess] << bits[bit] << rules[static_cast<int>(policy.rule)];
  return out << (bit ? ">" : "") << (guess ? ">" : "") << (policy.overlaps ? ">" : "")
             << (policy.rewrites ? ">" : "");
}

namespace detail {

/// Operations with the same bits everywhere: IEEE 754 fixes their result, or they are integer
/// arithmetic, or they are written with explicit roundings (normal).
inline constexpr std::string_view same_bits_everywhere[] = {
    "identity",      "add",         "subtract",     "multiply",    "divide",      "fma",
    "floor_div",     "trunc_div",   "true_div",     "negate",      "abs",         "square",
    "sqrt",          "relu",        "maximum",      "minimum",     "clamp",       "where",
    "cast",          "equal_to",    "not_equal_to", "less",        "less_equal",  "greater",
    "greater_equal", "logical_and", "logical_or",   "logical_not", "add_n",       "one_hot",
    "full",          "iota",        "uniform",      "normal",      "sum",         "mean",
    "max",           "min",         "any",          "all",         "argmax",      "argmax.index",
    "transpose",     "expand_dims", "at",           "reshape",     "slice",       "concatenate",
    "floor",         "ceil",        "trunc",        "round",       "sign",        "isnan",
    "isinf",         "isfinite",    "all_gather",   "per_shard",   "fmod",        "floor_mod",
    "copysign",      "bitwise_and", "bitwise_or",   "bitwise_xor", "bitwise_not", "shift_left",
    "shift_right",   "rows_inside"};

constexpr bool has_same_bits(step const& s) {
  if (s.is_source()) return true;
  if (s.kind == step_kind::call) return s.call->rule.fixed_bits;
  if (!s.builtin) return false;
  for (std::string_view name : same_bits_everywhere)
    if (s.name == name) return true;
  return false;
}

/// means: the first step whose bits depend on its device
constexpr verdict check_numerics(plan_view const& p, numerics wanted) {
  if (wanted != numerics::reproducible) return {};
  for (short i = 0; i < p.steps.count; ++i)
    if (!has_same_bits(p.steps[i])) return {plan_error::not_reproducible, i};
  for (transfer const& t : p.transfers) {
    bool const folds = t.how == transfer_kind::all_reduce || t.how == transfer_kind::reduce ||
                       t.how == transfer_kind::reduce_scatter;
    step const& from = p.steps[t.from];
    bool const is_float = row_of(from.type).kind == element_kind::floating;
    if (folds && is_float && from.where.op == reduction::sum)
      return {plan_error::not_reproducible_across_replicas, t.from};
  }
  return {};
}

}  // namespace detail
}  // namespace locus
