// SPDX-License-Identifier: Apache-2.0
// A little of everything, for check_modes.py: what of it do units of different modes share?
#include <locus/locus.hpp>

using namespace locus;
using X = Tensor<float, Extents<dyn>, GpuDevice<0>>;
using M = Tensor<float, Extents<3, 3>, CpuDevice>;
using Pair = Mirrored<GpuDevice<0>, GpuDevice<1>>;

float everything(X& x, X& y, M& m, Tensor<float, Extents<>, Pair>& s) {
  y = 2.f * x + y;
  no_alias(y) = x * 2.f;
  auto const r = to<Sharded<0, GpuDevice<0>, GpuDevice<1>>>(x);
  run(into(s, sum(r * r)));
  m(0, 0) = 1;
  let(matmul(m, transpose(m)), [&](auto h) { m = h + h; });
  run(into(slice(m, range{}, range{0, 1}), slice(m, range{}, range{1, 2})));
  Tensor<float, Extents<6, 3>> both;
  both = concatenate<0>(m, m);
  return fetch(mean(exp(x))) + m(0, 1);
}
