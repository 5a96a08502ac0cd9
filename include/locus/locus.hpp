// SPDX-License-Identifier: Apache-2.0
// All of locus for a host compiler. In a unit of nvcc include <locus/cuda.cuh> instead.
#pragma once
#if defined(LOCUS_REQUIRE_CUDA) && !(defined(LOCUS_CUDA_KERNELS) && LOCUS_CUDA_KERNELS)
#error \
    "locus: LOCUS_REQUIRE_CUDA is set and this unit makes no kernels; compile it with nvcc and <locus/cuda.cuh>"
#endif
#include <locus/core/version.hpp>
#include <locus/data/distribute.hpp>
#include <locus/expr/let.hpp>
#include <locus/ops/all_reduce.hpp>
#include <locus/ops/arithmetic.hpp>
#include <locus/ops/concatenate.hpp>
#include <locus/ops/generators.hpp>
#include <locus/ops/math.hpp>
#include <locus/ops/matmul.hpp>
#include <locus/ops/on.hpp>
#include <locus/ops/one_hot.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/ops/softmax.hpp>
#include <locus/ops/views.hpp>
#include <locus/plan/plan.hpp>
#include <locus/plan/types.hpp>
#include <locus/runtime/config.hpp>
#include <locus/tensor/assign.hpp>
#include <locus/tensor/compare.hpp>

#include <locus/tensor/eval.hpp>
#include <locus/tensor/explain.hpp>
#include <locus/tensor/print.hpp>
#include <locus/tensor/tensor.hpp>
#include <locus/tensor/view.hpp>
