// SPDX-License-Identifier: Apache-2.0
// Complex numbers beside std::complex of long double: operators, functions, folds, scans, products, moves, pieces;
// on the host, on simulated GPUs and over the recorder.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>
#include <worst_of.hpp>

#include <complex>
#include <filesystem>
#include <sstream>

#include <locus/algorithms/scan.hpp>
#include <locus/algorithms/segment_sum.hpp>
#include <locus/algorithms/take.hpp>
#include <locus/complex.hpp>
#include <locus/ops/vectors.hpp>
#include <locus/tensor/any_tensor.hpp>
#include <oracle.hpp>

namespace complex_test {

using namespace locus;

namespace {

using wide = std::complex<long double>;

template <class T>
wide widened(complex<T> z) {
  return {z.re, z.im};
}
template <class E>
auto drawn(E const& extents, std::uint64_t seed, double low = -2, double high = 2) {
  return [=]<class T>(T) {
    Tensor<complex<T>, E> z(extents);
    oracle::random r(seed);
    for (std::int64_t i = 0; i < z.size(); ++i)
      z.data()[i] = {T(r.real(low, high)), T(r.real(low, high))};
    return z;
  };
}
template <class T, class E>
Tensor<complex<T>, E> points(E const& extents, std::uint64_t seed) {
  return drawn(extents, seed)(T());
}
/// the largest error beside the absolute value of what it should be, in epsilons of T
template <class T, class X, class F>
double worst(X const& computed, F const& expected) {
  Tensor<typename X::value_type, Dextents<X::rank()>> const here(computed);
  long double all = 0;
  for (std::int64_t i = 0; i < here.size(); ++i) {
    wide const e = expected(i);
    long double error = 0;
    if constexpr (is_complex_v<typename X::value_type>)
      error = std::abs(widened(here.data()[i]) - e);
    else
      error = std::abs(static_cast<long double>(here.data()[i]) - e.real());
    long double const size = std::abs(e);
    if (error > 0 || (error != error && std::isfinite(size)))
      all = worst_of(all, size > 0 ? error / size : error);
  }
  return double(all / std::numeric_limits<T>::epsilon());
}

// ---- the number itself ----
static_assert(std::is_same_v<decltype(complex<float>() * complex<float>()), complex<float>>);
static_assert(std::is_trivially_default_constructible_v<complex<double>> &&
              std::is_trivially_copyable_v<complex<double>> && sizeof(complex<float>) == 8);
static_assert(std::is_convertible_v<complex<float>, complex<double>> &&
              !std::is_convertible_v<complex<double>, complex<float>>);
static_assert(std::is_convertible_v<std::complex<float>, complex<float>> &&
              std::is_convertible_v<complex<double>, std::complex<double>>);
static_assert(complex<double>(3, 4) / complex<double>(1, -2) == complex<double>(-1, 2));
static_assert(complex<double>(1, 2) / complex<double>(-2, 0.5) * 4.25 ==
              complex<double>(-1, -4.5) * 1.);
// steps of these quotients would underflow or overflow
static_assert(complex<double>(0x1p1023, 0x1p1023) / complex<double>(0x1p1023, 0x1p1023) ==
              complex<double>(1, 0));
static_assert(complex<float>(0x1p-149f, 0) / complex<float>(0x1p-149f, 0x1p-149f) ==
              complex<float>(0.5f, -0.5f));
static_assert(complex<double>(0x1p1000, 0) / complex<double>(0x1p400, 0x1p-1050) ==
              complex<double>(0x1p600, -0x1p-850));

// ---- types of elements ----
template <class E>
using element = typename E::value_type;
using Z = Tensor<complex<float>, Extents<3>>;
using W = Tensor<complex<double>, Extents<3>>;
using F = Tensor<float, Extents<3>>;
using D = Tensor<double, Extents<3>>;
template <class A, class B>
using product_of = element<decltype(std::declval<A const&>() * std::declval<B const&>())>;
static_assert(std::is_same_v<product_of<Z, F>, complex<float>>);
static_assert(std::is_same_v<product_of<D, Z>, complex<double>>);
static_assert(std::is_same_v<product_of<Z, W>, complex<double>>);
static_assert(
    std::is_same_v<product_of<Z, double>, complex<float>>);  // a number takes the tensor's type
static_assert(std::is_same_v<product_of<F, std::complex<double>>, complex<float>>);
static_assert(std::is_same_v<product_of<Z, std::complex<double>>, complex<float>>);
static_assert(std::is_same_v<element<decltype(abs(std::declval<Z const&>()))>, float>);
static_assert(std::is_same_v<element<decltype(sum(std::declval<Z const&>()))>, complex<float>>);
static_assert(
    plan_of<decltype(sum(std::declval<Z const&>() * std::declval<Z const&>()))>.launches() == 1);

template <class Where, class T, class E>
void check_maps(E const& extents) {
  auto const a = points<T>(extents, 1), b = points<T>(extents, 2);
  Tensor<T, E> const x = real(b) * T(0.75);
  auto const at = [](auto const& z) {
    return [&z](std::int64_t i) {
      if constexpr (is_complex_v<typename std::remove_cvref_t<decltype(z)>::value_type>)
        return widened(z.data()[i]);
      else
        return wide(z.data()[i]);
    };
  };
  auto const za = at(a), zb = at(b);
  auto const zx = at(x);
  Tensor<complex<T>, E, Where> const p(a), q(b);
  Tensor<T, E, Where> const s(x);
  T const two = 2;
  auto const check = [&](double most, auto const& e, auto const& expected) {
    CHECK(worst<T>(eval(e), expected) <= most);
  };
  check(0.5, p + q, [&](std::int64_t i) { return za(i) + zb(i); });
  check(0.5, p - q, [&](std::int64_t i) { return za(i) - zb(i); });
  check(2, p * q, [&](std::int64_t i) { return za(i) * zb(i); });
  check(3, p / q, [&](std::int64_t i) { return za(i) / zb(i); });
  check(1, p * s, [&](std::int64_t i) { return za(i) * zx(i); });
  check(0.5, p - s, [&](std::int64_t i) { return za(i) - zx(i); });
  check(0.5, s - p, [&](std::int64_t i) { return zx(i) - za(i); });
  check(2, s / q, [&](std::int64_t i) { return zx(i) / zb(i); });
  check(1, -p / two, [&](std::int64_t i) { return -za(i) / 2.L; });
  check(0.5, p + 1, [&](std::int64_t i) { return za(i) + 1.L; });
  check(3, std::complex<double>(0.5, -1) * p,
        [&](std::int64_t i) { return wide(0.5, -1) * za(i); });
  check(2, s * std::complex<float>(0, 1), [&](std::int64_t i) { return zx(i) * wide(0, 1); });
  check(0, conj(p), [&](std::int64_t i) { return std::conj(za(i)); });
  check(0, make_complex(imag(p), real(p)),
        [&](std::int64_t i) { return wide(za(i).imag(), za(i).real()); });
  check(2, abs(p), [&](std::int64_t i) { return wide(std::abs(za(i))); });
  check(2, abs2(p), [&](std::int64_t i) { return wide(std::norm(za(i))); });
  check(3, arg(p), [&](std::int64_t i) { return wide(std::arg(za(i))); });
  check(3, polar(abs(s), s),
        [&](std::int64_t i) { return std::polar(std::abs(zx(i).real()), zx(i).real()); });
  check(3, square(p), [&](std::int64_t i) { return za(i) * za(i); });
  check(4, reciprocal(p), [&](std::int64_t i) { return 1.L / za(i); });
  check(4, exp(p), [&](std::int64_t i) { return std::exp(za(i)); });
  check(5, log(p), [&](std::int64_t i) { return std::log(za(i)); });
  check(3, sqrt(p), [&](std::int64_t i) { return std::sqrt(za(i)); });
  check(6, sin(p), [&](std::int64_t i) { return std::sin(za(i)); });
  check(6, cos(p), [&](std::int64_t i) { return std::cos(za(i)); });
  check(6, sinh(p), [&](std::int64_t i) { return std::sinh(za(i)); });
  check(6, cosh(p), [&](std::int64_t i) { return std::cosh(za(i)); });
  check(6, tanh(p), [&](std::int64_t i) { return std::tanh(za(i)); });
  check(0, where(real(p) > imag(p), p, q),
        [&](std::int64_t i) { return za(i).real() > za(i).imag() ? za(i) : zb(i); });
  check(0, cast<complex<double>>(p), za);
  check(0, cast<complex<T>>(s), zx);
  Tensor<bool, E> const same = p == p, other = p != q;
  for (std::int64_t i = 0; i < a.size(); ++i) CHECK((same.data()[i] && other.data()[i]));
}

template <class Where, class T>
void check_folds(std::int64_t m, std::int64_t n) {
  auto const a = points<T>(Dextents<2>(m, n), 3), b = points<T>(Dextents<2>(m, n), 4);
  Tensor<complex<T>, Dextents<2>, Where> const p(a), q(b);
  auto const at = [n](auto const& z, std::int64_t i, std::int64_t j) {
    return widened(z.data()[i * n + j]);
  };
  wide all = 0, inner = 0;
  long double size = 0, terms = 0;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      all += at(a, i, j), inner += std::conj(at(a, i, j)) * at(b, i, j);
      size += std::norm(at(a, i, j)), terms += std::abs(at(a, i, j) * at(b, i, j));
    }
  long double const epsilon = std::numeric_limits<T>::epsilon();
  auto const off = [](complex<T> z, wide e) { return std::abs(widened(z) - e); };
  CHECK(off(fetch(sum(p)), all) <= 2 * epsilon * std::abs(all) + 0x1p-45L * (terms + 1));
  CHECK(off(fetch(sum(conj(p) * q)), inner) <= 4 * epsilon * (terms + 1));
  CHECK(std::abs(fetch(norm(p)) - std::sqrt(size)) <= 4 * epsilon * (std::sqrt(size) + 1));
  if (m * n > 0)
    CHECK(off(fetch(mean(p)), all / (long double)(m * n)) <= 4 * epsilon * (std::abs(all) + 1));
  Tensor<complex<T>, Dextents<1>> const rows = sum<1>(p), columns = sum<0>(p),
                                        products = prod<1>(p);
  Tensor<complex<T>, Dextents<2>> const scanned = cumsum<1>(p);
  for (std::int64_t i = 0; i < m; ++i) {
    wide total = 0, product = 1;
    for (std::int64_t j = 0; j < n; ++j) {
      total += at(a, i, j), product *= at(a, i, j);
      CHECK(off(scanned.data()[i * n + j], total) <= 8 * epsilon * (long double)(j + 1));
    }
    CHECK(off(rows.data()[i], total) <= 8 * epsilon * (long double)(n + 1));
    if (n < 40)
      CHECK(off(products.data()[i], product) <=
            8 * epsilon * std::abs(product) * (long double)(n + 1));
  }
  for (std::int64_t j = 0; j < n; ++j) {
    wide total = 0;
    for (std::int64_t i = 0; i < m; ++i) total += at(a, i, j);
    CHECK(off(columns.data()[j], total) <= 8 * epsilon * (long double)(m + 1));
  }
}

template <class Where, class T>
void check_products(std::int64_t m, std::int64_t k, std::int64_t n) {
  CAPTURE(m);
  CAPTURE(k);
  CAPTURE(n);
  auto const a = points<T>(Dextents<2>(m, k), 5), b = points<T>(Dextents<2>(k, n), 6);
  Tensor<complex<T>, Dextents<2>, Where> const p(a), q(b), turned = transpose(q);
  Tensor<complex<T>, Dextents<2>> const c = matmul(p, q), d = matmul(p, transpose(turned));
  long double const epsilon = std::numeric_limits<T>::epsilon();
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      wide e = 0;
      long double terms = 0;
      for (std::int64_t l = 0; l < k; ++l) {
        wide const term = widened(a.data()[i * k + l]) * widened(b.data()[l * n + j]);
        e += term, terms += std::abs(term);
      }
      CHECK(std::abs(widened(c.data()[i * n + j]) - e) <= 4 * epsilon * (terms + 1));
      CHECK(std::abs(widened(d.data()[i * n + j]) - e) <= 4 * epsilon * (terms + 1));
    }
}

}  // namespace

TEST_SUITE_BEGIN("ops/complex");

TEST_CASE("a complex number converts from std::complex and back, and lies in memory as one") {
  std::complex<double> const z(1.5, -2);
  complex<double> const c = z;
  std::complex<double> const back = c;
  CHECK((c.re == 1.5 && c.im == -2 && back == z));
  std::complex<float> stored[] = {{1, 2}, {3, 4}, {5, 6}};
  auto const seen = view<CpuDevice>(stored, Extents<3>{});
  run(into(seen, seen * std::complex<float>(0, 1)));
  CHECK(stored[1] == std::complex<float>(-4, 3));
  std::ostringstream out;
  out << c;
  CHECK(out.str() == "(1.5,-2)");
}
TEST_CASE(
    "a view on a GPU begins at a multiple of a complex number, on the host at that of a part") {
  alignas(16) double memory[5] = {9, 1, 2, 3, 4};
  auto* const odd = reinterpret_cast<complex<double>*>(memory + 1);
  auto const here = view<CpuDevice>(odd, Extents<2>{});
  CHECK(fetch(sum(here)) == complex<double>(4, 6));
  CHECK_THROWS_WITH_AS(static_cast<void>(view<GpuDevice<0>>(odd, Extents<2>{})),
                       "locus: a view of complex numbers on a GPU begins at an address that is no "
                       "multiple of 16 bytes; copy them there first",
                       bad_access);
  CHECK_NOTHROW(static_cast<void>(
      view<GpuDevice<0>>(reinterpret_cast<complex<double>*>(memory), Extents<2>{})));
}
TEST_CASE("operators and functions are those of std::complex") {
  on_backends([](backends::machine const& m) {
    using Where = GpuDevice<0>;
    std::int64_t const sizes[] = {0, 1, 31, 32, 33, 255, 256, 257, 4096};
    for (std::int64_t const n : sizes) {
      if (m.how != backends::kind::host && n > 33) continue;
      CAPTURE(n);
      check_maps<Where, float>(Dextents<1>(n));
      check_maps<Where, double>(Dextents<1>(n));
    }
    check_maps<Where, float>(Extents<3, 7>{});
  });
}
TEST_CASE("results far from 1, and on the axes") {
  double const big = 1e300, small = 1e-300, infinity = HUGE_VAL;
  Tensor<complex<double>, Extents<6>> const z{
      {3 * big, 4 * big}, {3 * small, -4 * small}, {0, 0}, {-4, 0}, {-4, -0.0}, {710, 1}};
  Tensor<complex<double>, Extents<6>> const roots = sqrt(z), q = z / z;
  Tensor<double, Extents<6>> const size = abs(z);
  CHECK(std::abs(widened(roots(0)) - std::sqrt(widened(z(0)))) <
        1e-15L * std::abs(std::sqrt(widened(z(0)))));
  CHECK(std::abs(widened(roots(1)) - std::sqrt(widened(z(1)))) <
        1e-15L * std::abs(std::sqrt(widened(z(1)))));
  CHECK((roots(2) == complex<double>(0, 0) && roots(3) == complex<double>(0, 2) &&
         roots(4) == complex<double>(0, -2)));
  CHECK((size(0) == 5 * big && std::abs(size(1) / (5 * small) - 1) < 1e-15 && size(2) == 0));
  CHECK((q(0) == complex<double>(1, 0) && q(1) == complex<double>(1, 0) && q(2).re != q(2).re));
  Tensor<complex<double>, Extents<6>> const e = exp(z), l = log(z);
  CHECK(std::isfinite(e(5).re));  // exp(710) alone overflows
  CHECK(std::abs(e(5).re / std::exp(wide(710, 1)).real() - 1) < 1e-14L);
  CHECK((l(2).re == -infinity && std::abs(l(3).im - 3.14159265358979) < 1e-14 && l(4).im < 0));
  // near the unit circle log |z| would lose its digits
  Tensor<complex<double>, Extents<1>> const near{{1, 1e-9}};
  CHECK(std::abs(fetch(sum(real(log(near)))) / 5e-19 - 1) < 1e-14);
}
/// a number of any magnitude, sometimes 0
template <class T>
T of_any_size(oracle::random& r) {
  if (r.bits() % 8 == 0) return 0;
  using limits = std::numeric_limits<T>;
  int const e = int(r.number(limits::min_exponent - limits::digits, limits::max_exponent));
  double const x = r.real(0.5, 1) * (r.bits() % 2 ? 1 : -1);
  return std::ldexp(T(x), e);
}
/// quotient: a / b where its parts are numbers; wrong by some epsilons of the terms of each part
template <class T>
bool is_quotient(complex<T> quotient, complex<T> a, complex<T> b) {
  using limits = std::numeric_limits<T>;
  long double const by = std::norm(widened(b)), most = limits::max();
  auto const is_part = [&](T part, long double x, long double y) {
    long double const terms = (std::abs(x) + std::abs(y)) / by;
    return std::abs(part - (x + y) / by) <=
           8 * (terms * limits::epsilon() + (long double)limits::denorm_min());
  };
  using L = long double;
  L const ac = L(a.re) * b.re, bd = L(a.im) * b.im, bc = L(a.im) * b.re, ad = L(a.re) * b.im;
  if (by == 0 || (std::abs(ac) + std::abs(bd)) / by > most ||
      (std::abs(bc) + std::abs(ad)) / by > most)
    return true;
  return is_part(quotient.re, ac, bd) && is_part(quotient.im, bc, -ad);
}
template <class T>
void check_quotients() {
  oracle::random r(11);
  std::int64_t const n = 20003;
  Tensor<complex<T>, Dextents<1>> a(n), b(n), q(n), p(n), s(n);
  Tensor<T, Dextents<1>> x(n);
  for (std::int64_t i = 0; i < n; ++i) {
    a(i) = {of_any_size<T>(r), of_any_size<T>(r)};
    b(i) = {of_any_size<T>(r), of_any_size<T>(r)};
    x(i) = of_any_size<T>(r);
    if (i % 4 == 0) a(i) = {T(r.real(-2, 2)), T(r.real(-2, 2))};
    if (i % 16 < 8) b(i) = {T(r.real(-2, 2)), T(r.real(-2, 2))};
  }
  run(into(q, a / b));
  run(into(p, reciprocal(b)));
  run(into(s, x / b));
  int wrong = 0;
  [[maybe_unused]] int other = 0;
  auto const same = [](complex<T> y, complex<T> z) {
    return (y.re == z.re || (y.re != y.re && z.re != z.re)) &&
           (y.im == z.im || (y.im != y.im && z.im != z.im));
  };
  for (std::int64_t i = 0; i < n; ++i) {
    wrong += !is_quotient<T>(q(i), a(i), b(i)) + !is_quotient<T>(p(i), T(1), b(i)) +
             !is_quotient<T>(s(i), x(i), b(i)) + !is_quotient<T>(a(i) / b(i), a(i), b(i));
    other += !same(q(i), a(i) / b(i)) + !same(s(i), x(i) / b(i));
  }
  CHECK(wrong == 0);
#if !defined(__OPTIMIZE__)  // there each kernel may fuse products into sums
  CHECK(other == 0);
#endif
}
TEST_CASE("quotients underflow and overflow only where the result does") {
  check_quotients<float>();
  check_quotients<double>();
  double const infinity = HUGE_VAL, nan = NAN;
  complex<double> const ends[] = {{0, 0},          {1, 2},        {infinity, 1}, {-1, infinity},
                                  {infinity, nan}, {nan, 1e-310}, {1e308, nan},  {0, -0.0}};
  for (auto const a : ends)
    for (auto const b : ends) {
      auto const q = a / b;
      auto const finite = [](double x) { return std::isfinite(x); };
      if (a.re != a.re || b.re != b.re || b.im != b.im) CHECK(q.re != q.re);
      if (finite(a.re) && finite(a.im) && b.re == infinity && b.im == 1)
        CHECK((q.re == 0 && q.im == 0));
      if (b == complex<double>(0, 0)) CHECK((!finite(q.re) && !finite(q.im)));
    }
}
/// parts of `computed` that are not those of `right`, though these are numbers, by more than some
/// epsilons of |right|
template <class T>
int overflown(complex<T> computed, wide right) {
  using limits = std::numeric_limits<T>;
  if (std::max(std::abs(right.real()), std::abs(right.imag())) > (long double)limits::max())
    return 0;
  return !(std::abs(widened(computed) - right) <=
           16 * std::max<long double>(std::abs(right) * limits::epsilon(), limits::denorm_min()));
}
template <class T>
void check_ends() {
  oracle::random r(12);
  T const most = std::log(std::numeric_limits<T>::max());
  std::int64_t const n = 3001;
  Tensor<complex<T>, Dextents<1>> z(n), turned(n), any(n);
  for (std::int64_t i = 0; i < n; ++i) {  // e^|re| is around the largest number
    z(i) = {T(most + r.real(-3, 3)) * T(i % 2 ? -1 : 1), T(r.real(-3.2, 3.2))};
    if (i % 3 == 0) z(i).im = T(i % 6 ? 1.5707963267948966 : 1e-5);
    if (i % 11 == 0) z(i).re *= T(0.5);
    turned(i) = {z(i).im, z(i).re};
    any(i) = {of_any_size<T>(r), of_any_size<T>(r)};
  }
  auto const check = [&](auto const& from, auto const& y, auto const& right) {
    Tensor<complex<T>, Dextents<1>> const here(y);
    int wrong = 0;
    for (std::int64_t i = 0; i < n; ++i) wrong += overflown<T>(here(i), right(widened(from(i))));
    CHECK(wrong == 0);
  };
  check(z, eval(exp(z)), [](wide x) { return std::exp(x); });
  check(z, eval(sinh(z)), [](wide x) { return std::sinh(x); });
  check(z, eval(cosh(z)), [](wide x) { return std::cosh(x); });
  check(z, eval(tanh(z)), [](wide x) { return std::tanh(x); });
  check(turned, eval(sin(turned)), [](wide x) { return std::sin(x); });
  check(turned, eval(cos(turned)), [](wide x) { return std::cos(x); });
  for (std::int64_t i = 0; i < n; ++i)
    if (any(i) == complex<T>(0)) any(i) = {1, 2};
  check(any, eval(log(any)), [](wide x) { return std::log(x); });
  check(any, eval(sqrt(any)), [](wide x) { return std::sqrt(x); });
}
TEST_CASE("functions overflow only where the result does") {
  check_ends<float>();
  check_ends<double>();
}
TEST_CASE("sums, means, products, scans and norms") {
  on_backends([](backends::machine const& m) {
    std::int64_t const sizes[][2] = {{1, 1},   {3, 5},  {0, 4},   {4, 0},
                                     {2, 257}, {70, 3}, {33, 33}, {2, 5000}};
    for (auto const& s : sizes) {
      if (m.how != backends::kind::host && s[1] > 300) continue;
      CAPTURE(s[0]);
      CAPTURE(s[1]);
      check_folds<GpuDevice<0>, float>(s[0], s[1]);
      check_folds<GpuDevice<0>, double>(s[0], s[1]);
    }
  });
}
TEST_CASE("products of matrices, with a library and without one") {
  on_backends([](backends::machine const& m) {
    std::int64_t const sizes[][3] = {{1, 1, 1},   {3, 4, 5}, {1, 7, 3},   {5, 2, 1},
                                     {33, 17, 9}, {2, 0, 3}, {70, 80, 90}};
    for (auto const& s : sizes) {
      if (m.how != backends::kind::host && s[0] > 50) continue;
      check_products<GpuDevice<0>, float>(s[0], s[1], s[2]);
      check_products<GpuDevice<0>, double>(s[0], s[1], s[2]);
    }
    auto const a = points<float>(Extents<2, 3, 4>{}, 7);
    auto const b = points<float>(Extents<2, 4, 2>{}, 8);
    Tensor<complex<float>, Extents<2, 3, 2>> const c = matmul(a, b);
    Tensor<complex<float>, Extents<3, 2>> const second =
        matmul(reshape<3, 4>(slice(a, range{1, 2})), reshape<4, 2>(slice(b, range{1, 2})));
    for (std::int64_t i = 0; i < 6; ++i)
      CHECK(std::abs(widened(c.data()[6 + i]) - widened(second.data()[i])) < 1e-5L);
    Tensor<complex<float>, Extents<3>> const v = matmul(
        reshape<3, 4>(slice(a, range{1, 2})), reshape<4>(slice(a, range{0, 1}, range{0, 1})));
    CHECK(v(0) == v(0));
  });
}
TEST_CASE("moves of elements, segments, pieces over replicas") {
  on_few_backends([] {
    auto const z = points<float>(Extents<8, 3>{}, 9);
    Tensor<int, Extents<3>> const rows{2, 0, 7};
    Tensor<complex<float>, Extents<3, 3>> const taken = take<0>(to<GpuDevice<0>>(z), rows);
    Tensor<complex<float>, Extents<3, 8>> const turned = transpose(to<GpuDevice<1>>(z));
    Tensor<complex<float>, Extents<8, 3>> const reversed = slice(z, strided{0, range::to_end, 1});
    for (int j = 0; j < 3; ++j) {
      CHECK((taken(2, j) == z(7, j) && turned(j, 5) == z(5, j)));
      CHECK(reversed(7, j) == z(7, j));
    }
    Tensor<int, Extents<8>> const ids{0, 1, 0, 1, 1, 0, 0, 1};
    Tensor<complex<float>, Extents<2, 3>> const segments = segment_sum<2>(z, ids);
    auto const all = segments(0, 1) + segments(1, 1) - fetch(sum(slice(z, range{}, range{1, 2})));
    CHECK(std::abs(widened(all)) < 1e-5L);
    // pieces: each replica adds its own rows
    using Pieces = Sharded<0, GpuDevice<0>, GpuDevice<1>>;
    auto const pieces = to<Pieces>(z);
    static_assert(plan_of<decltype(sum(pieces * 2.f))>.all_reduces() == 1);
    CHECK(std::abs(widened(fetch(sum(pieces * 2.f))) - 2.L * widened(fetch(sum(z)))) < 1e-5L);
    Tensor<complex<float>, Extents<3>> const columns = sum<0>(pieces), alone = sum<0>(z);
    for (int j = 0; j < 3; ++j) CHECK(std::abs(widened(columns(j)) - widened(alone(j))) < 1e-5L);
  });
}
TEST_CASE("parts with steps, transposed matrices and booleans as operands of maps") {
  auto const check = []<class T>(T) {
    using C = complex<T>;
    auto const m = points<T>(Dextents<2>(35, 70), 31);
    Tensor<C, Dextents<2>, GpuDevice<0>> const there(m);
    auto const at = [&](std::int64_t r, std::int64_t c) { return widened(m.data()[r * 70 + c]); };
    auto const part = [](auto const& x) { return slice(x, strided{1, 35, 2}, strided{0, 70, 3}); };
    auto const see = [&](auto const& x) {
      CHECK(worst<T>(eval(-part(x)),
                     [&](std::int64_t i) { return -at(2 * (i / 24) + 1, 3 * (i % 24)); }) == 0);
      CHECK(worst<T>(eval(transpose(x) + transpose(x)),
                     [&](std::int64_t i) { return 2.0L * at(i % 35, i / 35); }) == 0);
      Tensor<C, Dextents<2>, typename std::decay_t<decltype(x)>::policy> y(x);
      slice(y, strided{1, 35, 2}, strided{0, 70, 3}) = -part(x);
      CHECK(worst<T>(y, [&](std::int64_t i) {
              std::int64_t const r = i / 70, c = i % 70;
              return r % 2 == 1 && c % 3 == 0 ? -at(r, c) : at(r, c);
            }) == 0);
      CHECK(worst<T>(eval(cast<C>(abs(x) > T(1.5))), [&](std::int64_t i) {
              return wide(m.data()[i].re * m.data()[i].re + m.data()[i].im * m.data()[i].im >
                          T(2.25));
            }) == 0);
    };
    see(m);
    see(there);
  };
  on_few_backends([&] {
    check(float());
    check(double());
  });
}

TEST_CASE("numbers are assigned, elements are read, files keep them") {
  Tensor<complex<double>, Dextents<2>> z(2, 3);
  z = std::complex<double>(1, 2);
  CHECK(z(1, 2) == complex<double>(1, 2));
  z = 3.5;
  CHECK(z(0, 0) == complex<double>(3.5, 0));
  z(0, 1) = std::complex<double>(0, 1);
  z *= z;
  CHECK((z(0, 1) == complex<double>(-1, 0) && z(0, 0) == complex<double>(12.25, 0)));
  Tensor<complex<float>, Extents<2>> const listed{std::complex<float>(1, 2), 3.f};
  CHECK((listed(0).im == 2 && listed(1).re == 3));
  auto const path = (std::filesystem::temp_directory_path() / "locus_complex_test").string();
  AnyTensor<complex<double>, Dextents<2>>(z).save(path);
  auto const back = AnyTensor<complex<double>, Dextents<2>>::load(path).as<CpuDevice>();
  CHECK(fetch(all(back == z)));
  CHECK_THROWS_WITH_AS((AnyTensor<complex<float>, Dextents<2>>::load(path)),
                       doctest::Contains("complex128"), bad_file);
  std::filesystem::remove(path);
}

TEST_SUITE_END();

}  // namespace complex_test
