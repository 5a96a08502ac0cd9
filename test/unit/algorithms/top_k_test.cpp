// SPDX-License-Identifier: Apache-2.0
// top_k beside a stable sort of whole lines: axes, types, few and many elements, ties, NaN and zeros of
// both signs, long lines on several threads, pieces along each axis, the gradient.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <locus/algorithms/top_k.hpp>
#include <message_of.hpp>
#include <replicas.hpp>

#include "rows.hpp"

namespace top_k_test {

using namespace locus;
using locus::half;
using rows::values_in;

namespace {

/// the places of the first k elements of each line
template <class X>
std::vector<double> first_places(X const& x, int axis, std::int64_t k, bool smallest_first) {
  rows::around const of(x.extents().as_shape(), axis, 1);
  std::vector<double> r(std::size_t(of.outer * k * of.inner));
  std::vector<std::int64_t> order(std::size_t(of.n));
  for (std::int64_t line = 0; line < of.outer * of.inner; ++line) {
    std::int64_t const o = line / of.inner, c = line % of.inner;
    auto const at = [&](std::int64_t j) { return x.data()[(o * of.n + j) * of.inner + c]; };
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
      auto const v = at(a), w = at(b);
      if (v != v || w != w) return v != v && w == w;
      return smallest_first ? v < w : v > w;
    });
    for (std::int64_t j = 0; j < k; ++j)
      r[std::size_t((o * k + j) * of.inner + c)] = double(order[std::size_t(j)]);
  }
  return r;
}
template <class T>
Tensor<T, Dextents<3>> wild(std::int64_t a, std::int64_t b, std::int64_t c, std::uint64_t seed) {
  Tensor<T, Dextents<3>> x(Dextents<3>(a, b, c));
  oracle::random r(seed);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    x.data()[i] = r.number(0, 1) ? r.value<T>(-1000, 1000) : T(int(r.number(-3, 3)));
    if constexpr (is_floating_v<T>) {
      float const some[] = {0.f, -0.f, INFINITY, -INFINITY, NAN, 1.5f};
      if (r.number(0, 4) == 0) x.data()[i] = T(some[r.number(0, 5)]);
    } else if (r.number(0, 5) == 0)
      x.data()[i] =
          r.number(0, 1) ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
  }
  return x;
}
/// both results against the oracle; values have the bits of their elements if `whole`
template <int Axis, std::int64_t K, class X, class Call>
void check_results(X const& x, bool smallest_first, bool whole, Call const& both) {
  using T = typename X::value_type;
  auto const [values, places] = both;
  auto const v = to<CpuDevice>(values);
  auto const want = first_places(x, Axis, K, smallest_first);
  CHECK(values_in(places) == want);
  rows::around const of(x.extents().as_shape(), Axis, 1);
  bool equal = v.size() == std::int64_t(want.size());
  for (std::int64_t i = 0; equal && i < v.size(); ++i) {
    std::int64_t const o = i / of.inner / K, c = i % of.inner;
    T const e = x.data()[(o * of.n + std::int64_t(want[std::size_t(i)])) * of.inner + c];
    T const own = v.data()[i];
    equal = whole ? std::memcmp(&own, &e, sizeof(T)) == 0 : own == e || (own != own && e != e);
  }
  CHECK(equal);
}
template <class Where, class T, class... Order>
void check_type(Order... order) {
  std::int64_t const sizes[][3] = {{1, 3, 1}, {2, 3, 0}, {4, 65, 1}, {2, 600, 9}, {1, 1000, 1}};
  for (auto const& s : sizes) {
    CAPTURE(s[1]);
    auto const x = wild<T>(s[0], s[1], s[2], 1);
    Tensor<T, Dextents<3>, Where> const there(x);
    check_results<1, 3>(x, sizeof...(Order) > 0, true, top_k<3, 1>(there, order...));
  }
}
template <int Axis, class There>
void check_pieces(Tensor<float, Dextents<3>> const& x, There const& there, bool whole) {
  check_results<Axis, 2>(x, false, whole, top_k<2, Axis>(there));
}

}  // namespace

TEST_CASE("top_k is a stable sort of each line, for each type") {
  on_few_backends([](backends::machine const& m) {
    if (m.has_gpu()) return check_type<GpuDevice<0>, float>();
    check_type<CpuDevice, float>();
    check_type<CpuDevice, float>(smallest);
    check_type<CpuDevice, half>();
    check_type<CpuDevice, std::int64_t>(smallest);
  });
}

TEST_CASE("many elements, and long lines on several threads") {
  auto const was = config::get_intra_op_parallelism_threads();
  auto const x = wild<double>(1, 150001, 1, 2);
  auto rising = wild<double>(1, 150001, 1, 2);
  std::sort(rising.begin(), rising.end(),
            [](double a, double b) { return a < b || (b != b && a == a); });
  for (int const threads : {1, 2, 5}) {
    config::set_intra_op_parallelism_threads(threads);
    for (auto const* const line : {&x, static_cast<decltype(&x)>(&rising)}) {
      check_results<1, 9>(*line, false, true, top_k<9, 1>(*line));
      check_results<1, 2000>(*line, false, true, top_k<2000, 1>(*line));
    }
  }
  config::set_intra_op_parallelism_threads(was);
}

TEST_CASE("top_k of pieces: without traffic along other axes, by tops of tops along the cut") {
  on_few_backends([](backends::machine const& m) {
    if (!m.has_gpu()) return;
    for (std::int64_t const n : {7, 2}) {
      auto const x = wild<float>(n, n, 3, std::uint64_t(n));
      Tensor<float, Dextents<3>, replicas::cut<2, 0>> const rows(x);
      check_pieces<1>(x, rows, true);
      check_pieces<0>(x, rows, false);
      Tensor<float, Dextents<3>, replicas::cut<2, 1>> const middle(x);
      check_pieces<1>(x, middle, false);
    }
  });
  using Rows = Tensor<float, Extents<12, 9>, replicas::cut<3, 0>>;
  using A = decltype(result<0>(top_k<2, 1>(std::declval<Rows&>())));
  static_assert(plan_of<A>.result() == replicas::cut<3>::value && plan_of<A>.copies() == 0 &&
                plan_of<A>.all_reduces() == 0 && plan_of<A>.launches() == 1);
  using B = decltype(result<1>(top_k<2, 0>(std::declval<Rows&>())));
  static_assert(plan_of<B>.result() == replicas::mirrored<3>::value && plan_of<B>.launches() == 2 &&
                plan_of<B>.copies() == 0);
}

TEST_CASE("the gradient of the values puts the adjoint at their places") {
  on_few_backends([](backends::machine const& m) {
    auto x = rows::random<double>(Dextents<2>(5, 4), 6);
    auto const w = rows::random<double>(Dextents<2>(5, 2), 7);
    auto const p = named<"x">(x);
    auto const [low, low_places] = top_k<1, 0>(p, smallest);
    if (!m.has_gpu()) {
      auto const [values, places] = top_k<2>(p);
      rows::check_gradient(sum(w * square(values)), x, p);
      return rows::check_gradient(sum(square(low)), x, p);
    }
    Tensor<double, Dextents<2>, replicas::cut<2>> const cut(x);
    auto const q = named<"cut">(cut);
    auto const [values, places] = top_k<1, 0>(q, smallest);
    CHECK(values_in(grad(sum(square(values)), q)) == values_in(grad(sum(square(low)), p)));
  });
}

TEST_CASE("extents, and lines that are too short") {
  Tensor<int, Extents<2, 3>> const x{{3, 1, 2}, {6, 5, 4}};
  auto const [values, places] = top_k<2>(x);
  auto const v = eval(values);
  static_assert(std::is_same_v<decltype(v)::extents_type, Extents<2, 2>>);
  CHECK(values_in(v) == std::vector<double>{3, 2, 6, 5});
  Tensor<int, Extents<2, 2>> both;
  Tensor<std::int64_t, Extents<2, 2>> of;
  run(plan(into(both, values), into(of, places)));
  CHECK(values_in(both) == values_in(v));
  CHECK(values_in(of) == std::vector<double>{0, 2, 0, 1});
  // one value, where the same is asked for twice
  auto const [again, unread] = top_k<2>(x);
  CHECK(values_in(values + again) == std::vector<double>{6, 4, 12, 10});
  static_assert(plan_of<decltype(values + again)>.launches() == 2);
  Tensor<int, Dextents<1>> const open(1);
  auto const [more, unread_places] = top_k<2>(open);
  CHECK_THROWS_AS(values_in(more), shape_error);
}

}  // namespace top_k_test
