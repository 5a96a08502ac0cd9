// SPDX-License-Identifier: Apache-2.0
// budget: 3345 instantiations (clang 14)
// budget: 51310 lines
// What every unit pays that includes locus, whatever it does with it.
#include <locus/locus.hpp>
