// SPDX-License-Identifier: Apache-2.0
// Small programs of locus that say whether their numbers are right: whichever call under them fails, each ends in
// an error and loses nothing.
#pragma once
#include <locus/locus.hpp>

namespace stories {

using namespace locus;
using G0 = GpuDevice<0>;
using G1 = GpuDevice<1>;
using Pair = Mirrored<G0, G1>;
using Rows = Sharded<0, G0, G1>;
using story = bool (*)();

inline bool creates() {
  Tensor<float, Extents<2, 3>, G0> a{{1, 2, 3}, {4, 5, 6}};
  Tensor<float, Extents<2, 3>, G0> b = a;
  Tensor<float, Extents<2, 3>, Rows> cut{{1, 2, 3}, {4, 5, 6}};
  b = {{6, 5, 4}, {3, 2, 1}};
  return fetch(sum(a)) == 21 && fetch(sum(b)) == 21 && fetch(sum(cut)) == 21;
}
inline bool copies() {
  Tensor<double, Extents<2, 3>> c{{1, 2, 3}, {4, 5, 6}};
  Tensor<double, Extents<2, 3>, G0> a{{1, 2, 3}, {4, 5, 6}};
  Tensor<double, Extents<3, 2>, G1> b{{1, 2}, {3, 4}, {5, 6}};
  auto const moved = to<CpuDevice>(transpose(a));
  auto const there = eval(on<G1>(a + transpose(b)) + c);
  return moved(2, 1) == 6 && fetch(sum(there)) == 63;
}
inline bool multiplies() {
  Tensor<float, Extents<2, 3>> a{{1, 2, 3}, {4, 5, 6}};
  Tensor<float, Extents<3, 2>> b{{1, 2}, {3, 4}, {5, 6}};
  auto const c = fetch(eval(matmul(a, b)));
  return c(0, 0) == 22 && c(0, 1) == 28 && c(1, 0) == 49 && c(1, 1) == 64;
}

}  // namespace stories
