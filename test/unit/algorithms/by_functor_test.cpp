// SPDX-License-Identifier: Apache-2.0
// Scans and folds by functors beside plain loops: an associative functor that does not commute, axes, types, both
// forms of extents, numbers in front, pieces along other axes; on the host, on simulated GPUs and over the recorder.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>
// the kernels of the test come first
#include <last_set.hpp>

#include <complex>

#include <locus/algorithms/by_functor.hpp>
#include <locus/complex.hpp>

#include "rows.hpp"

namespace by_functor_test {

using namespace locus;
using locus::half;

namespace {

/// a functor with a number of its own
struct larger_part {
  LOCUS_OPERATION("larger_part", on_both)
  int modulus;
  LOCUS_HOST_DEVICE int operator()(int a, int b) const { return a % modulus < b % modulus ? b : a; }
};
/// two matrices of 2 x 2 with bits as elements: associative, and does not commute
struct product_of_bits {
  LOCUS_OPERATION("product_of_bits", on_both)
  LOCUS_HOST_DEVICE std::uint8_t operator()(std::uint8_t a, std::uint8_t b) const {
    unsigned r = 0;
    for (unsigned i = 0; i < 2; ++i)
      for (unsigned j = 0; j < 2; ++j)
        r |= (((a >> 2 * i & b >> j) ^ (a >> (2 * i + 1) & b >> (2 + j))) & 1u) << (2 * i + j);
    return static_cast<std::uint8_t>(r);
  }
};

/// x -> re x + im, after the one before: associative, and does not commute
struct line_after_line {
  LOCUS_OPERATION("line_after_line", on_both)
  template <class T>
  LOCUS_HOST_DEVICE T operator()(T a, T b) const {
    return T(a.re * b.re, a.im * b.re + b.im);
  }
};

template <class T, class E>
Tensor<T, E> few(E const& extents, std::uint64_t seed) {
  Tensor<T, E> x(extents);
  oracle::random r(seed);
  for (std::int64_t i = 0; i < x.size(); ++i)
    x.data()[i] = static_cast<T>(float(r.number(0, 2) == 0 ? r.number(1, 99) : 0));
  return x;
}

/// means: lines of slopes -1, 0, 1, so that sums are exact in any order
template <class T>
Tensor<complex<T>, Dextents<3>> few_lines(Dextents<3> const& extents, std::uint64_t seed) {
  Tensor<complex<T>, Dextents<3>> x(extents);
  oracle::random r(seed);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    T const slope = r.number(0, 9) == 0 ? T(0) : T(r.number(0, 1) * 2 - 1);
    x.data()[i] = {slope, T(r.number(-5, 5))};
  }
  return x;
}

/// scans and folds of x along Axis by f, whose values are at `there`, beside loops
template <int Axis, class X, class There, class F>
void check(X const& x, There const& there, F const& f, int first) {
  using T = typename X::value_type;
  using C = compute_t<T>;
  CAPTURE(Axis);
  rows::around const of(x.extents().as_shape(), Axis, 1);
  Tensor<T, Dextents<3>> const scanned = scan<Axis>(there, f), from = scan<Axis>(there, f, first),
                               shifted = scan<Axis>(there, f, first, exclusive);
  Tensor<T, Dextents<2>> const folded = reduce<Axis>(there, f, first);
  bool right = true;
  for (std::int64_t o = 0; o < of.outer; ++o)
    for (std::int64_t c = 0; c < of.inner; ++c) {
      C own = C(0), total = static_cast<C>(first);
      for (std::int64_t j = 0; j < of.n; ++j) {
        std::int64_t const at = (o * of.n + j) * of.inner + c;
        C const v = static_cast<C>(x.data()[at]);
        own = j == 0 ? v : static_cast<C>(f(own, v));
        right = right && shifted.data()[at] == static_cast<T>(total);
        total = static_cast<C>(f(total, v));
        right = right && scanned.data()[at] == static_cast<T>(own);
        right = right && from.data()[at] == static_cast<T>(total);
      }
      right = right && folded.data()[o * of.inner + c] == static_cast<T>(total);
    }
  CHECK(right);
}
template <int R, int Axis, class T>
auto cut_of(Tensor<T, Dextents<3>> const& x) {
  return Tensor<T, Dextents<3>, replicas::cut<R, Axis>>(x);
}
template <class Where, class T, class F>
void check_sizes(F const& f, int first) {
  std::int64_t const sizes[][3] = {{1, 1, 1},  {2, 0, 3},    {1, 255, 1}, {2, 257, 2},
                                   {1, 5, 70}, {1, 4099, 1}, {3, 700, 3}};
  for (auto const& s : sizes) {
    CAPTURE(s[1]);
    auto const x = few<T>(Dextents<3>(s[0], s[1], s[2]), 1);
    check<1>(x, Tensor<T, Dextents<3>, Where>(x), f, first);
  }
}

}  // namespace

TEST_SUITE_BEGIN("algorithms/by_functor");

TEST_CASE("scans and folds have the order and the numbers of a loop") {
  on_few_backends([] {
    check_sizes<GpuDevice<0>, float>(last_set{}, 7);
    check_sizes<GpuDevice<0>, half>(last_set{}, 7);
    check_sizes<GpuDevice<0>, std::int32_t>(larger_part{10}, 3);
    check_sizes<GpuDevice<0>, std::uint8_t>(product_of_bits{}, 6);
    auto const x = few<double>(Extents<4, 33, 5>{}, 2);
    auto const there = to<GpuDevice<1>>(x);
    check<0>(x, there, last_set{}, 0);
    check<2>(x, there, last_set{}, 1);
    static_assert(plan_of<decltype(scan<-1>(there, last_set{}, 1.))>.launches() == 1);
    static_assert(plan_of<decltype(scan<1>(there, last_set{}))>.copies() == 0);
    using folds = decltype(reduce<1>(there * 2., last_set{}, 1.));
    static_assert(folds::pattern == shape{2, {4, 5}} && plan_of<folds>.launches() == 2);
    // pieces along another axis stay where they are
    using Pieces = Sharded<0, GpuDevice<0>, GpuDevice<1>>;
    Tensor<double, Extents<4, 33, 5>, Pieces> const pieces(x);
    check<1>(x, pieces, last_set{}, 5);
    static_assert(device_of<decltype(reduce<1>(pieces, last_set{}, 1.))>.is_sharded());
  });
}
TEST_CASE("pieces along the axis go on from the totals of the pieces in front") {
  on_backends([](backends::machine const& m) {
    if (m.gpus > 0 && m.gpus < 4) return;
    auto const each_cut = [](auto const& x, auto const& f, int first) {
      check<0>(x, cut_of<1, 0>(x), f, first);
      check<0>(x, cut_of<2, 0>(x), f, first);
      check<0>(x, cut_of<4, 0>(x), f, first);
      check<1>(x, cut_of<3, 1>(x), f, first);
      check<2>(x, cut_of<2, 2>(x), f, first);
    };
    std::int64_t const sizes[][3] = {{9, 5, 4}, {2, 1, 3}, {0, 4, 1}, {1, 700, 2}, {1030, 3, 2}};
    for (auto const& s : sizes) {
      CAPTURE(s[0]);
      CAPTURE(s[1]);
      Dextents<3> const extents(s[0], s[1], s[2]);
      each_cut(few<float>(extents, 4), last_set{}, 7);
      each_cut(few<half>(extents, 5), last_set{}, 7);
      each_cut(few<double>(extents, 6), last_set{}, 0);
      each_cut(few<std::int32_t>(extents, 7), larger_part{10}, 3);
      each_cut(few<std::uint8_t>(extents, 8), product_of_bits{}, 6);
      each_cut(few_lines<float>(extents, 10), line_after_line{}, 2);
      each_cut(few_lines<double>(extents, 11), line_after_line{}, -3);
      each_cut(few<complex<double>>(extents, 12), last_set{}, 0);
    }
    auto large = few<std::uint64_t>(Dextents<3>(7, 2, 1), 9);
    for (std::int64_t i = 0; i < large.size(); ++i) large.data()[i] <<= 57;
    each_cut(large, last_set{}, 7);
  });
  using Pieces = Tensor<float, Extents<8, 3>, replicas::cut<4, 0>>;
  using scanned = decltype(scan<0>(std::declval<Pieces&>(), last_set{}));
  static_assert(plan_of<scanned>.all_reduces() == 1 && device_of<scanned>.is_sharded());
  using folded = decltype(reduce<0>(std::declval<Pieces&>(), last_set{}, 0));
  static_assert(plan_of<folded>.all_reduces() == 1 && !device_of<folded>.is_sharded());
  using Lines = Tensor<complex<float>, Extents<8, 3>, replicas::cut<4, 0>>;
  using lines = decltype(scan<0>(std::declval<Lines&>(), line_after_line{}));
  static_assert(plan_of<lines>.all_reduces() == 1 && device_of<lines>.is_sharded());
}
TEST_CASE("a lambda of the host folds there, complex numbers too; chunks decide about the bits") {
  std::int64_t const n = 300'001;
  Tensor<double, Dextents<1>> x(n);
  x = uniform<double>(x.extents(), seed{3}, 0.5, 1.5);
  double const least = 0.75;
  auto const f = [least](double a, double b) { return a + b > least ? a + b : least; };
  // any number of threads adds chunk by chunk
  std::int64_t const chunk = algorithms::scan_chunk(n);
  double total = 1, in_turn = 1;
  for (std::int64_t first = 0; first < n; first += chunk) {
    double own = x(first);
    for (std::int64_t i = first + 1; i < n && i < first + chunk; ++i) own = f(own, x(i));
    total = f(total, own);
  }
  for (std::int64_t i = 0; i < n; ++i) in_turn = f(in_turn, x(i));
  CHECK(fetch(reduce<0>(x, f, 1)) == total);
  Tensor<double, Dextents<1>> const scanned = scan<0>(x, f, 1);
  CHECK(scanned(0) == f(1, x(0)));
  CHECK(std::abs(scanned(n - 1) / in_turn - 1) < 1e-12);
  Tensor<complex<float>, Extents<3>> const z{complex<float>(0, 1), complex<float>(2, 0),
                                             complex<float>(0, 1)};
  auto const turned = [](complex<float> p, complex<float> q) { return p * q; };
  CHECK(fetch(reduce<0>(z, turned, std::complex<float>(1, 0))) == complex<float>(-2, 0));
}

TEST_SUITE_END();

}  // namespace by_functor_test
