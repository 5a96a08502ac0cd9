// SPDX-License-Identifier: Apache-2.0
// Open devices: placeholders of a plan, what they stand for in a run, and lists by names.
#include <string>

#include <doctest/doctest.h>

#include <locus/device/named.hpp>
#include <locus/device/open.hpp>
#include <message_of.hpp>

using namespace locus;

namespace {
using AnyGpu = GpuDevice<dyn>;
using AnyCpu = Cpu<dyn>;
using Every = Mirrored<AllGpus>;

static_assert(open_device<AnyGpu> && open_device<AnyCpu> && single_device<AnyGpu>);
static_assert(open_policy<Every> && open_policy<Sharded<1, AllGpus>> && !open_device<Every>);
static_assert(!open_policy<GpuDevice<0>> && !open_policy<Cpu<99>> && !open_policy<GpuDevice<99>>);
static_assert(replicas<Every> && replicas<Sharded<0, AllGpus>>);
static_assert(AnyGpu::value.at(0).is_gpu() && AnyCpu::value.at(0).is_cpu());
static_assert(!(AnyGpu::value == GpuDevice<0>::value) && !(AnyGpu::value == AnyCpu::value));
static_assert(Every::value.is_mirrored() && Sharded<1, AllGpus>::value.axis == 1);
static_assert(!(Every::value.devices ==
                Mirrored<GpuDevice<0>, GpuDevice<1>, GpuDevice<2>, GpuDevice<3>, GpuDevice<4>,
                         GpuDevice<5>, GpuDevice<6>, GpuDevice<7>>::value.devices));

template <class Policy>
constexpr bool comes_back = std::is_same_v<policy_of_t<Policy>, Policy>;
static_assert(comes_back<AnyGpu> && comes_back<AnyCpu> && comes_back<Every>);
static_assert(comes_back<Sharded<3, AllGpus>>);

static_assert(
    std::is_same_v<MirroredOn<"/gpu:2", "/device:GPU:3">, Mirrored<GpuDevice<2>, GpuDevice<3>>>);
static_assert(std::is_same_v<MirroredOn<"/job:localhost/replica:0/task:0/device:GPU:1", "CPU:0">,
                             Mirrored<GpuDevice<1>, CpuDevice>>);
static_assert(std::is_same_v<ShardedOn<1, "GPU:0">, Sharded<1, GpuDevice<0>>>);

constexpr open_devices bound = [] {
  open_devices o;
  o.bind(device_list(open_gpu), device_list(gpu(5)));
  return o;
}();
static_assert(bound.of(AnyGpu::value) == single(gpu(5)) && bound.of(open_cpu).is_none());
static_assert(bound.of(GpuDevice<3>::value) == single(gpu(3)));

template <class X>
std::string text_of(X const& x) {
  message out;
  out << x;
  return std::string(out.view());
}
}  // namespace

TEST_CASE("an open device has a name of its own, and a list of all GPUs is one word") {
  CHECK(text_of(open_gpu) == "/GPU:dyn");
  CHECK(text_of(open_cpu) == "/CPU:dyn");
  CHECK(text_of(Every::value) == "mirrored(all GPUs)");
  CHECK(text_of(Sharded<2, AllGpus>::value) == "sharded<2>(all GPUs)");
  CHECK(text_of(Every::value.partial(reduction::sum)) == "partial<sum>(all GPUs)");
}

TEST_CASE("an open device stands for one device in one run") {
  open_devices o;
  CHECK(o.bind(device_list(open_gpu), device_list(gpu(2))));
  CHECK(o.bind(device_list(open_gpu), device_list(gpu(2))));
  CHECK_FALSE(o.bind(device_list(open_gpu), device_list(gpu(1))));
  CHECK(o.bind(device_list(open_cpu), device_list(cpu(1))));  // the other kind is by itself
  CHECK(o.gpu == gpu(2));
  CHECK(o.cpu == cpu(1));
  device_list three;
  for (int k = 0; k < 3; ++k) three.push(gpu(k));
  CHECK(o.bind(Every::value.devices, three));
  CHECK_FALSE(o.bind(Every::value.devices, device_list(cpu(0))));
  place const rows = o.of(Sharded<1, AllGpus>::value);
  CHECK(rows.is_sharded());
  CHECK(rows.local_count() == 3);
  CHECK(rows.axis == 1);
}

TEST_CASE("a device for GpuDevice<dyn> is an ordinal or a device of its kind") {
  CHECK(bound_device<AnyGpu>(3).value() == gpu(3));
  CHECK(bound_device<AnyGpu>(gpu(0)).value() == gpu(0));
  CHECK(bound_device<AnyCpu>(0).value() == cpu(0));
  CHECK(message_of([] { bound_device<AnyGpu> b(-1); }) ==
        "locus: /GPU:dyn with the ordinal -1; an ordinal is 0 to 99");
  CHECK(message_of([] { bound_device<AnyCpu> b(100); }) ==
        "locus: /CPU:dyn with the ordinal 100; an ordinal is 0 to 99");
  CHECK(message_of([] { bound_device<AnyGpu> b(cpu(1)); }) ==
        "locus: /GPU:dyn does not stand for /CPU:1; name a device of its kind, as in /GPU:0");
  CHECK(message_of([] { bound_device<AnyGpu> b(open_gpu); }) != nothing_thrown);
  CHECK(message_of([] { bound_device<AnyGpu> b(device{}); }) != nothing_thrown);
}
