// SPDX-License-Identifier: Apache-2.0
// Sums of complex numbers on packets.
#if !defined(LOCUS_CLONE) && !defined(LOCUS_ENGINE_HOST_COMPLEX_FOLD)
#define LOCUS_ENGINE_HOST_COMPLEX_FOLD
#include <locus/engine/host/complex_forms.hpp>  // packets of complex numbers
#include <locus/engine/host/packet_fold.hpp>    // packet_fold, wide_lanes

#define LOCUS_CLONED <locus/engine/host/complex_fold.hpp>
#include <locus/simd/clones.hpp>  // reads this file once for each set of instructions
#elif defined(LOCUS_CLONE)
LOCUS_VECTORS_BEGIN
namespace LOCUS_SPACE(host) {

/// sums of complex numbers: their parts alternate in lanes of doubles, as in memory
template <class T, class V>
struct packet_fold<kernel::reducer<reduction::sum, complex<T>>, V> {
  static constexpr int N = V::lanes;
  using parts = packet_fold<kernel::reducer<reduction::sum, T>, packet<T, N>>;
  using wide_lane = complex<double>;
  using lanes = detail::wide_lanes<double, 2 * N>;
  using wide = lanes;
  static constexpr bool in_pairs = false;
  LOCUS_VECTOR_FUNCTION static lanes start() { return {}; }
  LOCUS_VECTOR_FUNCTION static lanes add(lanes a, V v) {
    a.add(simd::alternating(v));
    return a;
  }
  LOCUS_VECTOR_FUNCTION static lanes join(lanes a, lanes const& b) {
    for (int k = 0; k < lanes::parts; ++k) a.of[k] = simd::add(a.of[k], b.of[k]);
    return a;
  }
  LOCUS_VECTOR_FUNCTION static wide no_wide() { return {}; }
  LOCUS_VECTOR_FUNCTION static wide flush(wide w, lanes a) { return join(w, a); }
  template <int Lanes>
  LOCUS_VECTOR_FUNCTION static wide_lane of_lanes(packet<double, Lanes> x) {
    if constexpr (Lanes == 2)
      return {x.v[0], x.v[1]};
    else
      return of_lanes(simd::add(detail::half_of<0>(x), detail::half_of<Lanes / 2>(x)));
  }
  LOCUS_VECTOR_FUNCTION static wide_lane total(wide const& w) {
    if constexpr (lanes::parts == 1)
      return of_lanes(w.of[0]);
    else
      return of_lanes(simd::add(w.of[0], w.of[1]));
  }
  LOCUS_VECTOR_FUNCTION static wide_lane of_lane(wide_lane x) { return x; }
  LOCUS_VECTOR_FUNCTION static V without(int first, V v) {
    return V{parts::without(first, v.re), parts::without(first, v.im)};
  }
};

}  // namespace LOCUS_SPACE(host)
LOCUS_VECTORS_END
#endif
