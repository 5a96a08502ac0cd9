// SPDX-License-Identifier: Apache-2.0
// take on a GPU: a thread copies a vector of a row.
#pragma once
#include <locus/core/macros.hpp>              // LOCUS_HOST_DEVICE, LOCUS_MODE
#include <locus/engine/gpu/card_context.hpp>  // card_context
#include <locus/engine/gpu/lines.hpp>         // quotient
#include <locus/engine/gpu/vectors.hpp>       // vector_of, are_vectors
#include <locus/shape/element.hpp>            // is_floating_v

namespace locus::algorithms::cards {
inline namespace LOCUS_MODE {

/// Vector k of the result (outer, n, wide): a row of x; zeros for a row of another
/// replica; NaN, or 0, for a wrong index.
template <class T, class Index, int Size>
struct taken_rows {
  using vector = cuda_side::vector_of<T, Size>;
  cuda_side::quotient wide, n;
  std::int64_t all, first, own;  // rows
  T const* x;
  Index const* i;
  T* r;
  LOCUS_HOST_DEVICE void operator()(std::int64_t k) const {
    std::int64_t c = k;
    std::int64_t j = wide.divide(c);
    std::int64_t const o = n.divide(j);
    auto const index = static_cast<std::int64_t>(i[j]);
    std::int64_t const row = index - first;
    vector v;
    if (row >= 0 && row < own)
      v = reinterpret_cast<vector const*>(x)[(o * own + row) * wide.wide + c];
    else
      for (int e = 0; e < Size; ++e) v.element[e] = index >= 0 && index < all ? T(0) : no_row();
    reinterpret_cast<vector*>(r)[k] = v;
  }
  LOCUS_HOST_DEVICE static T no_row() {
    if constexpr (is_floating_v<T>)
      return T(__builtin_nanf(""));
    else
      return T(0);
  }
};

/// means: r[o, j, c] = x[o, i[j] - first, c]; 0 where another piece has row i[j]; NaN, or 0, where
///        none has
/// shape: x (outer, own, inner), i (n), r (outer, n, inner)
template <class T, class Index>
void take_rows(card_context& here, T const* x, Index const* i, T* r, std::int64_t outer,
               std::int64_t n, std::int64_t inner, std::int64_t all, std::int64_t first,
               std::int64_t own) {
  if (outer * n * inner == 0) return;
  auto const in_vectors = [&]<int Size>(std::integral_constant<int, Size>) {
    std::int64_t const wide = inner / Size, vectors = outer * n * wide;
    here.each(vectors, taken_rows<T, Index, Size>{
                           {wide, vectors}, {n, outer * n}, all, first, own, x, i, r});
  };
  cuda_side::are_vectors(inner, x, static_cast<T const*>(r))
      ? in_vectors(std::integral_constant<int, cuda_side::vector_elements<T>>{})
      : in_vectors(std::integral_constant<int, 1>{});
}

}  // namespace LOCUS_MODE
}  // namespace locus::algorithms::cards
