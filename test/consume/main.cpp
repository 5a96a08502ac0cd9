// SPDX-License-Identifier: Apache-2.0
// A program of somebody else: it includes locus, its own build knows nothing more about it.
#include <iostream>
#include <locus/cuda.cuh>

using namespace locus;

int main() {
  Tensor<float, Extents<2, 3>> a{{1, 2, 3}, {4, 5, 6}};
  Tensor<float, Extents<3, 2>> b{{1, 2}, {3, 4}, {5, 6}};
  auto product = matmul(a, b);
  static_assert(device_of<decltype(product)> == "/GPU:0");
  auto c = eval(product);
  std::cout << fetch(sum(c)) << '\n';  // prints: 163
}
