// SPDX-License-Identifier: Apache-2.0
// one_hot of labels that are no integers, or into no class.
// expect-1: locus: one_hot reads integer labels; write cast<int>(x)
// expect-2: locus: one_hot needs at least one class; write one_hot<10>(label)
#include <locus/locus.hpp>
using namespace locus;

Tensor<float, Extents<4>> x;
Tensor<int, Extents<4>> i;
#if LOCUS_MUST_FAIL == 1
auto misuse() { return one_hot<10>(x); }
#elif LOCUS_MUST_FAIL == 2
auto misuse() { return one_hot<0>(i); }
#else
auto proper() { return one_hot<10>(i); }
#endif
