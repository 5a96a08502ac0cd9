// SPDX-License-Identifier: Apache-2.0
// The order in which top_k takes elements, and lists of the best that replicas have found.
#pragma once
#include <cstdint>  // int64_t

#include <locus/core/macros.hpp>           // LOCUS_HOST_DEVICE
#include <locus/engine/gpu/key_order.hpp>  // key_order

namespace locus::algorithms {

/// means: an unsigned number that is larger for what comes first: NaN, then large elements, or
///        small ones; equal for -0.0 and 0.0
template <bool Smallest, class T>
LOCUS_HOST_DEVICE constexpr cuda_side::key_bits<T> merit_of(T x) {
  using bits = cuda_side::key_bits<T>;
  constexpr auto all = static_cast<bits>(-1);
  if constexpr (is_floating_v<T>) {
    if (x != x) return all;
    if (x == T(0)) x = T(0);  // -0.0, too
  }
  bits const b = cuda_side::key_order<T>::of(x);
  return Smallest ? static_cast<bits>(all ^ b) : b;
}

/// Where the first elements of each line go in a result (outer, rows, inner).
struct top_rows {
  std::int64_t rows;       // of the result
  std::int64_t first = 0;  // the row of the first of them; other rows are 0
  std::int64_t base = 0;   // what is added to places
};

/// Line i of (outer, inner), merged from lists of k elements: an element with place 0 is none.
template <bool Smallest, class T>
struct merge_of_lists {
  std::int64_t k, lists, inner;
  T const* values;             // (outer, lists * k, inner)
  std::int64_t const* places;  // one more than in the whole line
  T* r;                        // (outer, k, inner), or null
  std::int64_t* r_places;      // the same
  std::int64_t* all_taken;     // memory: (outer, inner, lists)

  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    std::int64_t const o = i / inner, c = i % inner;
    std::int64_t* const taken = all_taken + i * lists;
    for (std::int64_t d = 0; d < lists; ++d) taken[d] = 0;
    for (std::int64_t j = 0; j < k; ++j) {
      std::int64_t best = -1;
      std::int64_t best_at = 0;
      cuda_side::key_bits<T> merit = 0;
      for (std::int64_t d = 0; d < lists; ++d) {
        std::int64_t const at = ((o * lists + d) * k + taken[d]) * inner + c;
        if (taken[d] == k || places[at] == 0) continue;
        auto const own = merit_of<Smallest>(values[at]);
        if (best < 0 || own > merit) best = d, best_at = at, merit = own;
      }
      if (best < 0) return;
      ++taken[best];
      std::int64_t const to = (o * k + j) * inner + c;
      if (r) r[to] = values[best_at];
      if (r_places) r_places[to] = places[best_at] - 1;
    }
  }
};

}  // namespace locus::algorithms
