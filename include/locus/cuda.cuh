// SPDX-License-Identifier: Apache-2.0
// All of locus for a unit that nvcc compiles: adds GPU execution. With a host compiler it is
// <locus/locus.hpp>.
#pragma once
#include <locus/core/compiler.hpp>  // C++20, 64 bits, exceptions: asked before anything else

// LOCUS_GPU_ENGINE: cub (default), CUB's kernels where they suit; shared, the same, and plain folds of one
// tensor are those of the program's unit with LOCUS_INSTANTIATE_ALGORITHMS; own, kernels of locus alone
#if !defined(LOCUS_GPU_ENGINE)
#define LOCUS_GPU_ENGINE cub
#endif
#define LOCUS_GPU_ENGINE_own 1
#define LOCUS_GPU_ENGINE_cub 2
#define LOCUS_GPU_ENGINE_shared 3
#define LOCUS_GPU_ENGINE_NUMBER_(engine) LOCUS_GPU_ENGINE_##engine
#define LOCUS_GPU_ENGINE_NUMBER(engine) LOCUS_GPU_ENGINE_NUMBER_(engine)
#if LOCUS_GPU_ENGINE_NUMBER(LOCUS_GPU_ENGINE) == 0
#error "locus: LOCUS_GPU_ENGINE has a value it cannot have; write cub, shared or own"
#endif

#if defined(__CUDACC__)
#if defined(LOCUS_CUDA_KERNELS) && LOCUS_CUDA_KERNELS == 0
#error \
    "locus: <locus/cuda.cuh> comes too late in this unit; include it before any other header of locus"
#endif
#undef LOCUS_CUDA_KERNELS
#if LOCUS_GPU_ENGINE_NUMBER(LOCUS_GPU_ENGINE) == LOCUS_GPU_ENGINE_own
#define LOCUS_CUDA_KERNELS 1
#elif LOCUS_GPU_ENGINE_NUMBER(LOCUS_GPU_ENGINE) == LOCUS_GPU_ENGINE_cub
#define LOCUS_CUDA_KERNELS 2
#else
#define LOCUS_CUDA_KERNELS 3
#endif
#include <locus/backend/cuda/real_api.cuh>  // registers the GPUs of this machine
#endif

#include <locus/locus.hpp>  // the library
