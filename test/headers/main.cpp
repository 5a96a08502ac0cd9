// SPDX-License-Identifier: Apache-2.0
// Units that hold every header are one program. A tensor at namespace scope is made before main, whatever
// device its type names.
#include <cstdio>

#include <locus/locus.hpp>

using namespace locus;

Tensor<float, Extents<3>, GpuDevice<0>> before_main{1, 2, 3};
Tensor<float, Extents<3>> const twice(2.f * before_main);
float const four = with_device(
    "/gpu:0", [](auto here) { return fetch(sum(eval(here(ones<float>(Extents<4>{}))))); });

int main() {
  float const total = fetch(sum(before_main)) + fetch(sum(twice)) + four;
  if (total != 22) std::printf("22 was expected, not %g\n", static_cast<double>(total));
  return total != 22;
}
