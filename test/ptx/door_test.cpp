// SPDX-License-Identifier: Apache-2.0
// A unit of the host compiler beside one that made CUB's code: it finds the body for cards in the registry, and is
// told what to write where there is none.
#include <doctest/doctest.h>

#include <cstring>

#include <locus/locus.hpp>
#include <locus/nn/layers/embedding_ops.hpp>
#include <message_of.hpp>

using namespace locus;

namespace {

template <class Token, class Where>
auto gradient_on() {
  Tensor<Token, Dextents<2>, CpuDevice> tokens(5, 40);
  Tensor<float, Dextents<3>, CpuDevice> dy(uniform<float>(Dextents<3>(5, 40, 3), seed{4}));
  for (std::int64_t i = 0; i < tokens.size(); ++i) tokens.data()[i] = Token(i * 7 % 31);
  auto const both = call(nn::embedding_gradient_op{31}, to<Where>(tokens), to<Where>(dy));
  return to<CpuDevice>(result<1>(both));
}

}  // namespace

TEST_CASE("the gradient of an embedding runs on the card, in a program whose main unit is the host "
          "compiler's") {
  runtime::nccl = nullptr;  // it asks the driver
  auto const trips = runtime::host_round_trips;
  auto const expected = gradient_on<std::int32_t, CpuDevice>();
  auto const found = gradient_on<std::int32_t, GpuDevice<0>>();
  CHECK(runtime::host_round_trips == trips);
  CHECK(std::memcmp(expected.data(), found.data(), sizeof(float) * std::size_t(found.size())) == 0);
}

TEST_CASE("sum, mean, max and min of a whole tensor are the library unit's, in units of the host "
          "compiler too") {
  auto const trips = runtime::host_round_trips;
  auto const check = []<class T>(T) {
    Tensor<T, Dextents<2>, CpuDevice> host(9, 13);
    for (std::int64_t i = 0; i < host.size(); ++i) host.data()[i] = T(i);
    auto const x = to<GpuDevice<0>>(host);
    CHECK(double(fetch(sum(x))) == 117 * 58);
    if constexpr (is_floating_v<T>) CHECK(double(fetch(mean(x))) == 58);
    CHECK(double(fetch(max(x))) == 116);
    CHECK(double(fetch(min(x))) == 0);
  };
  check(0.f), check(0.), check(std::int32_t(0)), check(std::int64_t(0));
  CHECK(runtime::host_round_trips == trips);
}

TEST_CASE("a body that no unit made: the host's, and the remedy is named") {
  auto const trips = runtime::host_round_trips;
  auto const expected = gradient_on<std::int64_t, CpuDevice>();
  auto const found = gradient_on<std::int64_t, GpuDevice<0>>();
  CHECK(runtime::host_round_trips == trips + 1);
  CHECK(std::memcmp(expected.data(), found.data(), sizeof(float) * std::size_t(found.size())) == 0);
  config::set_soft_device_placement(false);
  auto const text =
      message_of<no_kernel_in_unit>([] { (void)gradient_on<std::int64_t, GpuDevice<0>>(); });
  config::set_soft_device_placement(true);
  CAPTURE(text);
  CHECK(text.find("(embedding_gradient) on /GPU:0: no unit of this program made a GPU kernel") !=
        std::string::npos);
  CHECK(
      text.find(
          "LOCUS_INSTANTIATE_ALGORITHMS(element types) in one .cu that includes <locus/cub.cuh>") !=
      std::string::npos);
}
