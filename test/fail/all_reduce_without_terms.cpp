// SPDX-License-Identifier: Apache-2.0
// all_reduce of a value that all replicas have already; TensorFlow returns it unchanged.
// expect-1: locus: all_reduce of a value that is equal on all replicas, or in pieces; reduce its elements first, as in all_reduce(sum(x))
// expect-2: locus: all_reduce of a value that is equal on all replicas, or in pieces; reduce its elements first, as in all_reduce(sum(x))
#include <locus/locus.hpp>
using namespace locus;

Tensor<float, Extents<4>, Mirrored<GpuDevice<0>, GpuDevice<1>>> mirrored;
Tensor<float, Extents<4>, Sharded<0, GpuDevice<0>, GpuDevice<1>>> rows;
#if LOCUS_MUST_FAIL == 1
auto misuse() { return eval(all_reduce(mirrored)); }
#elif LOCUS_MUST_FAIL == 2
auto misuse() { return eval(all_reduce(rows)); }
#else
auto proper() { return eval(all_reduce(sum(rows))); }
#endif
