// SPDX-License-Identifier: Apache-2.0
// The one unit of a program that has the bodies which units with LOCUS_COMPILED leave out.
#define LOCUS_IMPLEMENTATION
#include <locus/nn/implementation.hpp>  // those of the core, too
