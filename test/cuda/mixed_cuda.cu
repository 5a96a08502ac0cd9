// SPDX-License-Identifier: Apache-2.0
// The unit of nvcc: it makes kernels, and registers the GPUs of this machine.
#include <locus/cuda.cuh>
#define MIXED_UNIT cuda_unit
#include "mixed_unit.hpp"
