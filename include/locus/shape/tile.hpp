// SPDX-License-Identifier: Apache-2.0
// The arguments of a call's kernel: dense pieces of its operands and results on one device.
#pragma once
#include <cstdint>      // int64_t
#include <type_traits>  // is_const

#include <locus/core/macros.hpp>  // LOCUS_HOST_DEVICE
#include <locus/shape/shape.hpp>  // shape, max_rank

namespace locus {

/// means: one replica's part of a value, in row order without gaps; data is null where no step
///        reads the result, or where it has no elements
template <class T>
struct tile {
  T* data = nullptr;
  int rank = 0;
  std::int64_t extent[max_rank]{};  // rank of them

  /// units: elements
  LOCUS_HOST_DEVICE constexpr std::int64_t size() const {
    std::int64_t n = 1;
    for (int a = 0; a < rank; ++a) n *= extent[a];
    return n;
  }
  LOCUS_HOST_DEVICE constexpr T& operator[](std::int64_t i) const { return data[i]; }
  constexpr shape extents() const {
    shape s;
    s.rank = rank;
    for (int a = 0; a < rank; ++a) s.extent[a] = extent[a];
    return s;
  }
  template <class Const>
    requires(std::is_same_v<Const, T const> && !std::is_const_v<T>)
  LOCUS_HOST_DEVICE constexpr operator tile<Const>() const {
    tile<Const> t{data, rank, {}};
    for (int a = 0; a < max_rank; ++a) t.extent[a] = extent[a];
    return t;
  }
};

/// means: the part of the batch that a kernel has; without sharding, that of replica 0 of 1
struct call_context {
  int replica = 0, replicas = 1;
  std::int64_t first_row = 0;  // of this piece, among those of the batch
  std::int64_t rows = 0;       // of the whole batch
};

}  // namespace locus
