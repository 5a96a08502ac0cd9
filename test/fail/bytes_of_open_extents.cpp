// SPDX-License-Identifier: Apache-2.0
// Bytes asked for as a constant while an extent is open.
// expect-1: locus: an extent is open, so bytes are no constant; call bytes_moved(e), or assert counts such as copies()
// expect-2: locus: an extent is open, so bytes are no constant; call bytes_moved(e), or assert counts such as copies()
// expect-3: locus: an extent is open, so bytes are no constant; call bytes_moved(e), or assert counts such as copies()
#include <locus/locus.hpp>
using namespace locus;

Tensor<float, Extents<dyn>> x(4);
using E = decltype(2.f * x);
#if LOCUS_MUST_FAIL == 1
constexpr auto misuse = plan_of<E>.bytes_moved();
#elif LOCUS_MUST_FAIL == 2
constexpr auto misuse = plan_of<E>.flops();
#elif LOCUS_MUST_FAIL == 3
constexpr auto misuse = plan_of<E>.peak_bytes<GpuDevice<0>>();
#else
static_assert(plan_of<E>.copies() == 1);
#endif
