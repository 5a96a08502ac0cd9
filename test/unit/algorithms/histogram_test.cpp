// SPDX-License-Identifier: Apache-2.0
// histogram and bincount beside a plain loop: types, both ends of the range, NaN, equal edges, many bins,
// several threads, pieces along each axis, weights and their derivative, what errors say.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>

#include <cmath>
#include <limits>

#include <locus/algorithms/histogram.hpp>
#include <message_of.hpp>
#include <replicas.hpp>

#include "rows.hpp"

namespace histogram_test {

using namespace locus;
using locus::half;
using rows::values_in;

namespace {

/// counts in [edges[b], edges[b + 1]), the last bin closed; elements and edges in double
std::vector<double> counted(std::vector<double> const& x, std::vector<double> const& edges) {
  std::vector<double> r(edges.size() - 1, 0.);
  for (double const v : x)
    for (std::size_t b = r.size(); b-- > 0;)
      if (v >= edges[b] && (v < edges[b + 1] || (b + 1 == r.size() && v == edges[b + 1]))) {
        ++r[b];
        break;
      }
  return r;
}
/// quarters around [-2, 2], whose edges are elements of every type of floats; NaN and infinities
template <class T>
Tensor<T, Dextents<3>> some(std::int64_t a, std::int64_t b, std::int64_t c, std::uint64_t seed) {
  Tensor<T, Dextents<3>> x(Dextents<3>(a, b, c));
  oracle::random r(seed);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    auto const q = r.number(-10, 10);
    if constexpr (is_floating_v<T>) {
      float const wild[] = {NAN, INFINITY, -INFINITY, -0.f};
      x.data()[i] = T(r.number(0, 7) == 0 ? wild[r.number(0, 3)] : float(q) / 4);
    } else
      x.data()[i] = T(q);
  }
  return x;
}
template <class T, class X, class There>
void check_counts(X const& x, There const& there) {
  std::vector<double> const values = values_in(x);
  CHECK(values_in(histogram(there, -2, 2, 8)) ==
        counted(values, {-2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2}));
  Tensor<T, Dextents<1>> edges(5);
  for (int i = 0; i < 5; ++i) edges.data()[i] = T(i < 2 ? i : i - 1);  // 0 1 1 2 3
  CHECK(values_in(histogram(there, edges)) == counted(values, {0, 1, 1, 2, 3}));
}
template <class T>
void check_type() {
  std::int64_t const sizes[][3] = {{1, 0, 3},  {1, 1, 1},   {1, 31, 1}, {4, 1, 8},
                                   {3, 11, 1}, {1, 257, 2}, {16, 8, 32}};
  for (auto const& s : sizes) {
    auto const x = some<T>(s[0], s[1], s[2], std::uint64_t(s[1] + 1));
    CAPTURE(x.size());
    check_counts<T>(x, x);
  }
}

}  // namespace

TEST_CASE("histogram is the plain loop, for each type") {
  check_type<float>();
  check_type<half>();
  check_type<std::int64_t>();
  check_type<std::int8_t>();
}

TEST_CASE("histograms of pieces are partial sums") {
  on_backends([](backends::machine const& m) {
    auto const x = some<float>(7, 5, 6, 3);
    auto const check = [&](auto const& there) { check_counts<float>(x, there); };
    if (m.has_gpu()) check(Tensor<float, Dextents<3>, GpuDevice<0>>(x));
    if (m.gpus > 0 && m.gpus < 4) return;
    check(Tensor<float, Dextents<3>, replicas::cut<3, 0>>(x));
    check(Tensor<float, Dextents<3>, replicas::cut<3, 2>>(x));
    Tensor<float, Dextents<3>, replicas::cut<3, 0>> const none(some<float>(0, 5, 6, 3));
    CHECK(values_in(histogram(none, -2, 2, 8)) == std::vector<double>(8, 0.));
  });
  using Rows = Tensor<float, Extents<12, 9>, replicas::cut<3, 1>>;
  using A = decltype(histogram<5>(std::declval<Rows&>(), 0, 1));
  static_assert(plan_of<A>.launches() == 1 && plan_of<A>.all_reduces() == 1 &&
                plan_of<A>.copies() == 0);
}

TEST_CASE("ids are counted, and their weights added") {
  on_few_backends([](backends::machine const& m) {
    oracle::random r(4);
    Tensor<int, Dextents<1>> ids(1000);
    std::vector<double> want(9, 0.);
    for (int& id : ids) ++want[std::size_t(id = int(r.number(0, 7)))];
    CHECK(values_in(bincount(ids, 9)) == want);
    CHECK(values_in(bincount<9>(ids)) == want);
    if (m.has_gpu()) {
      Tensor<int, Dextents<1>, replicas::cut<2>> const there(ids);
      CHECK(values_in(bincount(there, 9)) == want);
      if (m.how == backends::kind::recorded) return;  // cards leave wrong ids out
    }
    ids(700) = 9;
    CHECK(message_of([&] { values_in(bincount(ids, 9)); }) ==
          "locus: bincount adds to segment 9 of 9 (element 700 of its ids); ids are 0 to 8");
  });
  locus::testing::simulated_gpus const gpus{2};
  Tensor<std::uint64_t, Dextents<2>> const wide{{0, 1}, {0, 1}, {1ull << 63, 2}};
  auto const text = [](char const* place) {
    return std::string("locus: bincount adds to segment 9223372036854775808 of 3 (element ") +
           place + "); ids are 0 to 2";
  };
  CHECK(message_of([&] { values_in(bincount<3>(wide)); }) == text("4 of its ids"));
  Tensor<std::uint64_t, Dextents<2>, replicas::cut<2>> const by_rows(wide);
  CHECK(message_of([&] { values_in(bincount<3>(by_rows)); }) == text("4 of its ids"));
  Tensor<std::uint64_t, Dextents<2>, replicas::cut<2, 1>> const by_columns(wide);
  CHECK(message_of([&] { values_in(bincount<3>(by_columns)); }) ==
        text("2 of its ids on replica 0"));
  Tensor<int, Extents<4>> const ids{2, 0, 2, 2};
  Tensor<double, Extents<4>> w{0.5, 1, 2, 4};
  CHECK(values_in(bincount<3>(ids, w)) == std::vector<double>{1, 0, 6.5});
  auto const p = named<"w">(w);
  rows::check_gradient(sum(square(bincount(ids, p, 3))), w, p);
}

TEST_CASE("many elements and many bins, on one thread and on several") {
  auto const x = rows::random<float>(Dextents<1>(100003), 5, -1, 1);
  auto const was = config::get_intra_op_parallelism_threads();
  for (int const bins : {3, 1024, 5000}) {
    CAPTURE(bins);
    std::vector<double> want(std::size_t(bins), 0.);
    for (float const v : x) ++want[std::size_t((double(v) + 1) * (bins / 2.))];
    Tensor<float, Dextents<1>> edges(bins + 1);
    for (int b = 0; b <= bins; ++b) edges.data()[b] = float(b) * 2 / float(bins) - 1;
    std::vector<double> between(std::size_t(bins), 0.);
    for (float const v : x)
      ++between[std::size_t(std::upper_bound(edges.begin(), edges.end(), v) - edges.begin() - 1)];
    for (int const threads : {1, 2, 5}) {
      config::set_intra_op_parallelism_threads(threads);
      CHECK(values_in(histogram(x, -1, 1, bins)) == want);
      CHECK(values_in(histogram(x, edges)) == between);
    }
  }
  config::set_intra_op_parallelism_threads(was);
}

TEST_CASE("ranges, edges and numbers of bins that are wrong, and those that are extreme") {
  Tensor<float, Extents<3>> const x{1.f, 2.f, 3.f};
  CHECK(message_of([&] { static_cast<void>(histogram<3>(x, 1, 1)); }) ==
        "locus: histogram makes bins between 1 and 1; give it two finite numbers, the smaller one "
        "first, at most 1e308 apart");
  for (double const bad : {double(NAN), double(INFINITY), 0.})
    CHECK_THROWS_AS(static_cast<void>(histogram(x, 0, bad, 3)), configuration_error);
  CHECK_THROWS_AS(static_cast<void>(histogram(x, -1e308, 1e308, 3)), configuration_error);
  CHECK(message_of([&] { static_cast<void>(histogram(x, 0, 1, -2)); }) ==
        "locus: histogram counts in -2 bins; give it 0 to 2147483646");
  Tensor<float, Dextents<1>> edges(4);
  edges = full<float>(Extents<4>{}, 2.f);
  edges(3) = 1;
  CHECK(message_of([&] { static_cast<void>(eval(histogram(x, edges))); }) ==
        "locus: edge 2 of a histogram is 2 and edge 3 is 1; give it edges in rising order");
  edges(3) = NAN;
  CHECK_THROWS_AS(static_cast<void>(eval(histogram(x, edges))), shape_error);
  CHECK_THROWS_AS(static_cast<void>(eval(histogram(x, Tensor<float, Dextents<1>>(0)))),
                  shape_error);
  CHECK(eval(histogram(x, Tensor<float, Dextents<1>>(1))).size() == 0);
  CHECK(eval(histogram(x, 0, 1, 0)).size() == 0);
  static_assert(algorithms::even_bins(0, 1, 0)(0.5f) == 0);  // the number of no bin
  auto const three = eval(histogram<2>(x, 1, 3));
  static_assert(std::is_same_v<decltype(three)::extents_type, Extents<2>> &&
                std::is_same_v<decltype(three)::value_type, std::int64_t>);
  CHECK(values_in(three) == std::vector<double>{1, 2});
  Tensor<float, Extents<1>> const low{std::numeric_limits<float>::lowest()};
  CHECK(values_in(histogram<1>(low, low(0), 0)) == std::vector<double>{1});
}

}  // namespace histogram_test
