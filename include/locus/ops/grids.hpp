// SPDX-License-Identifier: Apache-2.0
// Generators that are made of other generators: eye, linspace. A program includes this header by
// name; <locus/locus.hpp> does not.
#pragma once
#include <locus/core/macros.hpp>     // LOCUS_MODE
#include <locus/ops/arithmetic.hpp>  // ==
#include <locus/ops/generators.hpp>  // iota
#include <locus/ops/math.hpp>        // cast, where
#include <locus/ops/views.hpp>       // expand_dims

namespace locus {
inline namespace LOCUS_MODE {

/// means: r[i, j] = j - i == diagonal ? 1 : 0
/// shape: the extents given: eye<float>(Extents<3, 4>{}), eye<float>(dextents<2>{n, n}, 1)
/// cost:  no memory: computed by its reader, as zeros
/// after: NumPy's eye
template <class T, std::int64_t N, std::int64_t M>
constexpr auto eye(Extents<N, M> extents, std::int64_t diagonal = 0) {
  shape const s = extents.as_shape();
  auto const i = iota<std::int64_t>(Extents<N>(shape{1, {s.extent[0]}}), diagonal);
  auto const j = iota<std::int64_t>(Extents<M>(shape{1, {s.extent[1]}}));
  return cast<T>(expand_dims<1>(i) == j);
}
/// means: eye<T>(Extents<N, N>{})
template <std::int64_t N, class T = float>
constexpr auto eye() {
  return eye<T>(Extents<N, N>{});
}

/// means: r[i] = first + i (last - first) / (n - 1): n numbers at equal distances, the last one
///        exactly `last`; one number is `first`. All of it in double, rounded to T once
/// shape: the extents given: linspace<float>(dextents<1>{n}, 0, 1)
/// cost:  no memory: computed by its reader, as iota
/// fails: at compile time, for integers
/// after: NumPy's linspace
template <class T, std::int64_t N>
constexpr auto linspace(Extents<N> extents, double first, double last) {
  static_assert(is_floating_v<T>,
                "locus: linspace makes floats; write iota<int>(extents, first, by) for integers");
  std::int64_t const steps = extents.as_shape().extent[0] - 1;
  double const by = steps > 0 ? (last - first) / double(steps) : 0, end = steps > 0 ? last : first;
  return cast<T>(
      where(iota<std::int64_t>(extents) == steps, end, iota<double>(extents, first, by)));
}
/// means: linspace<T>(Extents<N>{}, first, last)
template <class T, std::int64_t N>
constexpr auto linspace(double first, double last) {
  return linspace<T>(Extents<N>{}, first, last);
}

}  // namespace LOCUS_MODE
}  // namespace locus
