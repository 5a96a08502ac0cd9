// SPDX-License-Identifier: Apache-2.0
// with_thrust, sort, unique and reduce: the same lines on the host, on simulated GPUs, over a recorder, and as Thrust's
// kernels on cards, between kernels of locus that write in front of it and read behind it. Iterators of tensors and
// expressions, and vectors of Thrust, in algorithms of others.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>

#include <algorithm>
#include <numeric>

#include <locus/thrust.hpp>
#include <message_of.hpp>
#include <oracle.hpp>
#if LOCUS_DEVICE_CODE
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/host_vector.h>
#endif

namespace thrust_test {

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
struct Sum {
  LOCUS_HOST_DEVICE float operator()(float a, float b) const { return a + b; }
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

namespace {
template <class Where>
void check_doors(std::int64_t n) {
  CAPTURE(n);
  auto const numbers = numbers_of(n);
  row<Where> x = put<Where>(numbers);
  row<Where> const y = put<Where>(numbers_of(n));
  x = x + 0.5f;
  sort(x, rooms::Falling{});
  x = x - 0.5f;
  auto expected = numbers;
  std::stable_sort(expected.begin(), expected.end(), std::greater<float>());
  CHECK(get(x) == expected);
  CHECK(reduce(x, rooms::Larger{}, -1.f) == (n ? expected.front() : -1.f));
  double total = 7;
  for (float const v : numbers) total += 2. * double(v) + 1;
  // an expression is read where it stands; whole numbers below 2^24, so that no order of adding shows
  if (n <= 1000) CHECK(double(reduce(2.f * y + 1.f, rooms::Sum{}, 7.f)) == total);
  std::int64_t const left = unique(x, rooms::SameTens{});
  expected.erase(std::unique(expected.begin(), expected.end(), rooms::SameTens{}), expected.end());
  REQUIRE(left == std::int64_t(expected.size()));
  auto found = get(x);
  found.resize(expected.size());
  CHECK(found == expected);
  // a view, and operands beside it
  with_thrust(
      view<Where>(x.data(), x.extents()),
      [](auto policy, auto first, auto last, auto a, auto b) {
        static_cast<void>(last);
        transform(policy, a, a + (last - first), b, first, rooms::Larger{});
      },
      y, 400.f - y);
  expected = numbers;
  for (float& v : expected) v = std::max(v, 400.f - v);
  CHECK(get(x) == expected);
}
}  // namespace

TEST_CASE("sort, unique, reduce and further operands: on a CPU and on GPUs") {
  for (std::int64_t const n : {0, 1, 37, 1000, 70001}) check_doors<CpuDevice>(n);
  on_backends([](backends::machine const& m) {
    if (!m.has_gpu()) return;
    for (std::int64_t const n : {0, 1, 37, 1000}) check_doors<GpuDevice<0>>(n);
    row<GpuDevice<0>> x = put<GpuDevice<0>>(numbers_of(10));
    row<GpuDevice<1>> const elsewhere = put<GpuDevice<1>>(numbers_of(10));
    row<GpuDevice<0>> const shorter = put<GpuDevice<0>>(numbers_of(9));
    auto const take = [](auto policy, auto first, auto last, auto y) {
      transform(policy, first, last, y, first, rooms::Larger{});
    };
    CHECK(message_of<placement_error>([&] { with_thrust(x, take, elsewhere * 2.f); }) ==
          "locus: an algorithm runs on one device, and its operands lie on /GPU:0 and /GPU:1; "
          "bring one over with to<Device>(x)");
    CHECK(message_of<shape_error>([&] { with_thrust(x, take, shorter); }) ==
          "locus: operands of an algorithm have 10 and 9 elements; make them equally large");
  });
}

TEST_CASE("iterators of host memory go through algorithms of the standard library") {
  row<CpuDevice> x = put<CpuDevice>(numbers_of(100));
  row<CpuDevice> const y = x;
  std::sort(begin(x), end(x));
  CHECK(std::is_sorted(x.data(), x.data() + 100));
  CHECK(std::is_permutation(begin(x), end(x), begin(y)));
  auto const e = y * y + 1.f;
  static_assert(std::random_access_iterator<decltype(begin(e))>);
  CHECK(end(e) - begin(e) == 100);
  CHECK(begin(e)[7] == y(7) * y(7) + 1);
  CHECK(*std::max_element(begin(e), end(e)) == x(99) * x(99) + 1);
  // halves are floats within an expression, and halves at its end
  Tensor<half, Dextents<1>> h(3);
  h(0) = half(1.f), h(1) = half(1e-4f), h(2) = half(3.f);
  auto const third = h / half(3.f) * half(3.f);
  Tensor<half, Dextents<1>> want = eval(on<CpuDevice>(third));
  for (int i = 0; i < 3; ++i) CHECK(begin(third)[i].bits == want(i).bits);
  auto const numbered = iota<float>(Dextents<1>(100)) * y;
  CHECK(begin(numbered)[9] == 9 * y(9));
}

TEST_CASE("an expression that an algorithm reads has operands of one shape") {
  Tensor<float, Dextents<2>, CpuDevice> column(4, 1), line(1, 4), a(2, 3), b(3, 2);
  column = ones<float>(Dextents<2>(4, 1)), line = ones<float>(Dextents<2>(1, 4));
  a = ones<float>(Dextents<2>(2, 3)), b = ones<float>(Dextents<2>(3, 2));
  auto const said = [](auto const& e) {
    return message_of<shape_error>([&] { static_cast<void>(reduce(e, rooms::Sum{}, 0.f)); });
  };
  CHECK(said(column * line) ==
        "locus: an iterator goes over operands of one shape, and these have [4,1] and [1,4]; "
        "evaluate the expression with eval(e)");
  CHECK(said(a * b).find("[2,3] and [3,2]") != std::string::npos);
  CHECK(said(a * 2.f + (iota<float>(Dextents<2>(3, 2)) - 1.f)).find("[2,3] and [3,2]") !=
        std::string::npos);
  CHECK(message_of<shape_error>([&] { begin(column * line); }) != nothing_thrown);
  CHECK(message_of<shape_error>([&] { end(column * line); }) != nothing_thrown);
  CHECK(reduce(eval(on<CpuDevice>(column * line)), rooms::Sum{}, 0.f) == 16);
  // operands side by side are read in row order each, whatever their extents
  auto const add = [](auto policy, auto first, auto last, auto other) {
    transform(policy, first, last, other, first, rooms::Sum{});
  };
  with_thrust(a, add, b * 2.f);
  with_thrust(a, add, iota<float>(Dextents<1>(6)));
  for (int i = 0; i < 6; ++i) CHECK(a.data()[i] == float(3 + i));
}

TEST_CASE("an expression without any tensor is folded on the host") {
  auto const numbers = iota<float>(Dextents<1>(100));
  CHECK(reduce(numbers, rooms::Sum{}, 1.f) == 4951);
  CHECK(reduce(iota<float>(Extents<3, 4>{}) * 2.f, rooms::Larger{}, 0.f) == 22);
  CHECK(end(numbers) - begin(numbers) == 100);
  CHECK(*std::max_element(begin(numbers), end(numbers)) == 99);
  // numbers alone are one element, as eval makes of them
  auto const number = Scalar<float>{2.f} * 3.f;
  CHECK(end(number) - begin(number) == 1);
  CHECK(*begin(number) == 6);
  CHECK(reduce(number, rooms::Sum{}, 1.f) == 7);
}

TEST_CASE("vectors of others are views without a copy") {
  std::vector<float> v{1, 2, 3};
  auto const seen = view<CpuDevice>(v);
  CHECK(fetch(sum(seen)) == 6);
  run(into(seen, seen * 2.f));
  CHECK(v == std::vector<float>{2, 4, 6});
#if LOCUS_DEVICE_CODE
  thrust::host_vector<float> host(5, 3.f);
  CHECK(fetch(sum(view<CpuDevice>(host))) == 15);
  thrust::device_vector<float> there(1000);
  thrust::sequence(there.begin(), there.end());
  auto const on_card = view<GpuDevice<0>>(there);
  CHECK(fetch(sum(on_card)) == 499500);
  run(into(on_card, on_card + 1.f));
  row<GpuDevice<0>> x{Dextents<1>(1000)};
  x = on_card * 2.f;
  CHECK(thrust::reduce(begin(x), end(x)) == 1001000);
  CHECK(there[999] == 1000);
  CHECK(thrust::reduce(thrust::device, begin(x * x), end(x * x), 0.f, rooms::Larger{}) == 4e6f);
  thrust::sort(begin(x), end(x), thrust::greater<float>());
  CHECK(fetch(x)(0) == 2000);
#endif
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

}  // namespace thrust_test
