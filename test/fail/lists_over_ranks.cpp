// SPDX-License-Identifier: Apache-2.0
// Device lists over ranks that cannot be, and what goes over ranks in no such way.
// expect-1: locus: Ranks stands alone in a device list; write Mirrored<Ranks<AllGpus>>
// expect-2: locus: Ranks holds the devices of one rank; write Ranks<AllGpus>
// expect-3: locus: a device list is empty; write Mirrored<GpuDevice<0>>
// expect-4: locus: operands are distributed over different device lists; gather one first with to<Device>(x)
// expect-5: locus: the rows of a rank are those of a tensor that is cut along axis 0; write Sharded<0, Ranks<...>>
// expect-6: locus: from_rows makes a tensor in pieces over ranks; write from_rows<Sharded<0, Ranks<CpuDevice>>>(mine)
// expect-7: locus: the devices of a list are known when it is compiled; write Mirrored<AllGpus>, or use GpuDevice<dyn> by itself
#include <locus/locus.hpp>
#include <locus/tensor/ranks.hpp>
using namespace locus;

#if !defined(LOCUS_MUST_FAIL)
#define LOCUS_MUST_FAIL 0
#endif
using Row = Dextents<1>;

#if LOCUS_MUST_FAIL == 1
Tensor<float, Row, Mirrored<Ranks<AllGpus>, CpuDevice>> misuse(4);
#elif LOCUS_MUST_FAIL == 2
Tensor<float, Row, Mirrored<Ranks<Ranks<AllGpus>>>> misuse(4);
#elif LOCUS_MUST_FAIL == 3
Tensor<float, Row, Mirrored<Ranks<>>> misuse(4);
#elif LOCUS_MUST_FAIL == 4
Tensor<float, Row, Mirrored<Ranks<CpuDevice>>> over_ranks(4);
Tensor<float, Row, Mirrored<CpuDevice>> here(4);
auto misuse = eval(over_ranks + here);
#elif LOCUS_MUST_FAIL == 5
Tensor<float, Dextents<2>, Sharded<1, Ranks<CpuDevice>>> columns(4, 4);
auto misuse = ranks::rows(columns);
#elif LOCUS_MUST_FAIL == 6
Tensor<float, Row> mine(4);
auto misuse = ranks::from_rows<Mirrored<Ranks<CpuDevice>>>(mine);
#elif LOCUS_MUST_FAIL == 7
Tensor<float, Row, Mirrored<Ranks<GpuDevice<dyn>>>> misuse(4);
#else
Tensor<float, Row, Sharded<0, Balanced, Ranks<Cpu<0>, Cpu<1>>, Halo<1>>> proper(4);
#endif
