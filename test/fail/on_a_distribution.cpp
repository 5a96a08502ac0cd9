// SPDX-License-Identifier: Apache-2.0
// on<> of replicas, or of what is no device at all.
// expect-1: locus: on<> names a single device; write to<Mirrored<...>>(x) to distribute a value
// expect-2: locus: on<> names a device; write on<GpuDevice<0>>(e) or on<"/GPU:0">(e)
#include <locus/locus.hpp>
using namespace locus;

Tensor<float, Extents<4>> x;
#if LOCUS_MUST_FAIL == 1
auto misuse() { return on<Mirrored<GpuDevice<0>, GpuDevice<1>>>(x + x); }
#elif LOCUS_MUST_FAIL == 2
auto misuse() { return on<int>(x + x); }
#else
auto proper() { return to<Mirrored<GpuDevice<0>, GpuDevice<1>>>(x + x); }
#endif
