// SPDX-License-Identifier: Apache-2.0
// Towers placed by hand: results of different types, a mean that integers do not have, and more
// tensors than one device list holds.
// expect-1: locus: tensors of a collective agree in element type and number of axes; write cast<T>(t) or reshape(t, ...)
// expect-2: locus: this reduction is not for these elements: all and any take bool, mean_prescaled floats, the others numbers; write cast<T>(t)
// expect-3: locus: a collective takes at most 8 tensors; use more processes for more
#include <locus/locus.hpp>
using namespace locus;

#if !defined(LOCUS_MUST_FAIL)
#define LOCUS_MUST_FAIL 0
#endif
template <class T, int N>
using tower = Tensor<T, Extents<4>, GpuDevice<N>>;

using other = std::conditional_t<LOCUS_MUST_FAIL == 1, double, float>;
void sums(tower<float, 0>& a, tower<other, 1>& b) { collective::all_reduce<collective::sum>(a, b); }
void means(tower<int, 0>& a, tower<int, 1>& b) {
  collective::all_reduce<LOCUS_MUST_FAIL == 2 ? collective::mean_prescaled
                                              : collective::mean_of_sums>(a, b);
}
void copies(tower<int, 0>& a, tower<int, 1>& b, tower<int, 2>& c, tower<int, 3>& d,
            tower<int, 4>& e, tower<int, 5>& f, tower<int, 6>& g, tower<int, 7>& h,
            [[maybe_unused]] tower<int, 8>& i) {
#if LOCUS_MUST_FAIL == 3
  collective::broadcast(a, b, c, d, e, f, g, h, i);
#else
  collective::broadcast(a, b, c, d, e, f, g, h);
#endif
}
