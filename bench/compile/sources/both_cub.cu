// SPDX-License-Identifier: Apache-2.0
// A map and a sum in one unit.
#include "elementwise_cub.cu"
//
#include "reduction_cub.cu"
