// SPDX-License-Identifier: Apache-2.0
// Element types and extents that a Tensor cannot have.
// expect-1: locus: the element type of a Tensor is a plain type; write Tensor<float, ...>
// expect-2: locus: elements are copied between devices as bytes; use a trivially copyable type
// expect-3: locus: a tensor has at most 6 axes; reshape it
// expect-4: locus: an extent is negative; write dyn for one known later
// expect-5: locus: the extents of a Tensor are a type; write Tensor<float, Extents<2, 3>>
#include <locus/locus.hpp>
using namespace locus;

struct Owner {
  Owner(Owner const&) {}
  Owner() {}
};
#if LOCUS_MUST_FAIL == 1
Tensor<float const, Extents<4>> misuse;
#elif LOCUS_MUST_FAIL == 2
Tensor<Owner, Extents<4>> misuse;
#elif LOCUS_MUST_FAIL == 3
Tensor<float, Extents<1, 2, 3, 4, 5, 6, 7>> misuse;
#elif LOCUS_MUST_FAIL == 4
Tensor<float, Extents<4, -2>> misuse;
#elif LOCUS_MUST_FAIL == 5
Tensor<float, int> misuse;
#else
Tensor<float, Extents<4, dyn>> proper(4, 2);
#endif
