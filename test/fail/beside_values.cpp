// SPDX-License-Identifier: Apache-2.0
// A value over several devices, or on an open one, is no place for another one.
// expect-1: locus: a value over several devices is beside none of them; write to<Mirrored<...>>(e), or on<GpuDevice<0>>(e)
// expect-2: locus: only a run knows where an expression over open devices is computed; write on_device_of(tensor)(e), or on<GpuDevice<dyn>>(e, 2)
#include <locus/locus.hpp>
#include <locus/tensor/on_device_of.hpp>
using namespace locus;
template <class Where>
using vector_on = Tensor<float, Extents<2>, Where>;
#if LOCUS_MUST_FAIL == 1
void misuse(vector_on<Mirrored<GpuDevice<0>, GpuDevice<1>>> const& x) { on_device_of(x); }
#elif LOCUS_MUST_FAIL == 2
void misuse(vector_on<GpuDevice<dyn>> const& x) { on_device_of(x * 2.f); }
#else
auto use(vector_on<GpuDevice<0>> const& x) { return eval(on_device_of(x)(x * 2.f)); }
#endif
