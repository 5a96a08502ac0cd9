// SPDX-License-Identifier: Apache-2.0
// Functions of a batch on several devices: of devices that do not go together, on too few of them,
// of what is distributed already, of tensors that end with the function, and towers on none.
// expect-1: locus: the devices of DataParallel are of one kind; name GPUs alone, or CPUs alone
// expect-2: locus: multi_gpu_model is for 2 to 8 GPUs; call the function itself on one
// expect-3: locus: what DataParallel splits lies on one device; use compile<Mirrored<...>> for tensors over replicas
// expect-4: locus: a mean over no towers; write tower_mean<GpuDevice<0>, GpuDevice<1>>(f)
// expect-5: locus: a function of DataParallel returns an expression that borrows a tensor, which may be dead by then; move the tensor into the expression, as in return std::move(t) * 2.f
#include <locus/nn/train/parallel.hpp>
#include <locus/nn/train/towers.hpp>
using namespace locus;

#if !defined(LOCUS_MUST_FAIL)
#define LOCUS_MUST_FAIL 0
#endif
using Cut = Sharded<0, Cpu<0>, Cpu<1>>;
using Second = std::conditional_t<LOCUS_MUST_FAIL == 1, GpuDevice<0>, Cpu<1>>;
std::conditional_t<LOCUS_MUST_FAIL == 3, Tensor<float, Dextents<1>, Cut>,
                   Tensor<float, Dextents<1>>>
    x(4);
float count(auto const& rows) { return float(rows.extent(0)); }

void use() {
  auto const f = [](auto const& rows) { return count(rows); };
  auto const parallel = nn::DataParallel<Cpu<0>, Second>(f);
#if LOCUS_MUST_FAIL == 0 || LOCUS_MUST_FAIL == 3
  static_cast<void>(parallel(x));
#elif LOCUS_MUST_FAIL == 2
  static_cast<void>(nn::multi_gpu_model<1>(f));
#elif LOCUS_MUST_FAIL == 4
  static_cast<void>(nn::tower_mean<>([](auto) { return x; }));
#elif LOCUS_MUST_FAIL == 5
  static_cast<void>(nn::DataParallel<Cpu<0>, Second>([](auto const& rows) {
    auto t = eval(rows * 2.f);
    return std::pair(count(rows), t + 1.f);
  })(x));
#endif
#if LOCUS_MUST_FAIL == 0
  static_cast<void>(nn::DataParallel<Cpu<0>, Second>([](auto const& rows, auto const& weights) {
    auto t = eval(rows * 2.f);
    return std::pair(count(rows), std::move(t) + rows * weights);
  })(x, x));
#endif
}
