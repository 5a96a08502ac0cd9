// SPDX-License-Identifier: Apache-2.0
// with_thrust: the same lines on the host, on simulated GPUs, over a recorder, and as Thrust's kernels on cards, between
// kernels of locus that write in front of it and read behind it.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>

#include <algorithm>

#include <locus/thrust.hpp>
#include <message_of.hpp>
#include <oracle.hpp>

using namespace locus;

namespace rooms {
struct Larger {
  LOCUS_HOST_DEVICE float operator()(float a, float b) const { return a > b ? a : b; }
};
struct Falling {
  LOCUS_HOST_DEVICE bool operator()(float a, float b) const { return a > b; }
};
struct SameTens {
  LOCUS_HOST_DEVICE bool operator()(float a, float b) const {
    return static_cast<int>(a / 10) == static_cast<int>(b / 10);
  }
};
struct Times {
  float by;
  LOCUS_HOST_DEVICE float operator()(float a) const { return by * a; }
};
struct Below {
  float most;
  LOCUS_HOST_DEVICE bool operator()(float a) const { return a < most; }
};
}  // namespace rooms

namespace {

template <class Where>
using row = Tensor<float, Dextents<1>, Where>;

std::vector<float> numbers_of(std::int64_t n) {
  oracle::random r(std::uint64_t(n) + 1);
  std::vector<float> v(static_cast<std::size_t>(n));
  for (float& x : v) x = float(r.number(0, 500));
  return v;
}
template <class Where>
row<Where> put(std::vector<float> const& v) {
  row<CpuDevice> host{Dextents<1>(std::int64_t(v.size()))};
  std::copy(v.begin(), v.end(), host.data());
  return row<Where>(std::move(host));
}
template <class Where>
std::vector<float> get(row<Where> const& x) {
  auto const host = to<CpuDevice>(x);
  return std::vector<float>(host.data(), host.data() + host.size());
}

template <class Where>
void check(std::int64_t n) {
  CAPTURE(n);
  auto expected = numbers_of(n);
  row<Where> x = put<Where>(expected);
  x = x + 1.f;  // a kernel in front of it, and one behind it
  with_thrust(x, [](auto policy, auto first, auto last) { sort(policy, first, last); });
  x = x * 2.f;
  for (float& v : expected) v = 2 * (v + 1);
  std::sort(expected.begin(), expected.end());
  CHECK(get(x) == expected);

  float const most = with_thrust(x, [](auto policy, auto first, auto last) {
    return reduce(policy, first, last, -1.f, rooms::Larger{});
  });
  CHECK(most == (n ? expected.back() : -1.f));
  float const by = 0.5f;
  with_thrust(x, [by](auto policy, auto first, auto last) {
    transform(policy, first, last, first, rooms::Times{by});
    stable_sort(policy, first, last, rooms::Falling{});
  });
  for (float& v : expected) v /= 2;
  std::stable_sort(expected.begin(), expected.end(), std::greater<float>());
  CHECK(get(x) == expected);
  auto const few = with_thrust(x, [](auto policy, auto first, auto last) {
    return static_cast<std::int64_t>(count_if(policy, first, last, rooms::Below{100.f}));
  });
  CHECK(few == std::count_if(expected.begin(), expected.end(), rooms::Below{100.f}));

  auto const left = with_thrust(x, [](auto policy, auto first, auto last) {
    return unique(policy, first, last, rooms::SameTens{}) - first;
  });
  expected.erase(std::unique(expected.begin(), expected.end(), rooms::SameTens{}), expected.end());
  CHECK(left == std::int64_t(expected.size()));
  auto found = get(x);
  found.resize(expected.size());
  CHECK(found == expected);

  with_thrust(x, [](auto policy, auto first, auto last) {
    fill(policy, first, last, 1.f);
    inclusive_scan(policy, first, last, first);
    reverse(policy, first, last);
  });
  auto const falling = get(x);
  bool right = true;
  for (std::size_t i = 0; i < falling.size(); ++i)
    right &= falling[i] == float(n - std::int64_t(i));
  CHECK(right);
}

}  // namespace

TEST_CASE("algorithms of Thrust on a tensor of a CPU") {
  for (std::int64_t const n : {0, 1, 37, 1000, 70001}) check<CpuDevice>(n);
}

TEST_CASE("algorithms of Thrust on a GPU, by its type and by its number") {
  on_backends([](backends::machine const& m) {
    if (!m.has_gpu()) return;
    for (std::int64_t const n : {0, 1, 37, 1000}) check<GpuDevice<0>>(n);
    check<GpuDevice<1>>(100);
    Tensor<float, Dextents<1>, GpuDevice<dyn>> open(gpu(0), Dextents<1>(50));
    open = iota<float>(Dextents<1>(50));
    with_thrust(open, [](auto policy, auto first, auto last) { reverse(policy, first, last); });
    CHECK(fetch(sum(open * iota<float>(Dextents<1>(50)))) == 19600);
  });
}

TEST_CASE("a copy that a device keeps is forgotten when Thrust writes the tensor") {
  on_few_backends([](backends::machine const& m) {
    if (!m.has_gpu()) return;
    row<CpuDevice> x(iota<float>(Dextents<1>(300)));
    config::set_copy_cache(1 << 20);
    float const before = fetch(sum(on<GpuDevice<0>>(x * 1.f)));
    with_thrust(x, [](auto policy, auto first, auto last) { fill(policy, first, last, 2.f); });
    CHECK(before != 600);
    CHECK(fetch(sum(on<GpuDevice<0>>(x * 1.f))) == 600);
    config::set_copy_cache(0);
  });
}

#if !LOCUS_DEVICE_CODE  // what only a recorder can do
TEST_CASE("over a recorder it is one call, in the order of the queue, and its failure is named") {
  testing::recorder record;
  row<GpuDevice<0>> x = put<GpuDevice<0>>(numbers_of(100));
  auto const sorted = [](auto policy, auto first, auto last) { sort(policy, first, last); };
  with_thrust(x, sorted);
  CHECK(record.calls("an algorithm of Thrust") == 1);
  record.fail_next("an algorithm of Thrust", 719);
  auto const text = message_of<device_lost>([&] { with_thrust(x, sorted); });
  CHECK(text.find("an algorithm of Thrust") != std::string::npos);
  CHECK(text.find("with_thrust") != std::string::npos);
}
#endif
