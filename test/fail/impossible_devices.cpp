// SPDX-License-Identifier: Apache-2.0
// Device policies that cannot be.
// expect-1: locus: a CPU ordinal is 0 to 99; write Cpu<0>
// expect-2: locus: a GPU ordinal is 0 to 99; write GpuDevice<0>
// expect-3: locus: a device list is empty; write Mirrored<GpuDevice<0>>
// expect-4: locus: a device list holds at most 8 devices; use more processes for more
// expect-5: locus: a device list names single devices; write Mirrored<GpuDevice<0>, GpuDevice<1>>
// expect-6: locus: a device stands twice in a device list; name each device once
// expect-7: locus: a device stands twice in a device list; name each device once
// expect-8: locus: the axis of Sharded is 0 to 5; write Sharded<0, ...>
// expect-9: locus: a Tensor is cut along an axis that it does not have; name an axis below its rank
#include <locus/locus.hpp>
using namespace locus;

#if LOCUS_MUST_FAIL == 1
Tensor<float, Extents<4>, Cpu<-2>> misuse;
#elif LOCUS_MUST_FAIL == 2
Tensor<float, Extents<4>, GpuDevice<100>> misuse;
#elif LOCUS_MUST_FAIL == 3
Tensor<float, Extents<4>, Mirrored<>> misuse;
#elif LOCUS_MUST_FAIL == 4
Tensor<float, Extents<4>,
       Mirrored<Cpu<0>, Cpu<1>, Cpu<2>, Cpu<3>, Cpu<4>, Cpu<5>, Cpu<6>, Cpu<7>, Cpu<8>>>
    misuse;
#elif LOCUS_MUST_FAIL == 5
Tensor<float, Extents<4>, Mirrored<Mirrored<GpuDevice<0>>>> misuse;
#elif LOCUS_MUST_FAIL == 6
Tensor<float, Extents<4>, Mirrored<GpuDevice<0>, GpuDevice<0>>> misuse;
#elif LOCUS_MUST_FAIL == 7
Tensor<float, Extents<4>, Sharded<0, GpuDevice<0>, GpuDevice<0>>> misuse;
#elif LOCUS_MUST_FAIL == 8
Tensor<float, Extents<4>, Sharded<6, GpuDevice<0>, GpuDevice<1>>> misuse;
#elif LOCUS_MUST_FAIL == 9
Tensor<float, Extents<4>, Sharded<1, GpuDevice<0>, GpuDevice<1>>> misuse;
#else
Tensor<float, Extents<4>, Sharded<0, GpuDevice<0>, GpuDevice<1>>> proper;
#endif
