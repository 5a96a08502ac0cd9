// SPDX-License-Identifier: Apache-2.0
// LOCUS_REQUIRE_CUDA in a unit that makes no kernels.
// expect: locus: LOCUS_REQUIRE_CUDA is set and this unit makes no kernels; compile it with nvcc and <locus/cuda.cuh>
#ifdef LOCUS_MUST_FAIL
#define LOCUS_REQUIRE_CUDA
#endif
#include <locus/locus.hpp>
using namespace locus;

Tensor<float, Extents<4>> x;
