// SPDX-License-Identifier: Apache-2.0
// Elements of a tensor read where no host code may read, or with too few indices.
// expect-1: locus: an element of a tensor on a GPU, or of replicas, is not host memory; write fetch(t) and read that
// expect-2: locus: an element of a tensor on a GPU, or of replicas, is not host memory; write fetch(t) and read that
// expect-3: locus: an element needs one index for each axis; write t(i, j) of rank 2
#include <locus/locus.hpp>
using namespace locus;

Tensor<float, Extents<2, 2>, GpuDevice<0>> x;
Tensor<float, Extents<2, 2>, Mirrored<CpuDevice>> mirrored;
Tensor<float, Extents<2, 2>> on_host;
#if LOCUS_MUST_FAIL == 1
float misuse() { return x(0, 0); }
#elif LOCUS_MUST_FAIL == 2
float misuse() { return mirrored(0, 0); }
#elif LOCUS_MUST_FAIL == 3
float misuse() { return on_host(3); }
#else
float proper() { return fetch(x)(0, 0); }
#endif
