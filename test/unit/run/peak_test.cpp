// SPDX-License-Identifier: Apache-2.0
// peak_bytes is what a run holds at its most, reductions over replicas included.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>

namespace peak_test {

using namespace locus;

namespace {

/// plans know what is added on the way, without knowing NCCL
static_assert([] {
  for (int op = 0; op <= static_cast<int>(reduction::first_max); ++op)
    for (int e = 0; e <= static_cast<int>(element::other); ++e) {
      auto const type = internal::nccl_type_of(static_cast<element>(e));
      bool const direct = type != runtime::nccl_type::none &&
                          detail::nccl_op_for(static_cast<reduction>(op), type) >= 0;
      if (direct != adds_on_the_way(static_cast<reduction>(op), static_cast<element>(e)))
        return false;
    }
  return true;
}());

using G0 = GpuDevice<0>;
using G1 = GpuDevice<1>;
using G2 = GpuDevice<2>;
using Pieces = Sharded<0, G0, G1, G2>;
using Copies = Mirrored<G0, G1, G2>;

template <class Step>
void peaks_as_planned(char const* what, Step const& step) {
  CAPTURE(what);
  run(step);  // communicators and what is kept are there
  std::int64_t before[3];
  for (int k = 0; k < 3; ++k) {
    runtime::synchronize(runtime::find_device(gpu(k)));
    before[k] = runtime::find_device(gpu(k)).memory.in_use;
    config::detail::reset_memory(runtime::find_device(gpu(k)));
  }
  run(step);
  constexpr std::int64_t planned[] = {Step::peak_bytes(gpu(0)), Step::peak_bytes(gpu(1)),
                                      Step::peak_bytes(gpu(2))};
  for (int k = 0; k < 3; ++k) {
    CAPTURE(k);
    CHECK(config::detail::read_memory(runtime::find_device(gpu(k))).peak - before[k] == planned[k]);
  }
}

}  // namespace

TEST_CASE("what a run holds at its most is what its plan says") {
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    testing::simulated_gpus const gpus(3, {.seed = seed});
    Tensor<float, Extents<9, 70>, Pieces> const x(ones<float>(Extents<9, 70>{}));
    Tensor<std::int32_t, Extents<9, 70>, Pieces> const n(ones<std::int32_t>(Extents<9, 70>{}));
    Tensor<float, Extents<70>, Copies> w(zeros<float>(Extents<70>{})), v = w;
    Tensor<float, Extents<>, Copies> number;
    Tensor<std::int32_t, Extents<70>, Copies> whole(zeros<std::int32_t>(Extents<70>{}));
    Tensor<std::int64_t, Extents<70>, Copies> places(zeros<std::int64_t>(Extents<70>{}));
    Tensor<float, Extents<70>, G1> one(zeros<float>(Extents<70>{}));
    Tensor<float, Extents<70>> on_host(zeros<float>(Extents<70>{}));
    Tensor<float, Extents<70>, Pieces> rows(zeros<float>(Extents<70>{}));
    peaks_as_planned("a sum", plan(into(w, sum<0>(x))));
    peaks_as_planned("a sum that is computed with", plan(into(w, sum<0>(x) * 2.f + 1.f)));
    peaks_as_planned("a mean", plan(into(w, mean<0>(x))));
    peaks_as_planned("a maximum of floats", plan(into(w, max<0>(x))));
    peaks_as_planned("a maximum that is computed with", plan(into(w, max<0>(x) - 1.f)));
    peaks_as_planned("a maximum of integers", plan(into(whole, max<0>(n))));
    peaks_as_planned("where it lies", plan(into(places, argmax<0>(x))));
    peaks_as_planned("a number", plan(into(number, sum(x))));
    peaks_as_planned("the largest number", plan(into(number, max(x))));
    peaks_as_planned("two of them", plan(into(w, max<0>(x)), into(v, min<0>(x))));
    peaks_as_planned("a sum and a maximum", plan(into(w, sum<0>(x)), into(number, max(x))));
    peaks_as_planned("to one device", plan(into(one, sum<0>(x))));
    peaks_as_planned("a maximum to one device", plan(into(one, max<0>(x))));
    peaks_as_planned("to the host", plan(into(on_host, sum<0>(x))));
    peaks_as_planned("a maximum to the host", plan(into(on_host, max<0>(x))));
    peaks_as_planned("to pieces", plan(into(rows, sum<0>(x))));
    peaks_as_planned("a maximum to pieces", plan(into(rows, max<0>(x))));
    peaks_as_planned("a softmax over the cut", plan(into(w, sum<0>(exp(x - max<0>(x))))));
  }
}

}  // namespace peak_test
