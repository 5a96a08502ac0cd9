// SPDX-License-Identifier: Apache-2.0
// Linear equations by elimination with partial pivots, as the stand-ins for cuBLAS and cuSOLVER both solve them.
// Matrices lie columns first, without gaps.
#pragma once
#include <cmath>
#include <utility>

#include "card_memory.hpp"

namespace stand_ins {

/// element (i, j) of a matrix with so many rows
inline double& at(numbers& a, int rows, int i, int j) {
  return a[std::size_t(j) * std::size_t(rows) + std::size_t(i)];
}
/// a (n, n) becomes its factors, pivots the rows that were exchanged, from 1; the number of the first column without a
/// pivot, or 0
inline int eliminate(int n, numbers& a, numbers& pivots) {
  int ended = 0;
  pivots.assign(std::size_t(n), 0.);
  for (int k = 0; k < n; ++k) {
    int best = k;
    for (int i = k + 1; i < n; ++i)
      if (std::fabs(at(a, n, i, k)) > std::fabs(at(a, n, best, k))) best = i;
    pivots[std::size_t(k)] = best + 1;
    if (at(a, n, best, k) == 0 && ended == 0) ended = k + 1;
    for (int j = 0; j < n; ++j) std::swap(at(a, n, k, j), at(a, n, best, j));
    for (int i = k + 1; i < n; ++i) {
      double const f = at(a, n, i, k) /= at(a, n, k, k);
      for (int j = k + 1; j < n; ++j) at(a, n, i, j) -= f * at(a, n, k, j);
    }
  }
  return ended;
}
/// b (n, right) becomes the solution, by the factors and the pivots of eliminate
inline void substitute(int n, int right, numbers& a, numbers const& pivots, numbers& b) {
  for (int c = 0; c < right; ++c) {
    for (int i = 0; i < n; ++i)
      std::swap(at(b, n, i, c), at(b, n, int(pivots[std::size_t(i)]) - 1, c));
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < i; ++j) at(b, n, i, c) -= at(a, n, i, j) * at(b, n, j, c);
    for (int i = n; i-- > 0;) {
      for (int j = i + 1; j < n; ++j) at(b, n, i, c) -= at(a, n, i, j) * at(b, n, j, c);
      at(b, n, i, c) /= at(a, n, i, i);
    }
  }
}

}  // namespace stand_ins
