// SPDX-License-Identifier: Apache-2.0
// Numbers of stored weights, and how far two lists of numbers are apart.
#pragma once
#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include <worst_of.hpp>

#include <locus/nn/layers/checkpoint_entry.hpp>

using reals = std::vector<double>;

inline reals values_of(locus::nn::stored const& s) {
  reals v(std::size_t(s.extents.size()));
  locus::nn::read_values(s, v.data());
  return v;
}
inline reals values_of(std::vector<locus::nn::stored> const& all) {
  reals v;
  for (locus::nn::stored const& s : all) {
    reals const one = values_of(s);
    v.insert(v.end(), one.begin(), one.end());
  }
  return v;
}
/// the largest difference; NaN is the worst
inline double distance(reals const& a, reals const& b) {
  REQUIRE(a.size() == b.size());
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    double const d = std::fabs(a[i] - b[i]);
    worst = worst_of(worst, d);
  }
  return worst;
}
