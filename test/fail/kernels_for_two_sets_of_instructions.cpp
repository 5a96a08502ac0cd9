// SPDX-License-Identifier: Apache-2.0
// A number of sets of instructions that there is not.
// flags-1: -DLOCUS_TARGETS=2
// expect: locus: LOCUS_TARGETS has a value it cannot have; write 3 (kernels for AVX2 and AVX-512 too) or 1 (for the unit's own instructions)
#include <locus/locus.hpp>
