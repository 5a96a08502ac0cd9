// SPDX-License-Identifier: Apache-2.0
// A unit for 32 bits.
// only: host
// flags-1: -m32
// expect: locus: addresses have 32 bits in this unit; compile for 64 bits, without -m32
#include <locus/locus.hpp>
