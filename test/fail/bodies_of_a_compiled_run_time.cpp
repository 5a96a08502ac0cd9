// SPDX-License-Identifier: Apache-2.0
// A unit that reads the bodies of the compiled run time and does not say that it is the one that has them.
// expect-1: locus: <locus/implementation.hpp> gives the bodies of a compiled run time; define LOCUS_IMPLEMENTATION before the first include of one unit
// expect-2: locus: <locus/nn/implementation.hpp> gives the bodies of a compiled run time; define LOCUS_IMPLEMENTATION before the first include of one unit
// only: host
#ifndef LOCUS_MUST_FAIL
#define LOCUS_IMPLEMENTATION
#endif
#if LOCUS_MUST_FAIL == 2
#include <locus/nn/implementation.hpp>
#else
#include <locus/implementation.hpp>
#endif
