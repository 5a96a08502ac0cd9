// SPDX-License-Identifier: Apache-2.0
// How a fold combines values. Host and device kernels and folds over replicas use the same
// reducers.
#pragma once
#include <cstdint>      // int64_t
#include <limits>       // numeric_limits
#include <type_traits>  // conditional

#include <locus/core/macros.hpp>    // LOCUS_HOST_DEVICE
#include <locus/device/device.hpp>  // reduction
#include <locus/ops/functors.hpp>   // maximum_fn, minimum_fn
#include <locus/ops/reduce.hpp>     // ranked
#include <locus/shape/element.hpp>  // sum_t

namespace locus::kernel {

// A reducer has four types: value (an element), lane (the type of the innermost loop), total (the
// type in which lanes are added), result; and start(), add(lane, value), widen(lane), identity(),
// combine(total, total), finish(total, count): with count >= 0, the mean of count elements.
template <reduction R, class T>
struct reducer;

/// means: sum of floats: values are added to lanes of type T, lanes to totals in double; the same of
///        complex numbers; integers and booleans are added in int64
template <class T>
struct reducer<reduction::sum, T> {
  using value = T;
  static constexpr bool is_field = is_floating_v<T> || is_complex_v<T>;
  static constexpr bool order_matters = is_field;
  using lane = std::conditional_t<is_field, T, std::int64_t>;
  using total = total_t<T>;
  using result = sum_t<T>;
  static constexpr int block = 8192;  // a set of lanes goes to the total after this many values
  LOCUS_HOST_DEVICE static constexpr lane start() { return lane(0); }
  LOCUS_HOST_DEVICE static constexpr total identity() { return total(0); }
  LOCUS_HOST_DEVICE static constexpr lane add(lane a, value v) {
    if constexpr (is_field)
      return a + v;
    else
      return add_fn{}(a, static_cast<std::int64_t>(v));
  }
  LOCUS_HOST_DEVICE static constexpr total widen(lane a) { return static_cast<total>(a); }
  LOCUS_HOST_DEVICE static constexpr total combine(total a, total b) { return add_fn{}(a, b); }
  LOCUS_HOST_DEVICE static constexpr result finish(total t, double count) {
    if constexpr (is_field)
      return static_cast<result>(count >= 0 ? t / count : t);
    else
      return static_cast<result>(t);
  }
};

/// means: product of floats in double, of complex numbers in complex<double>; of integers and booleans
///        in int64
template <class T>
struct reducer<reduction::product, T> {
  using value = T;
  using total = typename reducer<reduction::sum, T>::total;
  using lane = total;
  using result = sum_t<T>;
  static constexpr bool order_matters = reducer<reduction::sum, T>::is_field;
  static constexpr int block = 1 << 30;
  LOCUS_HOST_DEVICE static constexpr lane start() { return lane(1); }
  LOCUS_HOST_DEVICE static constexpr total identity() { return total(1); }
  LOCUS_HOST_DEVICE static constexpr lane add(lane a, value v) {
    return multiply_fn{}(a, static_cast<lane>(v));
  }
  LOCUS_HOST_DEVICE static constexpr total widen(lane a) { return a; }
  LOCUS_HOST_DEVICE static constexpr total combine(total a, total b) { return multiply_fn{}(a, b); }
  LOCUS_HOST_DEVICE static constexpr result finish(total t, double) {
    return static_cast<result>(t);
  }
};

namespace detail {
template <class T, class Better>
struct extremum {
  using value = T;
  using lane = T;
  using total = T;
  using result = T;
  static constexpr bool order_matters = false;
  static constexpr int block = 1 << 30;
  LOCUS_HOST_DEVICE static constexpr T start() { return Better::template worst<T>(); }
  LOCUS_HOST_DEVICE static constexpr T identity() { return start(); }
  LOCUS_HOST_DEVICE static constexpr T add(T a, T b) { return typename Better::functor{}(a, b); }
  LOCUS_HOST_DEVICE static constexpr T widen(T a) { return a; }
  LOCUS_HOST_DEVICE static constexpr T combine(T a, T b) { return add(a, b); }
  LOCUS_HOST_DEVICE static constexpr T finish(T t, double) { return t; }
};
}  // namespace detail

// variables, since a device function may not call numeric_limits' functions
template <class T>
inline constexpr T below_all =
    is_floating_v<T> ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
template <class T>
inline constexpr T above_all =
    is_floating_v<T> ? std::numeric_limits<T>::infinity() : (std::numeric_limits<T>::max)();

namespace detail {

struct larger {
  using functor = maximum_fn;
  template <class T>
  LOCUS_HOST_DEVICE static constexpr T worst() {
    return below_all<T>;
  }
};
struct smaller {
  using functor = minimum_fn;
  template <class T>
  LOCUS_HOST_DEVICE static constexpr T worst() {
    return above_all<T>;
  }
};
template <bool Any>
struct truth {
  using value = bool;
  using lane = bool;
  using total = bool;
  using result = bool;
  static constexpr bool order_matters = false;
  static constexpr int block = 1 << 30;
  LOCUS_HOST_DEVICE static constexpr bool start() { return !Any; }
  LOCUS_HOST_DEVICE static constexpr bool identity() { return !Any; }
  LOCUS_HOST_DEVICE static constexpr bool add(bool a, bool b) { return Any ? a || b : a && b; }
  LOCUS_HOST_DEVICE static constexpr bool widen(bool a) { return a; }
  LOCUS_HOST_DEVICE static constexpr bool combine(bool a, bool b) { return add(a, b); }
  LOCUS_HOST_DEVICE static constexpr bool finish(bool t, double) { return t; }
};

}  // namespace detail

/// NaN if any value is NaN; so is the minimum
template <class T>
struct reducer<reduction::max, T> : detail::extremum<T, detail::larger> {};
template <class T>
struct reducer<reduction::min, T> : detail::extremum<T, detail::smaller> {};
template <>
struct reducer<reduction::any, bool> : detail::truth<true> {};
template <>
struct reducer<reduction::all, bool> : detail::truth<false> {};

/// means: the larger value with its index; of equal values, the lower index; NaN is larger than any
///        number
template <class T>
struct reducer<reduction::first_max, ranked<T>> {
  using value = ranked<T>;
  using lane = ranked<T>;
  using total = ranked<T>;
  using result = ranked<T>;
  static constexpr bool order_matters = false;
  static constexpr int block = 1 << 30;
  LOCUS_HOST_DEVICE static constexpr ranked<T> start() { return {T(0), -1}; }
  LOCUS_HOST_DEVICE static constexpr ranked<T> identity() { return start(); }
  LOCUS_HOST_DEVICE static constexpr ranked<T> combine(ranked<T> a, ranked<T> b) {
    if (a.index < 0) return b;
    if (b.index < 0) return a;
    bool const a_nan = a.value != a.value, b_nan = b.value != b.value;
    if (a_nan != b_nan) return a_nan ? a : b;
    if (!a_nan && a.value != b.value) return a.value > b.value ? a : b;
    return a.index < b.index ? a : b;
  }
  LOCUS_HOST_DEVICE static constexpr ranked<T> add(ranked<T> a, ranked<T> b) {
    return combine(a, b);
  }
  LOCUS_HOST_DEVICE static constexpr ranked<T> widen(ranked<T> a) { return a; }
  LOCUS_HOST_DEVICE static constexpr ranked<T> finish(ranked<T> t, double) { return t; }
};

/// means: the same reducer, whose result is its total
template <class Reducer>
struct unfinished : Reducer {
  using result = typename Reducer::total;
  static constexpr result finish(result t, double) { return t; }
};

/// means: the largest value; NaNs are skipped
template <class T>
struct largest_number : reducer<reduction::max, T> {
  LOCUS_HOST_DEVICE static constexpr T add(T a, T v) { return v > a ? v : a; }
  LOCUS_HOST_DEVICE static constexpr T combine(T a, T b) { return add(a, b); }
};

/// count of elements for the mean of each fold; negative: the fold is not a mean
template <int Count>
struct mean_counts {
  double of[Count];
};

/// a value with its index, for first_max
struct with_index_fn {
  template <class T>
  LOCUS_HOST_DEVICE constexpr ranked<T> operator()(T v, std::int64_t i) const {
    return {v, i};
  }
};

}  // namespace locus::kernel
