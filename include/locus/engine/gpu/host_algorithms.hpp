// SPDX-License-Identifier: Apache-2.0
// Algorithms of the standard library under the names and arguments of Thrust's, with a policy type
// that selects them.
#pragma once
#include <algorithm>  // sort
#include <numeric>    // accumulate

#include <locus/core/macros.hpp>  // LOCUS_MODE

namespace locus::host_algorithms {
inline namespace LOCUS_MODE {

struct policy {};

template <class It, class... Less>
void sort(policy, It first, It last, Less... less) {
  std::sort(first, last, less...);
}
template <class It, class... Less>
void stable_sort(policy, It first, It last, Less... less) {
  std::stable_sort(first, last, less...);
}
template <class It, class... Equal>
It unique(policy, It first, It last, Equal... equal) {
  return std::unique(first, last, equal...);
}
template <class It, class Refuse>
It remove_if(policy, It first, It last, Refuse refuse) {
  return std::remove_if(first, last, refuse);
}
template <class It>
void reverse(policy, It first, It last) {
  std::reverse(first, last);
}
template <class It, class T>
void fill(policy, It first, It last, T const& value) {
  std::fill(first, last, value);
}
template <class It, class F>
It for_each(policy, It first, It last, F f) {
  std::for_each(first, last, f);
  return last;
}
template <class It, class To, class F>
To transform(policy, It first, It last, To to, F f) {
  return std::transform(first, last, to, f);
}
template <class It, class Other, class To, class F>
To transform(policy, It first, It last, Other other, To to, F f) {
  return std::transform(first, last, other, to, f);
}
template <class It, class T, class... Op>
T reduce(policy, It first, It last, T start, Op... op) {
  return std::accumulate(first, last, start, op...);
}
template <class It, class If>
auto count_if(policy, It first, It last, If condition) {
  return std::count_if(first, last, condition);
}
template <class It, class To, class... Op>
To inclusive_scan(policy, It first, It last, To to, Op... op) {
  return std::inclusive_scan(first, last, to, op...);
}
template <class It, class To, class T, class... Op>
To exclusive_scan(policy, It first, It last, To to, T start, Op... op) {
  return std::exclusive_scan(first, last, to, start, op...);
}

}  // namespace LOCUS_MODE
}  // namespace locus::host_algorithms
