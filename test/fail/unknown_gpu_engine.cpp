// SPDX-License-Identifier: Apache-2.0
// LOCUS_GPU_ENGINE with a name that is none.
// expect: locus: LOCUS_GPU_ENGINE has a value it cannot have; write cub, shared or own
#ifdef LOCUS_MUST_FAIL
#define LOCUS_GPU_ENGINE thrust
#else
#define LOCUS_GPU_ENGINE own
#endif
#include <locus/cuda.cuh>
