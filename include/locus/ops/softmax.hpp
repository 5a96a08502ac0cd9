// SPDX-License-Identifier: Apache-2.0
// softmax and log_softmax: each is several steps. Over a sharded axis the plan contains their two
// all-reduces; otherwise all steps share one kernel.
#pragma once
#include <utility>  // forward

#include <locus/core/macros.hpp>   // LOCUS_MODE
#include <locus/ops/functors.hpp>  // LOCUS_MATH
#include <locus/ops/map.hpp>       // map_op, checked_node
#include <locus/ops/reduce.hpp>    // reduce_op

namespace locus {

struct softmax_max_fn {
  LOCUS_BUILTIN("softmax.max")
  static constexpr bool leaves_nan_out = true;  // NaN reaches the sum through exp(NaN - m)
  template <class T>
  using result = T;
};
struct softmax_sum_fn {
  LOCUS_BUILTIN("softmax.sum")
  template <class T>
  using result = T;
};
struct softmax_exp_fn {
  LOCUS_BUILTIN("softmax.exp")
  template <class T>
  LOCUS_HOST_DEVICE T operator()(T x, T m) const {
    return exp_fn{}(x - m);
  }
};
struct softmax_fn {
  LOCUS_BUILTIN("softmax")
  template <class T>
  LOCUS_HOST_DEVICE constexpr T operator()(T e, T s) const {
    return e / s;
  }
};
struct log_softmax_fn {
  LOCUS_BUILTIN("log_softmax")
  template <class T>
  LOCUS_HOST_DEVICE T operator()(T x, T m, T s) const {
    return (x - m) - log_fn{}(s);
  }
};

/// means: m = max x, e = exp(x - m), s = sum e, r = e / s or (x - m) - log s; s of 16-bit floats is a
///        float
/// after: the shift by the maximum, which keeps exp from overflowing: Higham et al., IMA J. Numer.
///        Anal. 2021
template <int Axis, bool Log>
struct softmax_op {
  using named = std::conditional_t<Log, log_softmax_fn, softmax_fn>;
  using max_op = reduce_op<softmax_max_fn, reduction::max, true, Axis>;
  using exp_op = map_op<softmax_exp_fn>;
  template <class T>
  using sum_op =
      internal::resulting<reduce_op<softmax_sum_fn, reduction::sum, true, Axis>, compute_t<T>, T>;
  template <class T>
  using last_op =
      std::conditional_t<is_narrow_v<T>, internal::with_result<map_op<named>, T>, map_op<named>>;
  static constexpr int steps = 4, edges = Log ? 7 : 6;
  template <class T>
  using result = T;
  template <class T>
  using entries = type_list<entry<max_op, T>, entry<exp_op, T>, entry<sum_op<T>, compute_t<T>>,
                            entry<last_op<T>, T>>;
  static constexpr shape infer(shape a) { return a; }

  template <class T>
  static constexpr short emit_steps(builder& b, request r, short const* operands) {
    using internal::emit_step;
    short const x = operands[0];
    short const m = emit_step<max_op, T>(b, r, &x);
    short const x_m[] = {x, m};
    short const e = emit_step<exp_op, T, T>(b, r, x_m);
    short const s = emit_step<sum_op<T>, T>(b, r, &e);
    using S = compute_t<T>;
    short const x_m_s[] = {x, m, s}, e_s[] = {e, s};
    if constexpr (Log)
      return emit_step<last_op<T>, T, T, S>(b, r, x_m_s);
    else
      return emit_step<last_op<T>, T, S>(b, r, e_s);
  }
};

namespace detail {
inline namespace LOCUS_MODE {
template <int Axis, bool Log, class X>
constexpr auto softmax_of(X&& x) {
  auto operand = as_operand<void>(std::forward<X>(x));
  using E = decltype(operand);
  using Named = typename softmax_op<Axis, Log>::named;
  static_assert(axes_exist<Axis>(E::pattern.rank),
                "locus: softmax names an axis that its operand does not "
                "have; axes count from 0, or from -1 backwards");
  if constexpr (elements_fit<Named, is_floating_v<typename E::value_type>>())
    return make_node(softmax_op<Axis, Log>{}, std::move(operand));
  else
    return sizeof(element_types_do_not_fit<Named, typename E::value_type>);
}
}  // namespace LOCUS_MODE
}  // namespace detail

inline namespace LOCUS_MODE {

/// means: r = exp(x) / sum of exp(x) along Axis, without overflow
/// shape: that of x     cost: one kernel, row by row, when Axis is the last and not sharded
template <int Axis = -1, tensor_operand X>
constexpr auto softmax(X&& x) {
  return detail::softmax_of<Axis, false>(std::forward<X>(x));
}

/// means: r = x - log(sum of exp(x)) along Axis, without overflow
template <int Axis = -1, tensor_operand X>
constexpr auto log_softmax(X&& x) {
  return detail::softmax_of<Axis, true>(std::forward<X>(x));
}

}  // namespace LOCUS_MODE

}  // namespace locus
