// SPDX-License-Identifier: Apache-2.0
// The compiled run time of the core, a unit of the target locus::runtime.
#define LOCUS_IMPLEMENTATION 1
#include <locus/implementation.hpp>
