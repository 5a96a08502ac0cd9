// SPDX-License-Identifier: Apache-2.0
// The unit of the host compiler: it makes no kernels for GPUs.
#define MIXED_UNIT host_unit
#include "mixed_unit.hpp"
