// SPDX-License-Identifier: Apache-2.0
// half, bfloat16 and int8 on every backend: halves are computed as floats and rounded once, where
// they are stored.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <algorithm>
#include <sstream>
#include <unistd.h>

#include <on_backends.hpp>

#include <locus/tensor/any_tensor.hpp>
#include <oracle.hpp>

namespace narrow_test {

using namespace locus;

namespace {

using Vector = Extents<dyn>;
using Matrix = Extents<dyn, dyn>;

template <class T, class E = Vector>
Tensor<T, E> random_tensor(E const& extents, std::uint64_t seed, double low = -3, double high = 3) {
  Tensor<T, E> t(extents);
  oracle::random r(seed);
  for (std::int64_t i = 0; i < t.size(); ++i) t.data()[i] = static_cast<T>(r.real(low, high));
  return t;
}
template <class X, class F>
void each_is(X const& x, F&& want) {
  auto const host = fetch(x);
  std::int64_t wrong = 0, first = 0;
  for (std::int64_t i = host.size(); i-- > 0;) {
    auto const w = want(i);
    static_assert(std::is_same_v<std::remove_cvref_t<decltype(host.data()[i])>,
                                 std::remove_cv_t<decltype(w)>>);
    if (!(host.data()[i] == w)) ++wrong, first = i;
  }
  INFO("first at ", first, ": ", float(host.data()[first]), ", not ", float(want(first)));
  CHECK(wrong == 0);
}

template <class T>
void arithmetic() {
  Vector const n(517);
  auto const a = random_tensor<T>(n, 1), b = random_tensor<T>(n, 2), c = random_tensor<T>(n, 3);
  Tensor<T, Vector> y(n);
  auto at = [](auto const& t, std::int64_t i) { return float(t.data()[i]); };
  // products of two halves are floats: contracted or not, one result
  y = (a * b + c) / (abs(c) + 2) - sqrt(abs(a));
  each_is(y, [&](std::int64_t i) {
    return T((at(a, i) * at(b, i) + at(c, i)) / (std::fabs(at(c, i)) + 2) -
             std::sqrt(std::fabs(at(a, i))));
  });
  each_is(where(a < b, a, 0.1f) * 3.f, [&](std::int64_t i) {  // a number is a half before
    return T((at(a, i) < at(b, i) ? at(a, i) : float(T(0.1f))) * 3);
  });
  each_is(map([] LOCUS_HOST_DEVICE(float v) { return v * 0.1f; }, a),
          [&](std::int64_t i) { return at(a, i) * 0.1f; });
  each_is(maximum(minimum(a, b), -c),
          [&](std::int64_t i) { return T(std::max(std::min(at(a, i), at(b, i)), -at(c, i))); });
}

template <class T>
void layouts() {
  Matrix const e(37, 41), turned(41, 37);
  auto const m = random_tensor<T>(e, 4), t = random_tensor<T>(turned, 5);
  auto const row = random_tensor<T>(Vector(41), 6);
  each_is(eval(m + transpose(t) * row), [&](std::int64_t k) {
    std::int64_t const i = k / 41, j = k % 41;
    return T(float(m(i, j)) + float(t(j, i)) * float(row(j)));
  });
  Tensor<T, Matrix> part(e);
  part = m;
  run(into(slice(part, {1, 5}, {3, 40}), slice(m, {1, 5}, {3, 40}) * 2));
  CHECK(part(1, 3) == T(2 * float(m(1, 3))));
  CHECK(part(0, 3) == m(0, 3));
}

template <class T>
void near(T is, double want, double slack = 0) {
  double const unit = std::numeric_limits<T>::epsilon() * std::fabs(want) / 2 + slack;
  INFO(float(is), " ", want);
  CHECK(std::fabs(double(is) - want) <= unit * 1.001);
}

template <class T>
void reductions() {
  Vector const n(20011);
  auto const x = random_tensor<T>(n, 7, 0, 6);
  double total = 0, squares = 0, largest = -1;
  std::int64_t where_largest = 0;
  for (std::int64_t i = 0; i < x.size(); ++i) {
    double const v = x.data()[i];
    total += v, squares += v * v;
    if (v > largest) largest = v, where_largest = i;
  }
  near(fetch(sum(x)), total > 65519 && std::is_same_v<T, half> ? 0 : total);
  near(fetch(mean(x * x)), squares / 20011);  // the sum is no half, the mean is
  CHECK(double(fetch(max(x))) == largest);
  CHECK(fetch(argmax(x)) == where_largest);
  auto const m = random_tensor<T>(Matrix(23, 300), 8);
  auto const p = fetch(softmax(m));
  auto const rows = fetch(sum<1>(m)), columns = fetch(sum<0>(m));
  for (std::int64_t i = 0; i < 23; ++i) {
    double all = 0, row = 0;
    for (std::int64_t j = 0; j < 300; ++j) all += std::exp(double(m(i, j))), row += double(m(i, j));
    near(rows(i), row, 1e-4);
    for (std::int64_t j = 0; j < 300; ++j) near(p(i, j), std::exp(double(m(i, j))) / all, 1e-7);
  }
  double column = 0;
  for (std::int64_t i = 0; i < 23; ++i) column += double(m(i, 5));
  near(columns(5), column, 1e-5);
}

template <class T>
void products() {
  auto const a = random_tensor<T>(Matrix(19, 33), 9), b = random_tensor<T>(Matrix(33, 21), 10);
  auto const b_turned = random_tensor<T>(Matrix(21, 33), 11);
  auto const c = fetch(matmul(a, b)), d = fetch(matmul(a, transpose(b_turned)) + 1);
  for (std::int64_t i = 0; i < 19; ++i)
    for (std::int64_t j = 0; j < 21; ++j) {
      double want = 0, turned = 0;
      for (std::int64_t k = 0; k < 33; ++k)
        want += double(a(i, k)) * double(b(k, j)),
            turned += double(a(i, k)) * double(b_turned(j, k));
      near(c(i, j), want, 1e-4);
      near(d(i, j), double(T(turned)) + 1, 1e-4 + 40 * double(std::numeric_limits<T>::epsilon()));
    }
}

template <class T>
void casts() {
  Tensor<T, Vector> all(0x10000);
  for (int i = 0; i < 0x10000; ++i) all.data()[i] = T::from_bits(static_cast<std::uint16_t>(i));
  auto const wide = fetch(cast<float>(all));
  auto const back = fetch(cast<T>(cast<double>(all)));
  std::int64_t wrong = 0;
  for (int i = 0; i < 0x10000; ++i) {
    float const v = all.data()[i];
    if (v != v)
      wrong += wide.data()[i] == wide.data()[i] || float(back.data()[i]) == float(back.data()[i]);
    else
      wrong += wide.data()[i] != v || back.data()[i].bits != i;
  }
  CHECK(wrong == 0);
  Tensor<double, Vector> close{1 + 0x1p-11 + 0x1p-50, 1 + 0x1p-8 + 0x1p-50, 1e300, -2};
  each_is(cast<T>(close), [&](std::int64_t i) { return T(close.data()[i]); });
  Tensor<std::int64_t, Vector> whole{257, -3, (std::int64_t(257) << 50) + 1, 65519};
  each_is(cast<T>(whole), [&](std::int64_t i) { return T(whole.data()[i]); });
  // a cast rounds, where it stands
  Tensor<float, Vector> x{0.1f, 0.7f, 1e-3f, 3};
  each_is(cast<float>(cast<T>(x)) * 3.f, [&](std::int64_t i) { return float(T(x.data()[i])) * 3; });
}

template <class T>
void generators() {
  Vector const n(3000);
  each_is(iota<T>(n, -1, 0.125f), [](std::int64_t i) { return T(float(i) * 0.125f - 1); });
  auto const u = fetch(uniform<T>(n, seed{11})), far = fetch(uniform<T>(n, seed{12}, 100, 101));
  float low = 1, high = 0, most = 0;
  for (int i = 0; i < 3000; ++i) {
    low = std::min<float>(low, u(i)), high = std::max<float>(high, u(i));
    most = std::max<float>(most, far(i));
  }
  CHECK(low >= 0);
  CHECK(low < 0.01f);
  CHECK(high > 0.98f);
  CHECK(high < 1);
  CHECK(most < 101);
  Tensor<int, Vector> label{2, 0};
  each_is(one_hot<3, T>(label), [](std::int64_t k) { return T(k == 2 || k == 3); });
  each_is(full<T>(n, 0.1f), [](std::int64_t) { return T(0.1f); });
}

std::string text_of_tensor(auto const& t) {
  std::ostringstream out;
  out << t;
  return out.str();
}

}  // namespace

TEST_CASE("halves are computed as floats and rounded once, on every backend") {
  on_few_backends([] {
    arithmetic<half>();
    layouts<half>();
    reductions<half>();
    products<half>();
    casts<half>();
    generators<half>();
  });
}
TEST_CASE("and so is bfloat16") {
  on_few_backends([] {
    arithmetic<bfloat16>();
    products<bfloat16>();
    casts<bfloat16>();
  });
}

TEST_CASE("what two kinds of floats make together") {
  on_few_backends([] {
    Tensor<half, Extents<2>> h{0.1f, 3};
    Tensor<bfloat16, Extents<2>> b{0.1f, 3};
    Tensor<double, Extents<2>> d{0.1, 3};
    each_is(h + b, [&](std::int64_t i) { return float(h(i)) + float(b(i)); });
    each_is(h * d, [&](std::int64_t i) { return double(h(i)) * d(i); });
    CHECK(fetch(sum(h == b)) == 1);
    CHECK(all_close(h, b, 1e-2));
    CHECK(!all_close(h, b, 1e-4));
    CHECK(all_close(h, d));
  });
}

TEST_CASE("int8 wraps, meets uint8 as int16, and is summed as int64") {
  on_few_backends([] {
    Tensor<std::int8_t, Vector> a{100, -128, 7}, b{100, -1, 3};
    Tensor<std::uint8_t, Vector> u{200, 255, 0};
    each_is(a + b, [&](std::int64_t i) { return static_cast<std::int8_t>(a(i) + b(i)); });
    each_is(a * u, [&](std::int64_t i) { return static_cast<std::int16_t>(a(i) * u(i)); });
    each_is(floor_div(a, b), [&](std::int64_t i) {
      return static_cast<std::int8_t>(i == 0 ? 1 : i == 1 ? -128 : 2);
    });
    each_is(cast<std::int8_t>(cast<float>(u) - 300.f), [&](std::int64_t i) {
      return static_cast<std::int8_t>(i == 0 ? -100 : i == 1 ? -45 : -128);
    });
    CHECK(fetch(sum(a)) == -21);
    CHECK(fetch(max(a)) == 100);
  });
  CHECK(text_of_tensor(Tensor<std::int8_t, Vector>{-128, 5}) == "[-128    5]");
}

TEST_CASE("halves are written as NumPy writes float16") {
  CHECK(text_of_tensor(Tensor<half, Vector>{0.1f, 0.333f, 5}) == "[0.1   0.333 5.   ]");
  CHECK(text_of_tensor(Tensor<half, Vector>{1000, 1}) == "[1.e+03 1.e+00]");
  CHECK(text_of_tensor(Tensor<half, Extents<>>(0.1f)) == "0.1");
  CHECK(text_of_tensor(Tensor<bfloat16, Vector>{0.1f, -2.5f}) == "[ 0.1 -2.5]");
}

TEST_CASE("files keep halves, and refuse another type of 16 bits") {
  std::string const path = "/tmp/locus_half_" + std::to_string(getpid());
  auto const x = random_tensor<half>(Vector(100), 1);
  AnyTensor<half, Vector> any(x);
  any.save(path);
  AnyTensor<half, Vector> const back = AnyTensor<half, Vector>::load(path);
  CHECK(equal(back.to<CpuDevice>(), x));
  using Other = AnyTensor<bfloat16, Vector>;
  CHECK_THROWS_WITH_AS(static_cast<void>(Other::load(path)),
                       doctest::Contains("expected bfloat16 of 2 bytes, found half of 2 bytes"),
                       bad_file);
  std::remove(path.c_str());
}

TEST_CASE("halves over replicas: sums of terms, gathers, and collectives in replica order") {
  testing::simulated_gpus const gpus{3, {.seed = 3}};
  Tensor<half, Vector, Sharded<0, GpuDevice<0>, GpuDevice<1>, GpuDevice<2>>> x(100);
  auto const on_host = random_tensor<half>(Vector(100), 21, 0, 1);
  x = on_host;
  double total = 0;
  for (int i = 0; i < 100; ++i) total += double(on_host(i));
  CHECK(std::fabs(double(fetch(sum(x))) - total) <= 3 * total * 0x1p-11);
  CHECK(fetch(argmax(x)) == fetch(argmax(on_host)));
  for (auto order : {reduction_order::fast, reduction_order::ranked}) {
    config::set_reduction_order(order);
    Tensor<half, Extents<2>, GpuDevice<0>> a{1, 2048};
    Tensor<half, Extents<2>, GpuDevice<1>> b{0.25f, 1};
    Tensor<half, Extents<2>, GpuDevice<2>> c{0.5f, 1};
    collective::all_reduce<collective::sum>(a, b, c);
    auto const r = fetch(b);
    CHECK(r(0) == 1.75f);
    // in replica order as floats 2050; each step rounded, 2048 + 1 stays 2048
    if (order == reduction_order::ranked) CHECK(r(1) == 2050.f);
    Tensor<std::int8_t, Extents<2>, GpuDevice<0>> i{1, -7};
    Tensor<std::int8_t, Extents<2>, GpuDevice<1>> j{100, 5};
    collective::all_reduce<collective::max>(i, j);
    CHECK(fetch(i)(0) == 100);
    CHECK(fetch(i)(1) == 5);
  }
  config::set_reduction_order(reduction_order::fast);
}

}  // namespace narrow_test
