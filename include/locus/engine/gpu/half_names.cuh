// SPDX-License-Identifier: Apache-2.0
// <cuda_fp16.h> without the name ::half. CUB includes it in every unit, and after `using namespace
// locus` the name half must mean locus::half. A program that needs ::half includes <cuda_fp16.h>
// before locus.
#pragma once
#include <locus/core/compiler.hpp>  // C++20, 64 bits, exceptions

#if !defined(CUDA_NO_HALF)
#if !defined(__CUDA_FP16_H__)
#define CUDA_NO_HALF
#include <cuda_fp16.h>
#undef CUDA_NO_HALF
typedef __half nv_half;
typedef __half2 half2, nv_half2;
#endif
#endif
