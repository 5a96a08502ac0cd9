// SPDX-License-Identifier: Apache-2.0
// reshape with two extents left open.
// expect: locus: reshape leaves two extents open; name all but one
#include <locus/locus.hpp>
using namespace locus;

Tensor<float, Extents<2, 3>> x;
#ifdef LOCUS_MUST_FAIL
auto misuse() { return reshape<-1, -1>(x); }
#else
auto proper() { return reshape<-1, 2>(x); }
#endif
