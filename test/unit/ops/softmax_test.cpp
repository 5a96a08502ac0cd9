// SPDX-License-Identifier: Apache-2.0
// softmax, log_softmax, one_hot, equal and all_close against plain loops, sharded axes included.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>
#include <oracle.hpp>

#include <array>

namespace softmax_test {

using namespace locus;
using oracle::array, oracle::indices;

namespace {

/// along one axis of three: exp(x - max) / sum, or its logarithm, in long double
template <class T>
array<long double> soft_max(array<T> const& a, int axis, bool log) {
  return oracle::make<long double>(a.extents, [&](std::int64_t const* i) {
    indices at{i[0], i[1], i[2]};
    long double largest = -INFINITY, total = 0;
    for (at[axis] = 0; at[axis] < a.extents.extent[axis]; ++at[axis])
      largest = std::fmax(largest, static_cast<long double>(a.at(at, 3)));
    for (at[axis] = 0; at[axis] < a.extents.extent[axis]; ++at[axis])
      total += std::exp(static_cast<long double>(a.at(at, 3)) - largest);
    long double const e = static_cast<long double>(a.at(i, 3)) - largest;
    return log ? e - std::log(total) : std::exp(e) / total;
  });
}

constexpr shape shapes[] = {{3, {2, 3, 4}},  {3, {1, 1, 1}}, {3, {5, 1, 200}}, {3, {200, 2, 3}},
                            {3, {3, 65, 2}}, {3, {0, 3, 2}}, {3, {2, 3, 700}}};

template <int Axis, class T>
void check_softmax(double far) {
  oracle::random r(1);
  double const tolerance = 8 * oracle::ulp<T>;
  for (shape const& s : shapes) {
    auto const a = oracle::random_array<T>(r, s, -far, far);
    auto const x = oracle::tensor<3>(a);
    constexpr int axis = (Axis + 3) % 3;
    Tensor<T, Dextents<3>> const p(on<GpuDevice<0>>(softmax<Axis>(x)));
    CHECK(oracle::difference(p, soft_max(a, axis, false), far * tolerance, 1e-37) == "");
    Tensor<T, Dextents<3>> const l(on<GpuDevice<0>>(log_softmax<Axis>(x)));
    CHECK(oracle::difference(l, soft_max(a, axis, true), tolerance, far * tolerance) == "");
  }
}

template <class Where>
void check_sharded() {
  oracle::random r(2);
  for (shape const& s : {shapes[0], shapes[4], shape{3, {7, 7, 7}}}) {
    auto const a = oracle::random_array<float>(r, s, -30, 30);
    auto const x = to<Where>(oracle::tensor<3>(a));
    CHECK(oracle::difference(fetch(softmax<0>(x)), soft_max(a, 0, false), 3e-5, 1e-30) == "");
    CHECK(oracle::difference(fetch(softmax<1>(x)), soft_max(a, 1, false), 3e-5, 1e-30) == "");
  }
}

}  // namespace

TEST_CASE("softmax and log_softmax along any axis, without overflow") {
  on_few_backends([] {
    check_softmax<-1, float>(2);
    check_softmax<0, float>(300);
    check_softmax<1, double>(700);
  });
}
TEST_CASE("the row of a softmax may be an expression, and feed one") {
  oracle::random r(3);
  on_backends([&] {
    auto const a = oracle::random_array<float>(r, {3, {1, 6, 70}}, -3, 3);
    auto const b = oracle::random_array<float>(r, {3, {1, 1, 70}}, -3, 3);
    auto const x = oracle::tensor<3>(a), y = oracle::tensor<3>(b);
    Tensor<float, Dextents<3>> const t(on<GpuDevice<0>>(1.f - softmax(x * 2.f + y)));
    auto const logits = oracle::map<double>(
        a.extents, [](float p, float q) { return double(p) * 2 + double(q); }, a, b);
    auto const p = soft_max(logits, 2, false);
    CHECK(oracle::difference(t,
                             oracle::map<long double>(
                                 a.extents, [](long double v) { return 1 - v; }, p),
                             1e-6, 1e-6) == "");
  });
}
TEST_CASE("softmax over a sharded axis is two all-reduces, beside it none") {
  using Two = Sharded<0, GpuDevice<0>, GpuDevice<1>>;
  using X = decltype(softmax<0>(std::declval<Tensor<float, Dextents<3>, Two>&>()));
  using Y = decltype(softmax<1>(std::declval<Tensor<float, Dextents<3>, Two>&>()));
  static_assert(plan_of<X>.all_reduces() == 2 && plan_of<Y>.all_reduces() == 0);
  on_backends([] {
    check_sharded<Two>();
    check_sharded<Sharded<0, GpuDevice<0>, GpuDevice<1>, GpuDevice<2>>>();
  });
}
TEST_CASE("a softmax of 16-bit floats adds more numbers than a half can count") {
  auto const check = []<class T>(T, double unit) {
    constexpr std::int64_t rows = 70000;
    Tensor<T, Dextents<2>> x(rows, 2);
    x = T(1.f);
    Tensor<float, Dextents<2>> const r(cast<float>(eval(softmax<0>(x)))),
        logs(cast<float>(eval(log_softmax<0>(x)))),
        lines(cast<float>(eval(softmax<1>(transpose(x)))));
    double const tiny = std::is_same_v<T, half> ? std::ldexp(1., -25) : 0;  // half of a denormal
    CHECK(std::fabs(r(rows - 1, 1) * double(rows) - 1) <= unit + tiny * double(rows));
    CHECK(std::fabs(lines(1, 0) * double(rows) - 1) <= unit + tiny * double(rows));
    CHECK(std::fabs(logs(0, 0) + std::log(double(rows))) <= 12 * unit);
  };
  check(half(), std::ldexp(1., -11));
  check(bfloat16(), std::ldexp(1., -8));
}
TEST_CASE("infinities and NaN in a row of softmax") {
  on_few_backends([] {
    float const inf = INFINITY;
    Tensor<float, Extents<3, 3>> const x{{-inf, 0, 0}, {NAN, 0, 1}, {-inf, -inf, 7}};
    Tensor<float, Extents<3, 3>> const t(on<GpuDevice<0>>(softmax(x)));
    CHECK(t(0, 0) == 0.f);
    CHECK(t(0, 1) == 0.5f);
    CHECK(t(2, 2) == 1.f);
    for (int j = 0; j < 3; ++j) CHECK(t(1, j) != t(1, j));
  });
}
TEST_CASE("a NaN anywhere in a row makes all of the row's softmax NaN, and no other row's") {
  on_few_backends([] {
    Tensor<float, Extents<50, 50>> x;
    for (int i = 0; i < 50; ++i)
      for (int j = 0; j < 50; ++j) x(i, j) = i == j && i % 3 == 0 ? NAN : float(200 * (i - j));
    Tensor<float, Extents<50, 50>> const t(on<GpuDevice<0>>(softmax(x))),
        l(on<GpuDevice<0>>(log_softmax(x)));
    for (int i = 0; i < 50; ++i)
      for (int j = 0; j < 50; ++j) {
        CHECK((t(i, j) != t(i, j)) == (i % 3 == 0));
        CHECK((l(i, j) != l(i, j)) == (i % 3 == 0));
      }
  });
}
TEST_CASE("a row of no element has a softmax of none, and nothing of it is read") {
  on_few_backends([] {
    Tensor<double, Dextents<2>, GpuDevice<0>> const x(2, 0);
    CHECK(fetch(softmax(log_softmax(x))).size() == 0);
  });
}

TEST_CASE("one_hot has a single one in each row, and none for a label outside") {
  oracle::random r(4);
  on_backends([&] {
    auto const a = oracle::random_array<std::int32_t>(r, {2, {9, 17}}, -2, 12);
    auto const u = oracle::random_array<std::uint8_t>(r, {1, {301}}, 0, 4);
    auto const x = oracle::tensor<2>(a);
    auto const y = oracle::tensor<1>(u);
    Tensor<float, Dextents<3>> const t(on<GpuDevice<0>>(one_hot<10>(x)));
    CHECK(oracle::difference(t, oracle::make<float>({3, {9, 17, 10}}, [&](std::int64_t const* i) {
                               return a[i[0] * 17 + i[1]] == i[2];
                             })) == "");
    Tensor<std::int64_t, Dextents<2>> const l(on<GpuDevice<0>>(one_hot<5, std::int64_t>(y)));
    CHECK(
        oracle::difference(l, oracle::make<std::int64_t>({2, {301, 5}}, [&](std::int64_t const* i) {
                             return u[i[0]] == i[1];
                           })) == "");
  });
}
TEST_CASE("equal stretches no operand: tensors of other extents are not equal") {
  Tensor<float, Extents<1>> const one{1};
  Tensor<float, Extents<3>> const three{1, 1, 1};
  CHECK(!equal(one, three));
  CHECK(!equal(three, one * 1.f));
  auto const ones = [](auto... n) {
    Tensor<float, Dextents<int(sizeof...(n))>> t(n...);
    t = 1.f;
    return t;
  };
  CHECK(!equal(ones(1), ones(3)));
  CHECK(!equal(ones(2), ones(3)));  // these do not even fit
  CHECK(!equal(ones(3), ones(2, 3)));
  CHECK(!equal(ones(1, 3), ones(2, 3)));
  CHECK(!equal(ones(0), ones(1)));
  CHECK(equal(ones(3), three));
  CHECK(equal(ones(0, 3), ones(0, 3) + 1.f));
  CHECK(all_close(ones(1), ones(3)));  // as numpy.allclose does
}

TEST_CASE("equal and all_close give one answer, wherever their operands lie") {
  on_backends([] {
    Tensor<float, Extents<2, 3>> const a{{1, 2, 3}, {4, 5, 6}};
    Tensor<float, Extents<2, 3>> b{{1, 2, 3}, {4, 5, 6}};
    Tensor<float, Extents<3>> const row{1, 2, 3};
    auto const there = to<GpuDevice<0>>(a);
    auto const twice = to<Mirrored<GpuDevice<0>, GpuDevice<1>>>(a);
    CHECK(equal(a, b));
    CHECK(equal(there, b));
    CHECK(equal(twice, there + 0.f));
    CHECK(!equal(a, row));
    CHECK(all_close(there, b));
    b(1, 2) = 6.00005f;
    CHECK(!equal(there, b));
    CHECK(all_close(there, b));  // |a - b| <= 1e-8 + 1e-5 |b|
    CHECK(!all_close(there, b, 1e-6));
    CHECK(all_close(there, b, 0, 1e-4));
    CHECK(!all_close(there, b, 0, 1e-5));
    b(0, 0) = NAN;
    CHECK(!all_close(b, b));
    CHECK(!equal(b, b));
    Tensor<double, Extents<2, 3>> const wide(cast<double>(a) * (1 + 1e-9));
    CHECK(all_close(wide, cast<double>(a)));
    CHECK(!all_close(wide, cast<double>(a), 1e-10, 0));
    Tensor<int, Dextents<1>> const nothing(0);
    CHECK(equal(nothing, nothing));
  });
}

TEST_CASE("the place of the largest is found behind what softmax makes") {
  on_few_backends([](backends::machine const& m) {
    oracle::random r(m.seed + 3);
    auto const a = oracle::random_array<float>(r, {2, {7, 30}}, -3, 3);
    auto const b = oracle::random_array<float>(r, {2, {7, 30}}, 1, 2);
    auto const x = oracle::tensor<2>(a), y = oracle::tensor<2>(b);
    auto const first = fetch(argmax<1>(softmax<1>(x) * y));
    Tensor<float, Dextents<2>> const p = softmax<1>(x);
    for (std::int64_t i = 0; i < 7; ++i)
      for (std::int64_t j = 0; j < 30; ++j)
        REQUIRE(p(i, first(i)) * y(i, first(i)) >= p(i, j) * y(i, j) * 0.99999f);
  });
}

}  // namespace softmax_test
