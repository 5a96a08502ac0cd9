// SPDX-License-Identifier: Apache-2.0
// Expressions beside a tensor, or beside the value of another expression.
#include <doctest/doctest.h>

#include <locus/locus.hpp>
#include <locus/tensor/on_device_of.hpp>
#include <locus/testing/simulated_gpus.hpp>

namespace on_device_of_test {

using namespace locus;

TEST_CASE("an expression runs beside a tensor or beside another expression") {
  testing::simulated_gpus const three{3};
  Tensor<float, Extents<2>, GpuDevice<1>> const x{1, 2};
  Tensor<float, Extents<2>> const y{3, 4};
  auto const sum = on_device_of(x)(y + 1.f);
  static_assert(device_of<decltype(sum)> == "/GPU:1");
  CHECK(eval(sum).device() == gpu(1));
  auto const there = on<GpuDevice<2>>(y * y);
  auto const beside_it = on_device_of(there)(y - 1.f);
  static_assert(device_of<decltype(beside_it)> == "/GPU:2");
  CHECK(fetch(locus::sum(beside_it)) == 5);
  static_assert(device_of<decltype(on_device_of(y)(x * 2.f))> == "/CPU:0");
  auto const open = to<GpuDevice<dyn>>(y, 2);
  CHECK(eval(on_device_of(open)(open + 1.f)).device() == gpu(2));
}

}  // namespace on_device_of_test
