// SPDX-License-Identifier: Apache-2.0
// Element types and extents that a Tensor cannot have.
// expect-1: locus: the element type of a Tensor is a plain type; write Tensor<float, ...>
// expect-2: locus: elements are copied between devices as bytes; use a trivially copyable type
// expect-3: locus: a tensor has at most 8 axes; reshape it
// expect-4: locus: an extent is negative; write dyn for one known later
// expect-5: locus: the extents of a Tensor are a type; write Tensor<float, Extents<2, 3>>
// expect-6: locus: the third parameter of a Tensor says where it is; write CpuDevice, GpuDevice<0>, Mirrored<...> or Sharded<0, ...>
// expect-7: locus: a view lies on one device; write CpuDevice or GpuDevice<0>
// expect-8: locus: a rank lies in 0 to 8; write Dextents<2> for an open matrix
// expect-9: locus: a rank lies in 0 to 8; write Dextents<2> for an open matrix
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
Tensor<float, Extents<1, 2, 3, 4, 5, 6, 7, 8, 9>> misuse;
#elif LOCUS_MUST_FAIL == 4
Tensor<float, Extents<4, -2>> misuse;
#elif LOCUS_MUST_FAIL == 5
Tensor<float, int> misuse;
#elif LOCUS_MUST_FAIL == 6
Tensor<float, Extents<4>, int> misuse;
#elif LOCUS_MUST_FAIL == 7
View<float, Extents<4>, Mirrored<GpuDevice<0>, GpuDevice<1>>, true>* const misuse = nullptr;
auto size = misuse->size();
#elif LOCUS_MUST_FAIL == 8
Tensor<float, Dextents<-1>> misuse;
#elif LOCUS_MUST_FAIL == 9
Tensor<float, Dextents<1000>> misuse;
#else
Tensor<float, Dextents<2>> open_both(4, 2);
Tensor<float, Extents<4, dyn>> proper(4, 2);
#endif
