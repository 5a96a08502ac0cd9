// SPDX-License-Identifier: Apache-2.0
// Policies are types that carry a place; from a place one comes back to the type.
#include <doctest/doctest.h>

#include <locus/device/name.hpp>
#include <locus/device/policy.hpp>

using namespace locus;

namespace {
using Two = Mirrored<GpuDevice<2>, CpuDevice>;
using Rows = Sharded<0, GpuDevice<0>, GpuDevice<1>, GpuDevice<2>>;

static_assert(std::is_same_v<CpuDevice, Cpu<0>> && !std::is_same_v<CpuDevice, GpuDevice<0>>);
static_assert(single_device<CpuDevice> && single_device<GpuDevice<7>> && !single_device<Two>);
static_assert(replicas<Two> && replicas<Rows> && !replicas<CpuDevice>);
static_assert(device_policy<Two> && device_policy<Rows> && device_policy<Cpu<3>>);
static_assert(!device_policy<int>);
struct almost {
  static constexpr int value = 0;
};
static_assert(!device_policy<almost>);

static_assert(GpuDevice<1>::value == "/GPU:1" && Cpu<2>::value == "/CPU:2");
static_assert(Two::value.is_mirrored() && Two::value.at(0) == gpu(2) && Two::value.at(1) == cpu(0));
static_assert(Rows::value.is_sharded() && Rows::value.axis == 0 && Rows::value.local_count() == 3);
static_assert(!(Mirrored<GpuDevice<0>, GpuDevice<1>>::value ==
                Mirrored<GpuDevice<1>, GpuDevice<0>>::value));  // replica r is on the r-th
static_assert(Mirrored<GpuDevice<0>>::value.is_mirrored());     // of one device: still replicas

template <class Policy>
constexpr bool comes_back = std::is_same_v<policy_of_t<Policy>, Policy>;
static_assert(comes_back<CpuDevice> && comes_back<Cpu<9>> && comes_back<GpuDevice<0>>);
static_assert(comes_back<GpuDevice<99>> && comes_back<Two> && comes_back<Rows>);
static_assert(comes_back<Sharded<5, CpuDevice, Cpu<1>>>);
static_assert(comes_back<Mirrored<Balanced, GpuDevice<0>, GpuDevice<1>>>);
static_assert(comes_back<Sharded<2, Balanced, CpuDevice>> && comes_back<Mirrored<AllGpus>>);
static_assert(comes_back<Sharded<0, Balanced, AllGpus>>);
static_assert(!(Mirrored<Balanced, CpuDevice>::value == Mirrored<CpuDevice>::value));
static_assert(comes_back<Mirrored<GpuDevice<0>, GpuDevice<1>, GpuDevice<2>, GpuDevice<3>,
                                  GpuDevice<4>, GpuDevice<5>, GpuDevice<6>, GpuDevice<7>>>);
}  // namespace

TEST_CASE("a policy is empty: a tensor pays nothing for it") {
  CHECK(std::is_empty_v<CpuDevice>);
  CHECK(std::is_empty_v<Two>);
  CHECK(std::is_empty_v<Rows>);
}
