// SPDX-License-Identifier: Apache-2.0
// Units with LOCUS_GPU_ENGINE=shared make no kernel for plain folds of one tensor: they are the library unit's, for
// every rank and device. Other folds are their own.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 3
#endif
#include <on_backends.hpp>

#include <cmath>

#include <message_of.hpp>

using namespace locus;

namespace {
template <class T, int Rank = 2>
using on_card = Tensor<T, Dextents<Rank>, GpuDevice<0>>;

template <class T>
on_card<T> counted(std::int64_t rows, std::int64_t columns) {
  return to<GpuDevice<0>>(cast<T>(iota<std::int64_t>(dextents<2>(rows, columns))));
}
}  // namespace

#if LOCUS_DEVICE_CODE
TEST_CASE_TEMPLATE("the library unit's kernels fold whole tensors", T, float, double, half,
                   std::int32_t, std::int64_t) {
  auto const trips = runtime::host_round_trips;
  for (std::int64_t rows : {1, 7, 20}) {
    CAPTURE(rows);
    auto const x = counted<T>(rows, 13);
    double const n = double(rows * 13);
    CHECK(double(fetch(sum(x))) == doctest::Approx(n * (n - 1) / 2).epsilon(1e-3));
    if constexpr (is_floating_v<T>)
      CHECK(double(fetch(mean(x))) == doctest::Approx((n - 1) / 2).epsilon(1e-3));
    CHECK(double(fetch(max(x))) == n - 1);
    CHECK(double(fetch(min(x))) == 0);
    CHECK(double(fetch(sum(reshape(x, dextents<1>(rows * 13))))) ==
          doctest::Approx(n * (n - 1) / 2).epsilon(1e-3));
    CHECK(double(fetch(max(x * T(2)))) == 2 * (n - 1));  // its own
  }
  CHECK(runtime::host_round_trips == trips);
}
#else
TEST_CASE("without a library unit the remedy is named; other folds have their kernels") {
  testing::recorder record;
  auto const x = counted<float>(20, 13);
  config::set_soft_device_placement(false);
  for (auto const& text :
       {message_of<no_kernel_in_unit>([&] { static_cast<void>(fetch(sum(x))); }),
        message_of<no_kernel_in_unit>([&] { static_cast<void>(fetch(mean(x))); }),
        message_of<no_kernel_in_unit>([&] { static_cast<void>(fetch(min(x))); })})
    CHECK(text.find("LOCUS_INSTANTIATE_ALGORITHMS(element types) in one .cu that includes "
                    "<locus/cub.cuh>") != std::string::npos);
  config::set_soft_device_placement(true);
  auto const trips = runtime::host_round_trips;
  CHECK(fetch(sum(x * 2.f)) == 260.f * 259.f);
  CHECK(fetch(argmax(x)) == 259);
  CHECK(fetch(sum<1>(x))(0) == 78);
  CHECK(runtime::host_round_trips == trips);
  CHECK(fetch(max(x)) == 259);  // by the host
  CHECK(runtime::host_round_trips == trips + 1);
}
#endif
