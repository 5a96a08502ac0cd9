// SPDX-License-Identifier: Apache-2.0
// budget: 3322 instantiations (clang 14)
// budget: 50800 lines
// What every unit pays that includes locus, whatever it does with it.
#include <locus/locus.hpp>
