// SPDX-License-Identifier: Apache-2.0
// The unit of nvcc: it makes kernels, and registers the GPUs of this machine. (Where there is no
// nvcc a host compiler takes it, with LOCUS_CUDA_KERNELS set to 1, for the recorder.)
#include <locus/cuda.cuh>
#define MIXED_UNIT cuda_unit
#include "mixed_unit.hpp"

LOCUS_INSTANTIATE(decltype(into(std::declval<Grid&>(), std::declval<CubeOfGrid>())));
LOCUS_INSTANTIATE(decltype(locus::result<0>(std::declval<CentredGrid>())));
