// SPDX-License-Identifier: Apache-2.0
// update: a rule of an optimizer as one kernel over a weight, what is kept for it, and its gradient.
#pragma once
#include <utility>  // index_sequence

#include <locus/backend/host/packet_form.hpp>  // packet_form
#include <locus/nn/rule.hpp>                   // the rules
#include <locus/ops/map.hpp>                   // map
#include <locus/tensor/assign.hpp>             // into, plan, run

LOCUS_VECTORS_BEGIN
namespace locus::nn {
inline namespace LOCUS_MODE {

/// means: what becomes of number K: 0 the weight, 1, ... what is kept for it; operands: these, the
///        gradient and, where gradients are scaled to a norm, the factor
/// cost:  the kernel of a plan has one of these for each number; what they compute twice is three
///        products, since the quotient and the root stand in the weight's alone
template <class Rule, int K>
struct update_fn {
  static constexpr auto name = "update";
  static constexpr kernels_on kernels = on_both;
  Rule rule;

  template <class T, class... More>
  LOCUS_HOST_DEVICE T operator()(T weight, More... more) const {
    return of<T>(weight, more...);
  }
  LOCUS_EXEC_CHECK_DISABLE
  template <class V, class... More>
  [[gnu::always_inline]] LOCUS_HOST_DEVICE inline V of(V weight, More... more) const {
    V x[] = {weight, more...};
    constexpr int n = Rule::slots;
    if constexpr (sizeof...(More) == n + 2)
      rule(x, x[n + 1] * x[n + 2]);
    else
      rule(x, x[n + 1]);
    return x[K];
  }
};

/// means: weight, kept... = rule(weight, kept..., gradient [* scale]), in place
/// shape: flat tensors of one size; scale has rank 0
/// cost:  one kernel: each number is read once and written once
template <class Rule, class Tensor, std::size_t... S, class... Scale>
auto update_plan(Rule const& rule, Tensor& weight, Tensor* kept, Tensor const& gradient,
                 std::index_sequence<S...>, Scale const&... scale) {
  return plan(into(weight, map(update_fn<Rule, 0>{rule}, weight, kept[S]..., gradient, scale...)),
              into(kept[S], map(update_fn<Rule, int(S) + 1>{rule}, weight, kept[S]..., gradient,
                                scale...))...);
}

}  // namespace LOCUS_MODE
}  // namespace locus::nn

namespace locus::host {
inline namespace LOCUS_MODE {

template <class Rule, int K>
struct packet_form<nn::update_fn<Rule, K>> {
  template <class T, int N, class... More>
  LOCUS_VECTOR_FUNCTION static packet<T, N> with(nn::update_fn<Rule, K> const& f,
                                                 packet<T, N> weight, More... more) {
    return {f.of(weight.v, more.v...)};
  }
};

}  // namespace LOCUS_MODE
}  // namespace locus::host
LOCUS_VECTORS_END
