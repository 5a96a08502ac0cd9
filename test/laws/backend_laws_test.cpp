// SPDX-License-Identifier: Apache-2.0
// What every backend must satisfy, whatever its kernels look like: laws over random data, run on
// the host alone, on simulated GPUs and on the recorded CUDA path.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>
#include <oracle.hpp>

using namespace locus;
using oracle::array, oracle::difference;

namespace {

using Gpu = GpuDevice<0>;
using Second = GpuDevice<1>;
template <class T, int Rank, class Where = Gpu>
using On = Tensor<T, Dextents<Rank>, Where>;

struct twice {
  static constexpr auto kernels = on_both;
  LOCUS_HOST_DEVICE double operator()(double v) const { return v * 2; }
};
struct less_three {
  static constexpr auto kernels = on_both;
  LOCUS_HOST_DEVICE double operator()(double v) const { return v - 3; }
};
struct both {
  static constexpr auto kernels = on_both;
  LOCUS_HOST_DEVICE double operator()(double v) const { return less_three{}(twice{}(v)); }
};

/// random extents, from nothing to more than one block of threads
shape random_shape(oracle::random& r, int rank) {
  shape s{rank, {}};
  for (int a = 0; a < rank; ++a)
    s.extent[a] = r.number(0, 5) == 0 ? r.number(0, 1) : r.number(2, 9);
  if (rank > 0 && r.number(0, 2) == 0) s.extent[r.number(0, rank - 1)] = r.number(60, 700);
  return s;
}
template <class Where, int Rank, class T>
auto at(array<T> const& a) {
  return to<Where>(oracle::tensor<Rank>(a));
}

/// one round of all laws on Where
template <class Where>
void check_laws(oracle::random& r) {
  shape const s = random_shape(r, 3);
  auto const a = oracle::random_array<double>(r, s, -8, 8);
  auto const b = oracle::random_array<double>(r, s, -8, 8);
  auto const x = at<Where, 3>(a), y = at<Where, 3>(b);
  auto same = [](auto const& p, auto const& q) { return equal(p, q); };

  // a copy there and back is the identity, bit by bit
  CHECK(difference(fetch(x), a) == "");
  CHECK(difference(fetch(to<Where>(to<CpuDevice>(x))), a) == "");
  // fusion is composition: one kernel of two functions, two kernels, one function
  auto const once = eval(map(less_three{}, map(twice{}, x)));
  auto const step = eval(map(twice{}, x));
  CHECK(same(once, map(both{}, x)));
  CHECK(same(once, map(less_three{}, step)));
  // commutativity holds in bits
  CHECK(same(x + y, y + x));
  CHECK(same(-(-x), x));
  // views: a transpose twice, a reshape there and back, all parts put together again
  CHECK(same(transpose<2, 0, 1>(transpose<1, 2, 0>(x)), x));
  CHECK(same(reshape(reshape<-1>(x), Dextents<3>(s)), x));
  std::int64_t const cut = r.number(0, s.extent[1]);
  CHECK(same(concatenate<1>(slice(x, all_of, {0, cut}), slice(x, all_of, {cut})), x));
  // a reduction is that of its parts, over all axes at once or one after the other
  auto const parts = sum(slice(x, all_of, {0, cut})) + sum(slice(x, all_of, {cut}));
  CHECK(all_close(sum(x), parts, 1e-12, 1e-10));
  CHECK(all_close(sum(x), sum(sum<0>(x)), 1e-12, 1e-10));
  CHECK(all_close(sum<0, 2>(x), sum<1>(sum<0>(x)), 1e-12, 1e-10));
  CHECK(all_close(sum(x + y), sum(x) + sum(y), 1e-12, 1e-10));  // it is linear
  if (s.size() > 0) {
    CHECK(same(max(x), max(max<2>(x))));
    CHECK(same(min(x), -max(-x)));
    double const largest = fetch(max(x));
    CHECK(largest == a[fetch(argmax(x))]);
    CHECK(all_close(sum<2>(softmax(x)), ones<double>(Dextents<2>(s.extent[0], s.extent[1])), 1e-13,
                    0));
    CHECK(all_close(exp(log_softmax<0>(x)), softmax<0>(x), 1e-12, 1e-300));
  }
  // assignment: what was written is read, in place or not, and others keep what they had
  On<double, 3, Where> z = x;
  z = z + y;
  CHECK(same(z, x + y));
  CHECK(difference(fetch(x), a) == "");
}

template <class Where>
void check_products(oracle::random& r) {
  std::int64_t const m = r.number(0, 40), k = r.number(1, 40), n = r.number(1, 40);
  auto const a = at<Where, 2>(oracle::random_array<double>(r, {2, {m, k}}, -1, 1));
  auto const b = at<Where, 2>(oracle::random_array<double>(r, {2, {k, n}}, -1, 1));
  auto const c = at<Where, 2>(oracle::random_array<double>(r, {2, {n, k}}, -1, 1));
  CHECK(all_close(matmul(matmul(a, b), c), matmul(a, matmul(b, c)), 1e-11, 1e-11));
  CHECK(all_close(transpose(matmul(a, b)), matmul(transpose(b), transpose(a)), 1e-12, 1e-12));
  CHECK(
      all_close(matmul(a, b + transpose(c)), matmul(a, b) + matmul(a, transpose(c)), 1e-11, 1e-11));
  CHECK(all_close(matmul(a, b), sum<1>(expand_dims<-1>(a) * expand_dims<0>(b)), 1e-12, 1e-12));
}

/// pieces and copies: the value does not depend on how it lies
template <class Where>
void check_replicas(oracle::random& r) {
  shape s = random_shape(r, 2);
  auto const a = oracle::random_array<double>(r, s, -8, 8);
  auto const here = oracle::tensor<2>(a);
  auto const x = to<Where>(here);
  CHECK(difference(fetch(x), a) == "");
  auto rows = fetch(sum<0>(x)), columns = fetch(sum<1>(x));
  auto turned = fetch(transpose(x * 2.));
  oracle::each_index(s, [&](std::int64_t const* i, std::int64_t k) {
    rows(i[1]) -= a[k], columns(i[0]) -= a[k], turned(i[1], i[0]) -= a[k] * 2;
  });
  auto nothing = [](auto const& t, double tolerance) {
    for (std::int64_t i = 0; i < t.size(); ++i)
      if (!(std::fabs(t.data()[i]) <= tolerance)) return false;
    return true;
  };
  CHECK(nothing(rows, 1e-10));
  CHECK(nothing(columns, 1e-10));
  CHECK(nothing(turned, 0));
  if (s.size() > 0) CHECK(fetch(max(x)) == a[fetch(argmax(x))]);
}

}  // namespace

TEST_CASE("laws of values on one device") {
  on_backends([](backends::machine const& m) {
    oracle::random r(m.seed + unsigned(m.gpus) * 100);
    for (int k = 0; k < 12; ++k) {
      check_laws<Gpu>(r);
      check_products<Gpu>(r);
    }
  });
}
TEST_CASE("laws of values over several devices") {
  on_backends([](backends::machine const& m) {
    oracle::random r(m.seed + unsigned(m.gpus) * 100 + 7);
    for (int k = 0; k < 12; ++k) {
      check_replicas<Mirrored<Gpu, Second>>(r);
      check_replicas<Sharded<1, Gpu, Second, GpuDevice<2>>>(r);
    }
  });
}
TEST_CASE("each backend gives what the first gives: the same bits where nothing is rounded twice") {
  oracle::random r(5);
  auto const a = oracle::random_array<float>(r, {2, {33, 70}}, -2, 2);
  array<float> bits({2, {33, 70}}), rounded({2, {33, 33}});
  auto keep = [](auto const& t, array<float>& to) {
    for (std::int64_t i = 0; i < to.size(); ++i) to[i] = t.data()[i];
  };
  bool first = true;
  on_backends([&] {
    auto const x = to<Gpu>(oracle::tensor<2>(a));
    // fma: a compiler may fuse x * x - abs(x) on one side and not on the other
    auto const exact = fetch(fma(x, x, -abs(x)) + uniform<float>(Dextents<2>(33, 70), seed{3}));
    auto const close = fetch(tanh(matmul(x, transpose(x)) / 10.f));
    if (first) keep(exact, bits), keep(close, rounded);
    first = false;
    CHECK(difference(exact, bits) == "");
    CHECK(difference(close, rounded, 1e-5, 1e-6) == "");
  });
}
