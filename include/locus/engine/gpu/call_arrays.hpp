// SPDX-License-Identifier: Apache-2.0
// Calls that work on arrays element by element on GPUs: by vectors of 16 bytes, all arrays in one
// launch.
#pragma once
#include <locus/core/macros.hpp>        // LOCUS_LEAN_BEGIN
#include <locus/engine/gpu/block.hpp>   // block_threads
#include <locus/engine/gpu/launch.hpp>  // blocks_of

LOCUS_LEAN_BEGIN

namespace locus::cuda_side {
inline namespace LOCUS_MODE {

// The result of the operation's team() is trivially copyable, and has
//   static constexpr int arrays, vector     number of arrays; elements in 16 bytes
//   std::int64_t size(k)                    elements of array k
//   bool has_vectors(k)                     all memory of array k begins at multiples of 16 bytes
//   apply<Size>(k, i)                       elements [i, i + Size) of array k; Size is 1 or `vector`
template <class Team>
inline constexpr bool goes_over_arrays = requires { Team::arrays; };

/// Each thread handles one vector of an array; arrays follow each other in the order of blocks.
template <class Arrays>
struct vectors_of_arrays {
  static constexpr int vector = Arrays::vector;
  Arrays of;
  unsigned first[Arrays::arrays + 1]{};  // first block of each array; then their sum

  explicit vectors_of_arrays(Arrays const& all) : of(all) {
    for (int k = 0; k < Arrays::arrays; ++k) first[k + 1] = first[k] + blocks_for_array(k);
  }
  /// units: blocks of all arrays; an empty array has none
  unsigned blocks() const { return first[Arrays::arrays]; }

  LOCUS_EXEC_CHECK_DISABLE
  template <class Block>
  LOCUS_HOST_DEVICE void operator()(Block const& block) const {
    int k = 0;
    for (int next = 1; next < Arrays::arrays; ++next) k += block.number() >= first[next] ? 1 : 0;
    block.apart([&](unsigned t) {
      std::int64_t const n = of.size(k),
                         i = (std::int64_t(block.number() - first[k]) * block_threads + t) * vector;
      if (of.has_vectors(k) && i + vector <= n) return of.template apply<vector>(k, i);
      for (std::int64_t j = i; j < n && j < i + vector; ++j) of.template apply<1>(k, j);
    });
  }

 private:
  unsigned blocks_for_array(int k) const {
    std::int64_t const n = of.size(k);
    return n == 0 ? 0 : blocks_of(n, std::int64_t(block_threads) * vector);
  }
};

}  // namespace LOCUS_MODE
}  // namespace locus::cuda_side

LOCUS_LEAN_END
