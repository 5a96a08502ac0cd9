// SPDX-License-Identifier: Apache-2.0
// Which kernels a unit compiles for maps and folds: those of CUB where they serve, or only those of
// locus.
#pragma once
#include <locus/core/macros.hpp>  // LOCUS_CUDA_KERNELS, LOCUS_DEVICE_CODE

namespace locus::cuda_side {
inline namespace LOCUS_MODE {

/// LOCUS_GPU_ENGINE=cub or shared
inline constexpr bool has_cub_engine = LOCUS_CUDA_KERNELS >= 2;
/// LOCUS_MAKES_CUB: has_cub_engine, and nvcc compiles the unit, so that <cub/...> exists
#define LOCUS_MAKES_CUB (LOCUS_DEVICE_CODE && LOCUS_CUDA_KERNELS >= 2)

}  // namespace LOCUS_MODE
}  // namespace locus::cuda_side
