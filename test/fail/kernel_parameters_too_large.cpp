// SPDX-License-Identifier: Apache-2.0
// Functors that no kernel can take: too large, or owners of memory.
// expect-1: locus: a kernel has more than 32,764 bytes of parameters; evaluate a part with eval(e)
// expect-2: locus: a functor that runs on GPUs is copied as bytes; capture values, not owners of memory
#define LOCUS_CUDA_KERNELS 1
#include <locus/locus.hpp>
#include <locus/testing/recorder.hpp>
using namespace locus;

template <int Bytes>
struct Table {
  static constexpr auto kernels = on_both;
  char entries[Bytes];
  LOCUS_HOST_DEVICE float operator()(float v) const { return v + float(entries[0]); }
};
struct Owner {
  static constexpr auto kernels = on_both;
  Owner() {}
  Owner(Owner const& o) : memory(o.memory) {}
  int* memory = nullptr;
  LOCUS_HOST_DEVICE float operator()(float v) const { return v; }
};
Tensor<float, Extents<4>> x;
#if LOCUS_MUST_FAIL == 1
auto misuse() { return eval(map(Table<40000>{}, x)); }
#elif LOCUS_MUST_FAIL == 2
auto misuse() { return eval(map(Owner{}, x)); }
#else
auto proper() { return eval(map(Table<64>{}, x)); }
#endif
