// SPDX-License-Identifier: Apache-2.0
// sort, unique and reduce with a functor of the program, by Thrust.
#pragma once
#include <locus/thrust/with_thrust.hpp>  // run_on_elements, run_thrust

namespace locus {

namespace detail {
template <class Less>
struct sort_by {
  Less less;
  template <class Policy, class It>
  void operator()(Policy const& policy, It first, It last) const {
    sort(policy, first, last, less);
  }
};
template <class Equal>
struct unique_by {
  Equal equal;
  template <class Policy, class It>
  std::int64_t operator()(Policy const& policy, It first, It last) const {
    return static_cast<std::int64_t>(unique(policy, first, last, equal) - first);
  }
};
template <class F, class T>
struct reduce_by {
  F f;
  T initial;
  template <class Policy, class It>
  T operator()(Policy const& policy, It first, It last) const {
    return reduce(policy, first, last, initial, f);
  }
};
}  // namespace detail

inline namespace LOCUS_MODE {

/// means: sorts the elements of x, in row order, by less; elements that are equal under less may
///        change places
/// shape: x     device: x's     cost: that of thrust::sort
/// fails: as with_thrust
template <class X, class Less>
  requires detail::is_writable<X&>
void sort(X&& x, Less less, call_site where = call_site::here()) {
  detail::run_on_elements(where, x, detail::sort_by<Less>{less});
}
/// means: keeps the first of neighbouring equal elements, moved to the front; returns how many it
///        kept
/// device: x's; the host waits for it     cost: that of thrust::unique
/// fails: as with_thrust
template <class X, class Equal>
  requires detail::is_writable<X&>
[[nodiscard]] std::int64_t unique(X&& x, Equal equal, call_site where = call_site::here()) {
  return detail::run_on_elements(where, x, detail::unique_by<Equal>{equal});
}
/// means: f over `initial` and all elements of x, in any order: f must be commutative and
///        associative
/// device: that of the tensors of x, the host if x has none; the host waits for it
/// cost:  that of thrust::reduce
/// fails: as with_thrust
template <tensor_operand X, class F, class T>
[[nodiscard]] T reduce(X const& x, F f, T initial, call_site where = call_site::here()) {
  runtime::devices("reduce", where);
  detail::operand_list all;
  auto const first = detail::first_of(x, all);
  if (all.on.is_none()) all.on = cpu(0);  // x has generators only
  return detail::run_thrust<true>(all, detail::reduce_by<F, T>{f, initial}, first);
}

}  // namespace LOCUS_MODE

}  // namespace locus
