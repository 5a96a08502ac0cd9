// SPDX-License-Identifier: Apache-2.0
// Complex numbers and integers of 16 bits or without a sign on a card: maps, folds, products, moves and sorts beside the
// host's.
#include <worst_of.hpp>

#include <locus/cub.cuh>

#include <doctest/doctest.h>

#include <complex>
#include <cstdint>
#include <random>
#include <string>

#include <locus/algorithms/sort.hpp>
#include <locus/algorithms/take.hpp>
#include <locus/complex.hpp>
#include <locus/testing/count.hpp>

#include "count.hpp"

using namespace locus;

LOCUS_INSTANTIATE_ALGORITHM(locus::cuda_side::sort_keys<std::uint16_t>,
                            locus::cuda_side::sort_keys<std::uint64_t>);

namespace {

using Gpu = GpuDevice<0>;
using ptx_counts::measure;

template <class T, class E>
Tensor<T, E> drawn(E const& extents, unsigned seed) {
  Tensor<T, E> x(extents);
  std::mt19937_64 random(seed);
  auto const part = [&] { return double(random() >> 11) * 0x1p-52 - 1; };
  for (std::int64_t i = 0; i < x.size(); ++i)
    if constexpr (is_complex_v<T>)
      x.data()[i] = T(real_t<T>(part()), real_t<T>(part()));
    else
      x.data()[i] = static_cast<T>(random() >> random() % 64);
  return x;
}
template <class T>
double apart(T a, T b) {
  if constexpr (is_complex_v<T>)
    return std::abs(std::complex<double>(a.re - b.re, a.im - b.im)) /
           (std::abs(std::complex<double>(b.re, b.im)) + 1e-3);
  else
    return std::abs(double(a) - double(b)) / (std::abs(double(b)) + 1e-3);
}
/// f(x...) on the card, in `launches` launches, is f(x...) on the host, but for `most`
template <class F, class... X>
void near_on_card(char const* what, double most, int launches, F const& f, X const&... x) {
  CAPTURE(what);
  using E = decltype(f(x...));
  Tensor<typename E::value_type, Dextents<E::pattern.rank>, CpuDevice> const here(
      on<CpuDevice>(f(x...)));
  auto const copies = std::make_tuple(to<Gpu>(x)...);
  std::string const label = std::string(what) + std::to_string(here.size());
  auto there = std::apply([&](auto const&... on) { return eval(f(on...)); }, copies);
  auto const seen =
      testing::count([&] { std::apply([&](auto const&... on) { there = f(on...); }, copies); });
  CHECK(seen.launches == launches);
  CHECK(seen.copies == 0);
  Tensor<typename E::value_type, Dextents<E::pattern.rank>, CpuDevice> const back =
      to<CpuDevice>(there);
  double worst = 0;
  for (std::int64_t i = 0; i < here.size(); ++i)
    worst = worst_of(worst, apart(back.data()[i], here.data()[i]));
  CHECK(worst <= most);
}

template <class T>
void check_complex(std::int64_t n) {
  using C = complex<T>;
  double const few = is_complex_v<C> && sizeof(T) == 4 ? 2e-6 : 4e-15;
  auto const x = drawn<C>(Dextents<1>(n), 1), y = drawn<C>(Dextents<1>(n), 2);
  near_on_card(
      "a x + conj(y)", few, 1,
      [](auto const& p, auto const& q) { return std::complex<double>(0.5, 2) * p + conj(q); }, x,
      y);
  near_on_card(
      "x y / (y + 3)", few, 1, [](auto const& p, auto const& q) { return p * q / (q + 3); }, x, y);
  near_on_card("abs exp", few, 1, [](auto const& p) { return abs(exp(p) + sqrt(p)); }, x);
  near_on_card("log sin tanh", 4 * few, 1, [](auto const& p) { return log(sin(p) * tanh(p)); }, x);
  near_on_card(
      "arg and parts", few, 1,
      [](auto const& p) { return make_complex(arg(p), abs2(p)) + polar(real(p), imag(p)); }, x);
  near_on_card(
      "sum of products", 20 * few, 1, [](auto const& p, auto const& q) { return sum(p * conj(q)); },
      x, y);
  auto const m = drawn<C>(Dextents<2>(37, n / 37 + 1), 3);
  near_on_card("sums of rows", 20 * few, 1, [](auto const& p) { return sum<1>(p); }, m);
  near_on_card("sums of columns", 20 * few, 1, [](auto const& p) { return sum<0>(p * 2); }, m);
  near_on_card("transpose", 0, 0, [](auto const& p) { return transpose(p); }, m);
  near_on_card(
      "a slice and a row", few, 1,
      [](auto const& p) { return slice(p, range{1, 20}) * slice(p, range{3, 4}); }, m);
  near_on_card("a product", 20 * few, 1, [](auto const& p) { return matmul(p, transpose(p)); }, m);
}
template <class T>
void check_integers(std::int64_t n) {
  auto const x = drawn<T>(Dextents<1>(n), 4), y = drawn<T>(Dextents<1>(n), 5);
  near_on_card(
      "arithmetic", 0, 1,
      [](auto const& p, auto const& q) { return floor_div(p * q - p, q) ^ (p >> (q & T(7))); }, x,
      y);
  near_on_card(
      "larger ones", 0, 1,
      [](auto const& p, auto const& q) {
        return where(p > q, p, q) + cast<T>(cast<float>(p & T(255)));
      },
      x, y);
  near_on_card("sum", 0, 1, [](auto const& p) { return sum(p); }, x);
  near_on_card("maximum", 0, 1, [](auto const& p) { return max(p); }, x);
}

}  // namespace

TEST_CASE("complex numbers on a card") {
  for (std::int64_t const n : {1, 33, 5000}) check_complex<float>(n), check_complex<double>(n);
}
TEST_CASE("integers on a card") {
  for (std::int64_t const n : {1, 33, 5000}) {
    check_integers<std::int16_t>(n);
    check_integers<std::uint32_t>(n);
    check_integers<std::uint64_t>(n);
  }
}
TEST_CASE("sorts of integers without a sign") {
  auto const few = drawn<std::uint16_t>(Dextents<1>(3000), 6);
  auto const many = drawn<std::uint64_t>(Dextents<1>(3000), 7);
  near_on_card("sort of 16 bits", 0, 1, [](auto const& p) { return sort<0>(p); }, few);
  near_on_card("sort of 64 bits", 0, 1, [](auto const& p) { return sort<0>(p); }, many);
}
