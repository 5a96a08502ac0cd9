// SPDX-License-Identifier: Apache-2.0
// The unit of the host compiler: it makes no kernels for GPUs.
#define MIXED_UNIT host_unit
#include "mixed_unit.hpp"

namespace {
struct Local {
  static constexpr auto name = "local";
  static constexpr auto kernels = locus::on_both;
  float operator()(float v) const { return v * v * v * v; }
};
}  // namespace

namespace host_unit {
Grid cubed(Grid const& x, float add) {
  Grid y(int(x.extent(0)));
  y = map(Cube{add}, x);
  return y;
}
template <bool Instantiated>
float centred_of(Grid const& x) {
  Grid y(int(x.extent(0)));
  Tensor<float, Extents<dyn>, GpuDevice<0>> means(int(x.extent(0)));
  auto const [rows, mean] = call(Centred<Instantiated>{2.f}, x);
  run(plan(into(y, rows), into(means, mean)));
  return fetch(y)(0, 0) + fetch(means)(1);
}
float centred(Grid const& x, bool instantiated) {
  return instantiated ? centred_of<true>(x) : centred_of<false>(x);
}
Grid fourth(Grid const& x) {
  Grid y(int(x.extent(0)));
  y = map(Fourth{}, x);
  return y;
}
void fourth_in_place(Grid& x) { x = map(Fourth{}, x); }
void fourth_of_middle(Grid& x) {
  run(into(slice(x, range{}, range{1, 2}), map(Fourth{}, slice(x, range{}, range{1, 2}))));
}
float scaled_fourth_sum(Grid const& x, float by) { return fetch(sum(by * map(Fourth{}, x))); }
Grid fourth_of_local_functor(Grid const& x) {
  Grid y(int(x.extent(0)));
  y = map(Local{}, x);
  return y;
}
}  // namespace host_unit
