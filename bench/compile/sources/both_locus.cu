// SPDX-License-Identifier: Apache-2.0
// A map and a sum in one unit.
#include "elementwise_locus.cu"
//
#include "reduction_locus.cu"
