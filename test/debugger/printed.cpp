// SPDX-License-Identifier: Apache-2.0
// Values that a debugger shows: check_debugger.py stops at the line that says so, and asks for each name below.
//     t: float[2,3] on /CPU:0 {1, 2, 3, 4, 5, 6}
//     few: double[2,2] on /CPU:0 {0.5, -1, 0, 2}
//     gone: float[dyn], moved from
//     empty: int[0,3] on /CPU:0 {}
//     halves: half[3] on /CPU:0 {0.5, -2, 65504}
//     coarse: bfloat16[2] on /CPU:0 {1, -3}
//     column: view of float[2] on /CPU:0 {2, 5}
//     many: int[300] on /CPU:0 {0, 1, 2, 3...}
//     there: float[2,3] on /GPU:0
//     shape: [2,3]
//     open: [4,0]
//     e: exp(add(multiply(float[2,3], scalar), float[2,3]))
//     s: sum(float[2,3])
#include <locus/locus.hpp>

using namespace locus;

int main() {
  Tensor<float, Extents<2, 3>> t{{1, 2, 3}, {4, 5, 6}};
  Tensor<double, Dextents<2>> few{{0.5, -1}, {0, 2}};
  Tensor<float, Dextents<1>> gone(3), taken = std::move(gone);
  Tensor<int, Extents<dyn, 3>> empty;
  Tensor<half, Extents<3>> halves{half(0.5f), half(-2.f), half(65504.f)};
  Tensor<bfloat16, Extents<2>> coarse{bfloat16(1.f), bfloat16(-3.f)};
  layout_stride every_third;
  every_third.stride[0] = 3;
  [[maybe_unused]] auto column = view<CpuDevice>(t.data() + 1, dextents<1>(2), every_third);
  Tensor<int, Extents<300>> many(iota<int>(Extents<300>{}));
  Tensor<float, Extents<2, 3>, GpuDevice<0>> there(t);
  [[maybe_unused]] auto shape = t.extents();
  [[maybe_unused]] auto open = dextents<2>(4, 0);
  auto e = exp(t * 2.f + t);
  auto s = sum(t);
  int found = taken.size() == 3;         // stop here
  auto const sum_of_exp = sum(e) * 2.f;  // two steps further: nothing of this line is stepped into
  found += fetch(s) == 21 && sizeof(sum_of_exp) > 0;
  return found == 2 && few.size() == 4 ? 0 : 1;
}
