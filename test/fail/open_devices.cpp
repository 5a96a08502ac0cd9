// SPDX-License-Identifier: Apache-2.0
// Devices that are known when the program runs, where something must be known before.
// expect-1: locus: AllGpus stands alone in a device list; write Mirrored<AllGpus>
// expect-2: locus: the devices of a list are known when it is compiled; write Mirrored<AllGpus>, or use GpuDevice<dyn> by itself
// expect-3: locus: AllGpus is a list of devices, no place; write Mirrored<AllGpus> or Sharded<0, AllGpus>
// expect-4: locus: a tensor on GpuDevice<dyn> or Cpu<dyn> needs its device; write Tensor<float, E, GpuDevice<dyn>> t(gpu(2), extents...)
// expect-5: locus: on<GpuDevice<dyn>> needs its ordinal; write on<GpuDevice<dyn>>(e, 2)
// expect-6: locus: a view on GpuDevice<dyn> needs its ordinal; write view<GpuDevice<dyn>>(data, extents, layout_right{}, 2)
// expect-7: locus: this count depends on which devices AllGpus or GpuDevice<dyn> stand for; call tally_of(e), or assert launches(), all_reduces()
// expect-8: locus: the lambda of with_device returns one type on a GPU and another on a CPU; return fetch(e), or AnyTensor<T, E>
// expect-9: locus: this count depends on which devices AllGpus or GpuDevice<dyn> stand for; call tally_of(e), or assert launches(), all_reduces()
// expect-10: locus: to<GpuDevice<dyn>> of an AnyTensor needs its ordinal; write any.to<GpuDevice<dyn>>(2)
// expect-11: locus: the extents of an AnyTensor are a type; write AnyTensor<float, Dextents<2>>
// expect-12: locus: GpuDevice<dyn> by itself names no device; write get_memory_info("/GPU:2")
#include <locus/config/memory.hpp>
#include <locus/locus.hpp>
#include <locus/tensor/any_tensor.hpp>
using namespace locus;

using AnyGpu = GpuDevice<dyn>;
Tensor<float, Extents<4>> c;
Tensor<float, Extents<4>, AnyGpu> t(gpu(1));
Tensor<float, Extents<4>, Mirrored<AllGpus>> every;

#if LOCUS_MUST_FAIL == 1
Tensor<float, Extents<4>, Mirrored<AllGpus, CpuDevice>> misuse;
#elif LOCUS_MUST_FAIL == 2
Tensor<float, Extents<4>, Mirrored<AnyGpu>> misuse;
#elif LOCUS_MUST_FAIL == 3
Tensor<float, Extents<4>, AllGpus> misuse;
#elif LOCUS_MUST_FAIL == 4
Tensor<float, Extents<4>, AnyGpu> misuse;
#elif LOCUS_MUST_FAIL == 5
auto misuse = on<AnyGpu>(2.f * c);
#elif LOCUS_MUST_FAIL == 6
auto misuse = view<AnyGpu>(t.data(), Extents<4>{});
#elif LOCUS_MUST_FAIL == 7
constexpr auto misuse = plan_of<decltype(every + c)>.copies();
#elif LOCUS_MUST_FAIL == 8
void misuse() {
  with_device("/gpu:0", [](auto here) { return eval(here(2.f * c)); });
}
#elif LOCUS_MUST_FAIL == 9
constexpr auto misuse = plan_of<decltype(sum(every))>.flops();
#elif LOCUS_MUST_FAIL == 10
void misuse(AnyTensor<float, Extents<4>> const& any) { static_cast<void>(any.to<AnyGpu>()); }
#elif LOCUS_MUST_FAIL == 11
void misuse(AnyTensor<float, int>& any) { static_cast<void>(any.size()); }
#elif LOCUS_MUST_FAIL == 12
auto misuse = config::get_memory_info<AnyGpu>();
#else
static_assert(plan_of<decltype(every + every)>.copies() == 0);
static_assert(plan_of<decltype(t + c)>.copies() == 1 &&
              plan_of<decltype(t + c)>.bytes_moved() == 16);
float proper() {
  return with_device("/gpu:0", [](auto here) { return fetch(sum(here(2.f * c))); });
}
#endif
