// SPDX-License-Identifier: Apache-2.0
// The order of additions of reproducible sums: the same on every machine; it depends on the length
// only.
#pragma once
#include <cstdint>  // int64_t

#include <locus/core/macros.hpp>  // LOCUS_HOST_DEVICE

namespace locus::kernel {

/// means: values v[0..n) are cut into chunks of 4096. In a chunk, value i is added to lane i % 256,
///        which starts at 0, in the element type. The 256 lanes are added as doubles: lane l and
///        lane l + 128, then l and l + 64, ..., l and l + 1. The chunk totals are the values of the
///        next level, whose lanes are doubles, until one total is left.
/// cost:  log2(n) / 12 levels; error at most about 16 roundings of T and log2(n) of double
/// after: Higham, The accuracy of floating point summation (SISC 1993): pairwise summation
namespace ordered_sum {

inline constexpr int lanes = 256, chunk = 4096;

LOCUS_HOST_DEVICE constexpr std::int64_t chunks_of(std::int64_t n) {
  return n <= chunk ? 1 : (n + chunk - 1) / chunk;
}

/// means: total[c] = the sum of the 256 lanes of column c; its lane l is lane[l * columns + c]. The
///        lanes are overwritten.
template <int Columns>
void add_lanes(double* lane, double* total) {
  for (int half = lanes / 2; half > 0; half /= 2)
    for (int i = 0; i < half * Columns; ++i) lane[i] += lane[i + half * Columns];
  for (int c = 0; c < Columns; ++c) total[c] = lane[c];
}

/// means: the total of n doubles by the levels above the first. The values are overwritten.
inline double add_totals(double* value, std::int64_t n) {
  double lane[lanes];
  while (n > 1) {
    std::int64_t const chunks = chunks_of(n);
    for (std::int64_t c = 0; c < chunks; ++c) {
      std::int64_t const end = c == chunks - 1 ? n : (c + 1) * chunk;
      for (double& l : lane) l = 0;
      for (std::int64_t i = c * chunk; i < end; ++i) lane[i % lanes] += value[i];
      add_lanes<1>(lane, value + c);
    }
    n = chunks;
  }
  return value[0];
}

}  // namespace ordered_sum
}  // namespace locus::kernel
