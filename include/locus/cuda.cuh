// SPDX-License-Identifier: Apache-2.0
// All of locus for a unit that nvcc compiles: adds GPU execution. With a host compiler it is
// <locus/locus.hpp>.
#pragma once
#include <locus/core/compiler.hpp>  // C++20, 64 bits, exceptions: asked before anything else

#if defined(__CUDACC__)
#if defined(LOCUS_CUDA_KERNELS) && LOCUS_CUDA_KERNELS == 0
#error \
    "locus: <locus/cuda.cuh> comes too late in this unit; include it before any other header of locus"
#endif
#undef LOCUS_CUDA_KERNELS
#define LOCUS_CUDA_KERNELS 1
#include <locus/backend/cuda/real_api.cuh>  // registers the GPUs of this machine
#endif

#include <locus/locus.hpp>  // the library
