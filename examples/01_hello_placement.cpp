// SPDX-License-Identifier: Apache-2.0
// Where things run: automatic and manual placement, an operation without a GPU kernel, a GPU that
// is not there, the plan as text and the placement log. It prints the same on every machine; what
// is missing here, and the log, go to stderr.
#include <iostream>
#include <locus/cuda.cuh>  // in a unit of a host compiler it is <locus/locus.hpp>

using namespace locus;

// [example: legacy]
struct Legacy {  // an operation of the program's own, with a kernel for the CPU alone
  LOCUS_OPERATION("legacy", on_cpu)
  float operator()(float v) const { return v > 2 ? v : -v; }
};
// [end]

int main() {
  // [example: hello]
  Tensor<float, Extents<2, 3>, CpuDevice> a{{1, 2, 3}, {4, 5, 6}};
  Tensor<float, Extents<3, 2>, CpuDevice> b{{1, 2}, {3, 4}, {5, 6}};

  auto product = matmul(a, b);  // (2, 2), an expression: nothing has run
  static_assert(device_of<decltype(product)> == "/GPU:0");
  static_assert(plan_of<decltype(product)>.copies() == 2);
  static_assert(plan_of<decltype(product)>.bytes_moved() == 48);

  auto c = eval(product);  // runs on GPU:0, or visibly on the host where there is none
  std::cout << c << "\n";
  // [end]
  // prints:
  // [[22. 28.]
  //  [49. 64.]]

  // [example: manual]
  auto here = eval(on<CpuDevice>(matmul(a, b)));
  auto there = eval(on<"/GPU:1">(a + on<CpuDevice>(a * 2.f)));  // the innermost request wins
  static_assert(decltype(here)::where == "/CPU:0" && decltype(there)::where == "/GPU:1");
  // [end]
  std::cout << here << "\n" << there << "\n";
  // prints:
  // [[22. 28.]
  //  [49. 64.]]
  // [[ 3.  6.  9.]
  //  [12. 15. 18.]]

  // [example: fallback]
  auto soft = on<GpuDevice<0>>(map(Legacy{}, a) * 2.f);  // legacy on /CPU:0, the product on /GPU:0
  static_assert(plan_of<decltype(soft)>.fallbacks() == 1);
  explain(std::cout, soft);
  why(std::cout, soft, "legacy");
  // on<GpuDevice<0>, strict>(map(Legacy{}, a)) does not compile:
  // "locus: 'legacy' has no GPU kernel and placement is strict; ..."
  // [end]
  std::cout << eval(soft) << "\n";
  // prints:
  // plan under prefer_gpu
  //   leaf #0 float[2,3] on /CPU:0
  //   launch on /CPU:0
  //     #1 = legacy(#0) float[2,3]; 'legacy' has no GPU kernel, asked for /GPU:0
  //   copy #1 from /CPU:0 to /GPU:0, 24 bytes
  //   launch on /GPU:0 by a kernel of locus
  //     #3 = multiply(#1, scalar) float[2,3]
  //   result #3 on /GPU:0
  //   2 launches, 1 copy (24 bytes), 0 all-reduces (0 bytes), 1 fallback
  // legacy (#1) runs on /CPU:0: it has no GPU kernel for its element types; /GPU:0 was asked for
  // [[-2. -4.  6.]
  //  [ 8. 10. 12.]]

  // A GPU that this machine does not have: soft placement goes on with what is there ...
  std::cout << eval(on<"/GPU:98">(a + a)) << "\n";
  // prints:
  // [[ 2.  4.  6.]
  //  [ 8. 10. 12.]]

  // ... and without it the first use is an error that says what is there.
  config::set_soft_device_placement(false);
  try {
    std::cout << eval(on<"/GPU:99">(a + a)) << "\n";
  } catch (unknown_device const& e) {
    std::cout << e.what() << "\n";
  }
  // prints: locus: there is no /GPU:99: <*> (present: /CPU:0<*>); 'add' (step 2) asks for it at <*>
  config::set_soft_device_placement(true);

  debugging::set_log_device_placement(true);  // kernels, copies, creations and fallbacks, on stderr
  std::cout << eval(relu(matmul(a, b) - 30.f)) << "\n";
  // prints:
  // [[ 0.  0.]
  //  [19. 34.]]
}
