// SPDX-License-Identifier: Apache-2.0
// Units that hold every header are one program. A tensor at namespace scope is made before main, whatever
// device its type names.
#include <cstdio>

#include <locus/locus.hpp>

using namespace locus;

Tensor<float, Extents<3>, GpuDevice<0>> before_main{1, 2, 3};
Tensor<float, Extents<3>> const twice(2.f * before_main);

int main() {
  float const total = fetch(sum(before_main)) + fetch(sum(twice));
  if (total != 18) std::printf("18 was expected, not %g\n", static_cast<double>(total));
  return total != 18;
}
