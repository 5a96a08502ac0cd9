// SPDX-License-Identifier: Apache-2.0
// The compiled run time of layers, data and strategies, a unit of the target locus::runtime. Link with -lz.
#define LOCUS_IMPLEMENTATION 2
#include <locus/nn/implementation.hpp>
