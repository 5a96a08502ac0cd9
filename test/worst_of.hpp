// SPDX-License-Identifier: Apache-2.0
// The largest error of many, where a NaN counts as the largest of all: std::max and std::fmax drop it.
#pragma once
#include <type_traits>

/// means: the larger of the two; NaN, if one of them is
template <class T>
constexpr T worst_of(T worst, std::type_identity_t<T> next) {
  return worst != worst || next <= worst ? worst : next;
}
