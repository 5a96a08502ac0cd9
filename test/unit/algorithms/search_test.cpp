// SPDX-License-Identifier: Apache-2.0
// search_sorted beside std::lower_bound and std::upper_bound: types, lengths, equal elements, NaN, several
// threads, pieces along each axis, elements without order.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include <locus/algorithms/search_sorted.hpp>
#include <message_of.hpp>
#include <replicas.hpp>

#include "rows.hpp"

namespace search_test {

using namespace locus;
using locus::half;
using rows::values_in;

namespace {

/// NaN is behind all numbers
bool less(double a, double b) { return a < b || (b != b && a == a); }
std::vector<double> places(std::vector<double> const& s, std::vector<double> const& x,
                           bool behind) {
  std::vector<double> r;
  for (double const v : x)
    r.push_back(double((behind ? std::upper_bound(s.begin(), s.end(), v, less)
                               : std::lower_bound(s.begin(), s.end(), v, less)) -
                       s.begin()));
  return r;
}
template <class T>
Tensor<T, Dextents<3>> some(std::int64_t a, std::int64_t b, std::int64_t c, std::uint64_t seed) {
  Tensor<T, Dextents<3>> x(Dextents<3>(a, b, c));
  oracle::random r(seed);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    x.data()[i] = T(int(r.number(-40, 40)));
    if constexpr (is_floating_v<T>) {
      float const wild[] = {NAN, INFINITY, -INFINITY, -0.f};
      if (r.number(0, 9) == 0) x.data()[i] = T(wild[r.number(0, 3)]);
    }
  }
  return x;
}
/// sorted, with equal elements
template <class T>
Tensor<T, Dextents<1>> rising(std::int64_t n, std::uint64_t seed) {
  auto const x = some<T>(1, 1, n, seed);
  auto v = values_in(x);
  std::sort(v.begin(), v.end(), less);
  Tensor<T, Dextents<1>> s(n);
  for (std::int64_t i = 0; i < n; ++i) s.data()[i] = static_cast<T>(v[std::size_t(i)]);
  return s;
}
template <class S, class X, class There, class Sorted>
void check_both(S const& s, X const& x, Sorted const& sorted_there, There const& there) {
  CHECK(values_in(search_sorted(sorted_there, there)) == places(values_in(s), values_in(x), false));
  CHECK(values_in(search_sorted(sorted_there, there, behind_equal)) ==
        places(values_in(s), values_in(x), true));
}
template <class T>
void check_type() {
  for (std::int64_t const n : {0, 1, 2, 31, 33, 256, 4095})
    for (std::int64_t const size : {0, 1, 15, 16, 33}) {
      CAPTURE(n);
      CAPTURE(size);
      auto const s = rising<T>(n, std::uint64_t(n));
      auto const x = some<T>(2, size, 3, std::uint64_t(size));
      check_both(s, x, s, x);
    }
}

}  // namespace

TEST_CASE("search_sorted is std::lower_bound and std::upper_bound, for each type") {
  check_type<float>();
  check_type<half>();
  check_type<std::int64_t>();
  check_type<std::uint8_t>();
}

TEST_CASE("searches lie as the values that are looked for") {
  on_few_backends([](backends::machine const& m) {
    if (!m.has_gpu()) return;
    auto const s = rising<float>(77, 1);
    auto const x = some<float>(5, 4, 3, 2);
    Tensor<float, Dextents<1>, replicas::mirrored<2>> const whole(s);
    Tensor<float, Dextents<1>, replicas::cut<2>> const in_pieces(s);
    check_both(s, x, whole, Tensor<float, Dextents<3>, replicas::cut<2, 2>>(x));
    Tensor<float, Dextents<3>, replicas::cut<2, 0>> const rows(x);
    CHECK(values_in(search_sorted(in_pieces, rows)) == places(values_in(s), values_in(x), false));
    if (m.how != backends::kind::simulated || !checked_build) return;
    auto falling = rising<float>(77, 1);
    std::reverse(falling.begin(), falling.end());
    Tensor<float, Dextents<1>, replicas::cut<2>> const wrong(falling);
    CHECK_THROWS_AS(values_in(search_sorted(wrong, rows)), shape_error);
  });
  using S = Tensor<float, Extents<9>, replicas::mirrored<3>>;
  using X = Tensor<float, Extents<12, 6>, replicas::cut<3, 1>>;
  using A = decltype(search_sorted(std::declval<S&>(), std::declval<X&>()));
  static_assert(plan_of<A>.result() == replicas::cut<3, 1>::value && plan_of<A>.copies() == 0 &&
                plan_of<A>.launches() == 1);
}

TEST_CASE(
    "many searches in many elements, which lie in blocks, and the last block is short or whole") {
  auto const x = some<float>(1, 1, 5000, 5);
  for (std::int64_t const n : {16383, 16384, 16385, 20480, 30011}) {
    CAPTURE(n);
    check_both(rising<float>(n, 6), x, rising<float>(n, 6), x);
    check_both(rising<std::uint8_t>(n, 7), some<std::uint8_t>(1, 1, 5000, 8),
               rising<std::uint8_t>(n, 7), some<std::uint8_t>(1, 1, 5000, 8));
    Tensor<float, Dextents<1>> spread(n);
    for (std::int64_t i = 0; i < n; ++i) spread(i) = static_cast<float>(i) * 0.001f - 10;
    check_both(spread, x, spread, x);
  }
}

TEST_CASE("many searches on several threads, and elements without order") {
  auto const s = rising<float>(1000, 3);
  auto const x = some<float>(1, 1, 100003, 4);
  auto const was = config::get_intra_op_parallelism_threads();
  for (int const threads : {1, 3}) {
    config::set_intra_op_parallelism_threads(threads);
    check_both(s, x, s, x);
  }
  config::set_intra_op_parallelism_threads(was);
  Tensor<float, Dextents<1>> wrong(4);
  wrong = full<float>(Extents<4>{}, 2.f);
  wrong(2) = NAN;
  auto const said = message_of([&] { values_in(search_sorted(wrong, x)); });
  if (checked_build)
    CHECK(said == "locus: search_sorted reads elements that are not sorted: element 2 is greater "
                  "than the one behind it; write search_sorted(sort<0>(s), x)");
  else
    CHECK(said == nothing_thrown);
}

}  // namespace search_test
