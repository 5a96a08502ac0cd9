// SPDX-License-Identifier: Apache-2.0
// Reductions over elements, over all axes or over the axes given.
#pragma once
#include <utility>  // forward

#include <locus/core/macros.hpp>   // LOCUS_MODE
#include <locus/expr/node.hpp>     // make_node
#include <locus/ops/functors.hpp>  // LOCUS_BUILTIN
#include <locus/ops/map.hpp>       // elements_fit, map_op

namespace locus {

/// The element type of a first_max reduction: the larger value wins, of equal ones the lower index.
template <class T>
struct ranked {
  T value;
  std::int64_t index;
};

struct keep_dims_t {};
/// sum<0>(x, keep_dims): the reduced axes stay, with extent 1
inline constexpr keep_dims_t keep_dims{};

namespace detail {
/// means: the set of these axes, negative ones counted from the end; without Axes, all axes
template <int... Axes>
constexpr axis_set axes_of(int rank) {
  if constexpr (sizeof...(Axes) == 0)
    return all_axes(rank);
  else {
    unsigned set = 0;
    ((set |= 1u << (Axes < 0 ? Axes + rank : Axes)), ...);
    return static_cast<axis_set>(set);
  }
}
template <int... Axes>
consteval bool axes_exist(int rank) {
  return (((Axes < 0 ? Axes + rank : Axes) >= 0 && (Axes < 0 ? Axes + rank : Axes) < rank) && ... &&
          true);
}
template <int... Axes>
consteval bool axes_differ(int rank) {
  unsigned set = 0;
  bool ok = true;
  ((ok = ok && (set >> (Axes < 0 ? Axes + rank : Axes) & 1) == 0,
    set |= 1u << (Axes < 0 ? Axes + rank : Axes)),
   ...);
  return ok;
}
}  // namespace detail

struct sum_fn {
  LOCUS_BUILTIN("sum")
  template <class T>
  using result = sum_t<T>;
};
struct mean_fn {
  LOCUS_BUILTIN("mean")
  template <class T>
  using result = T;
};
struct prod_fn {
  LOCUS_BUILTIN("prod")
  template <class T>
  using result = sum_t<T>;
};
struct max_fn {
  LOCUS_BUILTIN("max")
  template <class T>
  using result = T;
};
struct min_fn {
  LOCUS_BUILTIN("min")
  template <class T>
  using result = T;
};
struct any_fn {
  LOCUS_BUILTIN("any")
  template <class T>
  using result = bool;
};
struct all_fn {
  LOCUS_BUILTIN("all")
  template <class T>
  using result = bool;
};
struct argmax_fn {
  LOCUS_BUILTIN("argmax")
  template <class T>
  using result = ranked<compute_t<T>>;
};

/// means: r = combine(x[i]...) over the axes; Fn gives the name, R the operation
template <class Fn, reduction R, bool Keep, int... Axes>
struct reduce_op {
  using named = Fn;
  static constexpr step_kind kind = step_kind::reduce;
  static constexpr operation op = Fn::op;
  static constexpr reduction combines = R;
  static constexpr bool averages = std::is_same_v<Fn, mean_fn>;
  template <class T>
  using result = typename Fn::template result<T>;
  static constexpr shape infer(shape a) {
    return reduced(a, detail::axes_of<Axes...>(a.rank), Keep);
  }
  template <class T>
  static constexpr void describe(step& s, int rank) {
    s.combines = R, s.keep = Keep, s.axes = detail::axes_of<Axes...>(rank);
  }
};

namespace internal {
inline namespace LOCUS_MODE {

/// means: the fold R of x along Axes; of all axes, if there are none
/// fails: at compile time, if x lacks an axis
template <class Fn, reduction R, bool Keep, int... Axes, class X>
constexpr auto reduction_of(X&& x) {
  auto operand = as_operand<void>(std::forward<X>(x));
  using E = decltype(operand);
  constexpr bool axes_fit = axes_exist<Axes...>(E::pattern.rank);
  static_assert(axes_fit,
                "locus: a reduction names an axis that its operand does not have; axes count "
                "from 0, or from -1 backwards");
  if constexpr (axes_fit) {
    static_assert(axes_differ<Axes...>(E::pattern.rank),
                  "locus: a reduction names an axis twice; name it once");
    if constexpr (elements_fit<Fn, Fn::op.cpu.contains(element_of_v<typename E::value_type>)>())
      return make_node(reduce_op<Fn, R, Keep, Axes...>{}, std::move(operand));
    else
      return sizeof(element_types_do_not_fit<Fn, typename E::value_type>);
  } else
    return sizeof(shapes_do_not_fit<Fn, extents_of<E>>);
}

}  // namespace LOCUS_MODE
}  // namespace internal

namespace detail {
template <class X>
consteval bool refuse_second_argument() {
  static_assert(always_false<X>,
                "locus: a reduction takes one tensor, and its axes as template arguments; write "
                "sum<0>(x), or maximum(x, y) for the larger of two");
  return false;
}
}  // namespace detail

inline namespace LOCUS_MODE {

// means: r = combine(x[i]...) over all axes, or over Axes
// shape: without those axes; with keep_dims they stay with extent 1
// cost:  one pass, fused with the element-wise operations before it
/// fails: at compile time, for an axis outside the rank
#define LOCUS_REDUCTION(function, combine)                                                     \
  template <int... Axes, tensor_operand X>                                                     \
  constexpr auto(function)(X && x) {                                                           \
    return internal::reduction_of<function##_fn, combine, false, Axes...>(std::forward<X>(x)); \
  }                                                                                            \
  template <int... Axes, tensor_operand X>                                                     \
  constexpr auto(function)(X && x, keep_dims_t) {                                              \
    return internal::reduction_of<function##_fn, combine, true, Axes...>(std::forward<X>(x));  \
  }                                                                                            \
  template <tensor_operand X, class Second>                                                    \
    requires(!std::is_same_v<Second, keep_dims_t>)                                             \
  constexpr auto(function)(X const&, Second const&) {                                          \
    return detail::refuse_second_argument<X>();                                                \
  }
/// sum: int64 for integers and booleans; 0 over no element. Blocks of floats are added in double.
LOCUS_REDUCTION(sum, reduction::sum)
/// mean: sum / number of elements, over all replicas; NaN over no element
LOCUS_REDUCTION(mean, reduction::sum)
/// prod: int64 for integers and booleans; 1 over no element. Floats are multiplied in double; the
/// derivative divides the product by x, so it has no meaning where the product leaves the element type;
/// the derivative of that derivative is 0 where two elements are 0, although it need not be
LOCUS_REDUCTION(prod, reduction::product)
/// max, min: NaN if any element is; an error over no element
LOCUS_REDUCTION(max, reduction::max)
LOCUS_REDUCTION(min, reduction::min)
/// any, all: over no element false, true
LOCUS_REDUCTION(any, reduction::any)
LOCUS_REDUCTION(all, reduction::all)
#undef LOCUS_REDUCTION

}  // namespace LOCUS_MODE

/// the index of a ranked pair
struct argmax_index_fn {
  LOCUS_BUILTIN("argmax.index")
  template <class T>
  LOCUS_HOST_DEVICE constexpr std::int64_t operator()(ranked<T> const& p) const {
    return p.index;
  }
};

inline namespace LOCUS_MODE {

/// means: the lowest index of the largest element; the index of the first NaN if there is one
/// shape: that of x without Axis; without Axis: the index in row order over all elements     units:
///        int64
/// fails: at binding, over no element
template <int... Axis, tensor_operand X>
  requires(sizeof...(Axis) <= 1)
constexpr auto argmax(X&& x) {
  return make_node(
      map_op<argmax_index_fn>{},
      internal::reduction_of<argmax_fn, reduction::first_max, false, Axis...>(std::forward<X>(x)));
}

}  // namespace LOCUS_MODE

}  // namespace locus
