// SPDX-License-Identifier: Apache-2.0
// Manual towers: one matmul on each GPU, their sum on the CPU, in one plan.
#include <iostream>
#include <locus/cuda.cuh>

using namespace locus;

// [example: towers]
template <single_device... Gpus, class A, class B>
auto towers(A const& a, B const& b) {
  return on<CpuDevice>(add_n(on<Gpus>(matmul(a, b))...));
}
// [end]

int main() {
  // [example: use]
  Tensor<float, Extents<2, 3>> a{{1, 2, 3}, {4, 5, 6}};
  Tensor<float, Extents<3, 2>> b{{1, 2}, {3, 4}, {5, 6}};

  auto sum = towers<GpuDevice<0>, GpuDevice<1>>(a, b);
  static_assert(device_of<decltype(sum)> == "/CPU:0");
  static_assert(plan_of<decltype(sum)>.launches() == 3);  // two towers, one sum
  static_assert(plan_of<decltype(sum)>.copies() == 6);    // a and b to each GPU, two products back
  explain(std::cout, sum);
  std::cout << eval(sum) << "\n";
  // [end]
  // prints:
  // plan under prefer_gpu
  //   leaf #0 float[2,3] on /CPU:0
  //   leaf #1 float[3,2] on /CPU:0
  //   leaf #3 float[2,3] on /CPU:0
  //   leaf #4 float[3,2] on /CPU:0
  //   copy #0 from /CPU:0 to /GPU:0, 24 bytes
  //   copy #1 from /CPU:0 to /GPU:0, 24 bytes
  //   copy #3 from /CPU:0 to /GPU:1, 24 bytes
  //   copy #4 from /CPU:0 to /GPU:1, 24 bytes
  //   launch on /GPU:0 by cuBLAS
  //     #2 = matmul(#0, #1) float[2,2]
  //   copy #2 from /GPU:0 to /CPU:0, 16 bytes
  //   launch on /GPU:1 by cuBLAS
  //     #5 = matmul(#3, #4) float[2,2]
  //   copy #5 from /GPU:1 to /CPU:0, 16 bytes
  //   launch on /CPU:0
  //     #6 = add_n(#2, #5) float[2,2]
  //   result #6 on /CPU:0
  //   3 launches, 6 copies (128 bytes), 0 all-reduces (0 bytes), 0 fallbacks
  // [[ 44.  56.]
  //  [ 98. 128.]]

  // Four towers on real sizes: the same as one product times four.
  Tensor<double, Extents<300, 200>> x(uniform<double>(Extents<300, 200>{}, seed{1}));
  Tensor<double, Extents<200, 100>> y(uniform<double>(Extents<200, 100>{}, seed{2}));
  auto four = towers<GpuDevice<0>, GpuDevice<1>, GpuDevice<2>, GpuDevice<3>>(x, y);
  bool const close = all_close(eval(four), eval(on<CpuDevice>(4. * matmul(x, y))), 1e-12);
  std::cout << "four towers agree with one CPU: " << (close ? "yes" : "NO") << "\n";
  // prints: four towers agree with one CPU: yes
}
