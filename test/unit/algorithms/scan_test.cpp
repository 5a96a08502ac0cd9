// SPDX-License-Identifier: Apache-2.0
// Scans beside a plain loop: kinds, axes, both ends, types, lines of one chunk and of many, pieces along
// the axis and along others, derivatives; the same bits on host and cards.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include <locus/algorithms/scan.hpp>
#include <replicas.hpp>

#include "rows.hpp"

namespace scan_test {

using namespace locus;
using locus::half;
using rows::values_in;

namespace {

double added(double a, double b) { return a + b; }
double multiplied(double a, double b) { return a * b; }
double larger(double a, double b) { return std::isnan(a) || a > b ? a : b; }
double smaller(double a, double b) { return std::isnan(a) || a < b ? a : b; }

template <class X, class Fold>
std::vector<double> scanned(X const& x, int axis, double first, Fold const& fold, bool exclusive_,
                            bool backwards) {
  rows::around const of(x.extents().as_shape(), axis, 1);
  auto const from = values_in(x);
  std::vector<double> r(from.size());
  for (std::int64_t o = 0; o < of.outer; ++o)
    for (std::int64_t c = 0; c < of.inner; ++c) {
      double total = first;
      for (std::int64_t k = 0; k < of.n; ++k) {
        std::int64_t const j = backwards ? of.n - 1 - k : k;
        auto const at = std::size_t((o * of.n + j) * of.inner + c);
        double const next = fold(total, from[at]);
        r[at] = exclusive_ ? total : next;
        total = next;
      }
    }
  return r;
}
template <class T>
constexpr double lowest = is_floating_v<T> ? -std::numeric_limits<double>::infinity()
                                           : double(std::numeric_limits<T>::lowest());
template <class T>
constexpr double highest = is_floating_v<T> ? std::numeric_limits<double>::infinity()
                                            : double(std::numeric_limits<T>::max());

/// all scans of x, whose values are at `there`, along Axis
template <int Axis, class X, class There>
void check_scans(X const& x, There const& there) {
  using T = typename X::value_type;
  CAPTURE(Axis);
  CHECK(values_in(cumsum<Axis>(there)) == scanned(x, Axis, 0, added, false, false));
  CHECK(values_in(cumsum<Axis>(there, exclusive)) == scanned(x, Axis, 0, added, true, false));
  CHECK(values_in(cumsum<Axis>(there, from_end)) == scanned(x, Axis, 0, added, false, true));
  CHECK(values_in(cumsum<Axis>(there, exclusive, from_end)) ==
        scanned(x, Axis, 0, added, true, true));
  if constexpr (!std::is_same_v<T, bool>) {
    CHECK(values_in(cummax<Axis>(there)) == scanned(x, Axis, lowest<T>, larger, false, false));
    CHECK(values_in(cummin<Axis>(there, exclusive, from_end)) ==
          scanned(x, Axis, highest<T>, smaller, true, true));
  }
}
/// zeros and ones, so few that every type holds their sums
template <class T, class E>
Tensor<T, E> small(E const& extents, std::uint64_t seed) {
  Tensor<T, E> x(extents);
  oracle::random r(seed);
  for (std::int64_t i = 0; i < x.size(); ++i) x.data()[i] = T(int(r.number(0, 3) == 0));
  return x;
}
template <class Where, class T>
void check_types() {
  std::int64_t const sizes[][3] = {{1, 1, 1},  {2, 0, 3}, {1, 255, 1}, {2, 257, 2},
                                   {1, 5, 70}, {3, 1, 4}, {1, 700, 3}, {70, 3, 1}};
  for (auto const& s : sizes) {
    CAPTURE(s[1]);
    auto const x = small<T>(Dextents<3>(s[0], s[1], s[2]), 1);
    Tensor<T, Dextents<3>, Where> const there(x);
    check_scans<1>(x, there);
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, std::int32_t>) {
      check_scans<0>(x, there);  // the axis decides about lines, the type about their folds
      check_scans<2>(x, there);
    }
  }
}
template <int R>
void check_pieces() {
  CAPTURE(R);
  for (std::int64_t const n : {10, 7, 2, 1, 0}) {
    CAPTURE(n);
    auto const x = rows::random<int>(Dextents<3>(n, 5, 3), 2);
    auto const check = [&](auto const& there) {
      check_scans<0>(x, there);
      check_scans<1>(x, there);
      check_scans<2>(x, there);
    };
    rows::in_each_way<R>(x, check);
  }
}

}  // namespace

TEST_CASE("scans are the plain loop, for each type") {
  on_few_backends([](backends::machine const& m) {
    check_types<CpuDevice, float>();
    check_types<CpuDevice, double>();
    check_types<CpuDevice, half>();
    check_types<CpuDevice, bfloat16>();
    check_types<CpuDevice, std::int64_t>();
    check_types<CpuDevice, int>();
    check_types<CpuDevice, bool>();
    if (!m.has_gpu()) return;
    check_types<GpuDevice<0>, float>();
    check_types<GpuDevice<1>, half>();
    check_types<GpuDevice<0>, int>();
    check_types<GpuDevice<0>, bool>();
  });
}

TEST_CASE("blocks of lines hold each line once, also of more lines than an int counts") {
  for (std::int64_t const lines : {0L, 1L, 7L, 5000L, 3000000000L})
    for (std::int64_t const n : {0L, 1L, 300L, 100000L})
      for (int const threads : {1, 2, 5}) {
        std::atomic<std::int64_t> count = 0, sum = 0;  // sum modulo 2^64 of first + ... + end - 1
        algorithms::host::for_blocks_of_lines(lines, n, threads,
                                              [&](std::int64_t first, std::int64_t end) {
                                                count += end - first;
                                                sum += (end - first) * (first + end - 1) / 2;
                                              });
        CHECK(count == lines);
        CHECK(sum == lines * (lines - 1) / 2);
      }
}

TEST_CASE("products, negative axes, static extents, operands with gaps, NaN") {
  auto const x = rows::random<double>(Extents<3, 4>{}, 3);
  CHECK(values_in(eval(cumprod<1>(x))) == scanned(x, 1, 1, multiplied, false, false));
  CHECK(values_in(eval(cumprod<-2>(x, exclusive))) == scanned(x, 0, 1, multiplied, true, false));
  auto const y = eval(cumsum<-1>(transpose(x)));
  static_assert(std::is_same_v<decltype(y)::extents_type, Extents<4, 3>>);
  CHECK(values_in(y) == scanned(eval(transpose(x) + 0.), 1, 0, added, false, false));
  static_assert(plan_of<decltype(cumsum<0>(x))>.launches() == 1);
  Tensor<int, Extents<2>> const two{3, 4};
  static_assert(std::is_same_v<decltype(cumsum<0>(two))::value_type, std::int64_t>);
  static_assert(std::is_same_v<decltype(cummax<0>(two))::value_type, int>);
  Tensor<float, Extents<4>> const z{1.f, NAN, 3.f, 2.f};
  auto const most = fetch(cummax<0>(z));
  CHECK(most(0) == 1);
  CHECK((std::isnan(most(1)) && std::isnan(most(3))));
  // floats are added in double
  Tensor<float, Extents<3>> const large{1e8f, 1.f, -1e8f};
  CHECK(fetch(cumsum<0>(large))(2) == 1);
}

TEST_CASE("a long line has the same bits on one thread, on several and on cards") {
  on_few_backends([](backends::machine const& m) {
    auto const x = rows::random<float>(Dextents<1>(100003), 4, -1, 1);
    auto const lines = rows::random<float>(Dextents<2>(5000, 70), 5, -1, 1);
    auto const a = fetch(cumsum<0>(x));
    double total = 0;
    for (std::int64_t i = 0; i < x.size(); ++i) total += double(x.data()[i]);
    CHECK(double(a(x.size() - 1)) == doctest::Approx(total));
    auto const was = config::get_intra_op_parallelism_threads();
    config::set_intra_op_parallelism_threads(1);
    auto const one = fetch(cumsum<0>(x));
    auto const other = fetch(cumsum<0>(lines, exclusive));
    config::set_intra_op_parallelism_threads(was);
    CHECK(oracle::same_bits(a, one));
    CHECK(oracle::same_bits(other, fetch(cumsum<0>(lines, exclusive))));
    if (!m.has_gpu()) return;
    Tensor<float, Dextents<1>, GpuDevice<0>> const there(x);
    CHECK(oracle::same_bits(a, fetch(cumsum<0>(there))));
    for (std::int64_t const n : {256, 257, 512, 3000, 4096, 4097, 70001}) {
      CAPTURE(n);
      auto const rows = rows::random<float>(Dextents<2>(5, n), 6, -1, 1);
      Tensor<float, Dextents<2>, GpuDevice<0>> const on_card(rows);
      CHECK(oracle::same_bits(fetch(cumsum<1>(rows)), fetch(cumsum<1>(on_card))));
      CHECK(oracle::same_bits(fetch(cumsum<1>(rows, exclusive, from_end)),
                              fetch(cumsum<1>(on_card, exclusive, from_end))));
      CHECK(oracle::same_bits(fetch(cummax<1>(rows)), fetch(cummax<1>(on_card))));
    }
  });
}

TEST_CASE("scans of pieces, along the cut and along other axes") {
  on_backends([](backends::machine const& m) {
    if (m.gpus > 0 && m.gpus < 4) return;
    check_pieces<1>();
    check_pieces<2>();
    check_pieces<3>();
  });
}

TEST_CASE("the traffic of scans of pieces is constant") {
  using Rows = Tensor<float, Extents<12, 9>, replicas::cut<3, 0>>;
  using Whole = Tensor<float, Extents<12, 9>, replicas::mirrored<3>>;
  using A = decltype(cumsum<1>(std::declval<Rows&>()));
  static_assert(plan_of<A>.result() == replicas::cut<3>::value && plan_of<A>.copies() == 0 &&
                plan_of<A>.all_reduces() == 0 && plan_of<A>.launches() == 1);
  using B = decltype(cumsum<0>(std::declval<Rows&>()));
  static_assert(plan_of<B>.result() == replicas::cut<3>::value && plan_of<B>.copies() == 0 &&
                plan_of<B>.all_reduces() == 1 && plan_of<B>.bytes_reduced() == 8 * 8 * 9 &&
                plan_of<B>.launches() == 2);
  using C = decltype(cumsum<0>(std::declval<Whole&>()));
  static_assert(plan_of<C>.result() == replicas::mirrored<3>::value &&
                plan_of<C>.all_reduces() == 0);
}

TEST_CASE("the derivative of a scan is the scan from the other end") {
  on_few_backends([](backends::machine const& m) {
    auto x = rows::random<double>(Dextents<2>(4, 3), 6, 1, 2);
    auto const p = named<"x">(x);
    rows::check_gradient(sum(square(cumsum<0>(p))), x, p);
    rows::check_gradient(sum(sin(cumsum<1>(p, exclusive))), x, p);
    rows::check_gradient(sum(square(cumsum<1>(p, exclusive, from_end))), x, p);
    rows::check_gradient(sum(sin(cumprod<0>(p))), x, p);
    rows::check_gradient(sum(square(cumprod<1>(p, exclusive))), x, p);
    rows::check_gradient(sum(square(cumprod<1>(p, from_end))), x, p);
    if (!m.has_gpu()) return;
    Tensor<double, Dextents<2>, replicas::cut<2>> const cut(x);
    auto const q = named<"cut">(cut);
    auto const near = [](auto const& a, auto const& b) {
      REQUIRE(a.size() == b.size());
      for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i] == doctest::Approx(b[i]));
    };
    near(values_in(grad(sum(square(cumsum<0>(q))), q)),
         values_in(grad(sum(square(cumsum<0>(p))), p)));
    near(values_in(grad(sum(cumsum<0>(q)), q)), values_in(grad(sum(cumsum<0>(p)), p)));
    near(values_in(grad(sum(square(cumprod<0>(q, exclusive))), q)),
         values_in(grad(sum(square(cumprod<0>(p, exclusive))), p)));
    near(values_in(grad(sum(square(cumsum<1>(q))), q)),
         values_in(grad(sum(square(cumsum<1>(p))), p)));
  });
}

}  // namespace scan_test
