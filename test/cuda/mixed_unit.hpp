// SPDX-License-Identifier: Apache-2.0
// The bodies of one unit's functions; the including file says in which namespace.
#include "mixed.hpp"

namespace MIXED_UNIT {
using namespace locus;

Grid make_grid(int rows, float first) {
  Grid x(rows);
  x = iota<float>(x.extents(), first);
  return x;
}
Grid scaled(Grid const& x, float by) {
  Grid y(int(x.extent(0)));
  y = by * x + 0.5f;
  return y;
}
float total(Grid const& x) { return fetch(sum(x * x)); }
void average(Copies& mirrored, Grid const& x) {
  auto rows = to<Sharded<0, GpuDevice<0>, GpuDevice<1>>>(x);
  run(into(mirrored, mirrored * 0.f + sum(rows)));
}
Tensor<float, Extents<3, 3>> gram(Grid const& x) { return fetch(matmul(transpose(x), x)); }
Tensor<float, Extents<3, dyn>> turned(Grid const& x) { return to<CpuDevice>(transpose(x)); }
void misuse() {
  Grid x(2);
  Grid y(std::move(x));
  total(x);
}
void const* table_of_devices() { return &runtime::table; }
}  // namespace MIXED_UNIT
