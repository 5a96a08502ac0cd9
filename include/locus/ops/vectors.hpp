// SPDX-License-Identifier: Apache-2.0
// Products and norms of vectors: dot, outer, norm. A program includes this header by name;
// <locus/locus.hpp> does not.
#pragma once
#include <utility>  // forward

#include <locus/core/macros.hpp>     // LOCUS_MODE
#include <locus/ops/arithmetic.hpp>  // *
#include <locus/ops/math.hpp>        // square, sqrt
#include <locus/ops/reduce.hpp>      // sum
#include <locus/ops/views.hpp>       // expand_dims

namespace locus {
inline namespace LOCUS_MODE {

/// means: r = sqrt(sum of |x|^2) over all axes, or over Axes; norm<1>(x, keep_dims)
/// cost:  one pass, as sum
/// fails: at compile time, for integers, and for an axis outside the rank
/// units: squares are computed in the element type, and may overflow where the norm would not; the
///        derivative at 0 is NaN
template <int... Axes, tensor_operand X, class... Keep>
constexpr auto norm(X&& x, Keep... keep) {
  if constexpr (is_complex_v<element_of_t<X>>)
    return sqrt(sum<Axes...>(abs2(std::forward<X>(x)), keep...));
  else
    return sqrt(sum<Axes...>(square(std::forward<X>(x)), keep...));
}

/// means: r = the sum of x[i] y[i]; of complex numbers, too: dot(conj(x), y) is their inner product
/// shape: x and y have one axis each; the result has none. As in x * y one element stretches, if the
///        extent is open
/// cost:  one pass; on replicas pieces of both give a partial sum
/// fails: at compile time, for operands of another rank, and for static extents that differ
/// units: int64 for integers, whose products are of the element type, as those of x * y
template <tensor_operand X, tensor_operand Y>
constexpr auto dot(X&& x, Y&& y) {
  constexpr shape a = expression_of_t<X>::pattern, b = expression_of_t<Y>::pattern;
  constexpr bool vectors = a.rank == 1 && b.rank == 1;
  static_assert(vectors, "locus: dot multiplies two vectors; write matmul(a, b) for matrices, or "
                         "sum<-1>(a * b) for rows");
  if constexpr (vectors) {
    constexpr bool alike = a.extent[0] == b.extent[0] || a.extent[0] == dyn || b.extent[0] == dyn;
    static_assert(alike, "locus: dot multiplies vectors of one length; write sum(x) * y for one "
                         "element y");
    if constexpr (alike) return sum(std::forward<X>(x) * std::forward<Y>(y));
  }
}

/// means: r[i, j] = x[i] y[j]
/// shape: x and y have one axis each, the result two
/// device: x in pieces and y whole: rows in pieces
/// cost:  fused with its reader, as the product of two expand_dims
/// fails: at compile time, for operands of another rank
template <tensor_operand X, tensor_operand Y>
constexpr auto outer(X&& x, Y&& y) {
  constexpr bool vectors =
      expression_of_t<X>::pattern.rank == 1 && expression_of_t<Y>::pattern.rank == 1;
  static_assert(vectors, "locus: outer multiplies two vectors; write expand_dims<-1>(x) * y for "
                         "arrays of more axes");
  if constexpr (vectors)
    return expand_dims<1>(std::forward<X>(x)) * expand_dims<0>(std::forward<Y>(y));
}

}  // namespace LOCUS_MODE
}  // namespace locus
