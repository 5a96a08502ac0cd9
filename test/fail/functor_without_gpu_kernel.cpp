// SPDX-License-Identifier: Apache-2.0
// strict placement of a functor that has no GPU kernel.
// expect-1: locus: 'legacy' has no GPU kernel and placement is strict; drop strict, or place it with on<CpuDevice>
// expect-2: locus: an operation has no GPU kernel and placement is strict; drop strict, or give its functor kernels = on_both, an operation that is called element()
// expect-3: locus: 'matmul' has no GPU kernel and placement is strict; drop strict, or place it with on<CpuDevice>
// expect-4: locus: an operation has no kernel on any device; say kernels = on_cpu or on_both in its functor
// expect-5: locus: 'gpu_op' has no CPU kernel and placement is strict; drop strict, or place it with on<GpuDevice<0>>
// expect-6: locus: an operation has no CPU kernel and placement is strict; drop strict, or give its functor kernels = on_both
#include <locus/locus.hpp>
using namespace locus;

struct Legacy {
  LOCUS_OPERATION("legacy", on_cpu)
  float operator()(float v) const { return v; }
};
struct Nameless {
  float operator()(float v) const { return v; }
};
struct GpuOp {
  LOCUS_OPERATION("gpu_op", on_gpu)
  float operator()(float v) const { return v; }
};
struct NamelessOnGpu {
  static constexpr auto kernels = on_gpu;
  float operator()(float v) const { return v; }
};
struct Nowhere {
  static constexpr auto kernels = kernels_on{};
  float operator()(float v) const { return v; }
};
Tensor<float, Extents<4>> x;
Tensor<int, Extents<2, 2>> i;
#if LOCUS_MUST_FAIL == 1
auto misuse() { return eval(on<GpuDevice<0>, strict>(map(Legacy{}, x))); }
#elif LOCUS_MUST_FAIL == 2
auto misuse() { return eval(on<GpuDevice<0>, strict>(2.f * map(Nameless{}, x))); }
#elif LOCUS_MUST_FAIL == 3
auto misuse() { return eval(on<"/GPU:0", strict>(matmul(i, i))); }
#elif LOCUS_MUST_FAIL == 4
auto misuse() { return eval(map(Nowhere{}, x)); }
#elif LOCUS_MUST_FAIL == 5
auto misuse() { return eval(on<CpuDevice, strict>(map(GpuOp{}, x))); }
#elif LOCUS_MUST_FAIL == 6
auto misuse() { return eval(on<CpuDevice, strict>(map(NamelessOnGpu{}, x))); }
#else
auto proper_on_gpu() { return eval(on<GpuDevice<0>, strict>(map(GpuOp{}, x))); }
auto proper() { return eval(on<GpuDevice<0>>(map(Legacy{}, x))); }
#endif
