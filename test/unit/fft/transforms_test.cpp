// SPDX-License-Identifier: Apache-2.0
// fft, ifft, rfft and irfft as steps of plans: every axis, slices and transposed operands, static and open extents, GPUs
// and pieces, operands that do not fit, NaN. A second test runs this program by the kernels of locus alone.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>

#include <locus/fft/fft.hpp>
#include <locus/fft/fft2.hpp>
#include <message_of.hpp>
#include <replicas.hpp>

#include "transforms.hpp"

using namespace locus;
using c32 = locus::complex<float>;
using c64 = locus::complex<double>;
using transforms::wide;

namespace {

template <class X>
struct grid_of {
  std::int64_t outer = 1, n, inner = 1;
  grid_of(X const& x, int axis) : n(x.extent(axis)) {
    for (int a = 0; a < X::rank(); ++a)
      if (a != axis) (a < axis ? outer : inner) *= x.extent(a);
  }
};
/// y is the transform of x along an axis; of a real line the first half of it
template <class X, class Y>
void check(X const& x, Y const& y, int axis, bool inverse = false) {
  grid_of<X> const from(x, axis);
  grid_of<Y> const to(y, axis);
  REQUIRE(from.outer == to.outer);
  REQUIRE(from.inner == to.inner);
  transforms::lines const values = transforms::values_of(x), found = transforms::values_of(y);
  transforms::lines want(found.size());
  for (std::int64_t o = 0; o < to.outer; ++o)
    for (std::int64_t k = 0; k < to.n; ++k)
      for (std::int64_t c = 0; c < to.inner; ++c)
        want[std::size_t((o * to.n + k) * to.inner + c)] =
            transforms::number_of(values, o, c, from.n, from.inner, k, inverse);
  constexpr double rounding = sizeof(y.data()[0]) == 8 ? 1e-7 : 2e-16;
  CHECK(transforms::distance(found, want) < 4 * rounding);
}
template <class A, class B>
bool same(A const& a, B const& b) {
  return a.size() == b.size() && std::equal(a.data(), a.data() + a.size(), b.data());
}
template <class A, class B>
bool close(A const& a, B const& b, double most) {
  return transforms::distance(transforms::values_of(a), transforms::values_of(b)) < most;
}

}  // namespace

TEST_CASE("transforms along every axis, of static extents") {
  Tensor<c64, Extents<3, 6, 5>> x;
  transforms::fill(x.data(), x.size(), 1);
  auto const a = eval(on<CpuDevice>(fft<0>(x)));
  auto const b = eval(on<CpuDevice>(fft<1>(x)));
  auto const c = eval(on<CpuDevice>(fft(x)));
  static_assert(std::is_same_v<std::remove_const_t<decltype(a)>, Tensor<c64, Extents<3, 6, 5>>>);
  check(x, a, 0);
  check(x, b, 1);
  check(x, c, 2);
  check(x, eval(on<CpuDevice>(fft<-2>(x))), 1);
  check(x, eval(on<CpuDevice>(ifft<0>(x))), 0, true);
  check(x, eval(on<CpuDevice>(ifft(x))), 2, true);
  CHECK(close(eval(on<CpuDevice>(ifft<1>(fft<1>(x)))), x, 1e-15));

  Tensor<float, Extents<4, 7, 2>> r;
  transforms::fill(r.data(), r.size(), 2);
  auto const f = eval(on<CpuDevice>(rfft<0>(r)));
  auto const g = eval(on<CpuDevice>(rfft<1>(r)));
  auto const h = eval(on<CpuDevice>(rfft<2>(r)));
  static_assert(std::is_same_v<std::remove_const_t<decltype(f)>, Tensor<c32, Extents<3, 7, 2>>>);
  static_assert(std::is_same_v<std::remove_const_t<decltype(g)>, Tensor<c32, Extents<4, 4, 2>>>);
  static_assert(std::is_same_v<std::remove_const_t<decltype(h)>, Tensor<c32, Extents<4, 7, 2>>>);
  check(r, f, 0);
  check(r, g, 1);
  check(r, h, 2);
  auto const back = eval(on<CpuDevice>(irfft<0>(f)));
  auto const odd = eval(on<CpuDevice>(irfft<1, 7>(g)));
  static_assert(
      std::is_same_v<std::remove_const_t<decltype(back)>, Tensor<float, Extents<4, 7, 2>>>);
  static_assert(
      std::is_same_v<std::remove_const_t<decltype(odd)>, Tensor<float, Extents<4, 7, 2>>>);
  CHECK(close(back, r, 3e-7));
  CHECK(close(odd, r, 3e-7));
  auto const by_number = eval(on<CpuDevice>(irfft<1>(g, 7)));
  CHECK(same(by_number, odd));
  CHECK(eval(on<CpuDevice>(irfft<1>(g))).extent(1) == 6);
}

TEST_CASE("transforms of open extents, slices, transposed operands and expressions") {
  for (std::int64_t n : {1, 2, 9, 16, 37}) {
    Tensor<c64, Dextents<2>> x(5, n);
    Tensor<double, Dextents<2>> r(n, 6);
    transforms::fill(x.data(), x.size(), 3);
    transforms::fill(r.data(), r.size(), 4);
    check(x, eval(on<CpuDevice>(fft(x))), 1);
    check(x, eval(on<CpuDevice>(ifft<0>(x))), 0, true);
    Tensor<c64, Dextents<2>> const half = eval(on<CpuDevice>(rfft<0>(r)));
    check(r, half, 0);
    CHECK(half.extent(0) == n / 2 + 1);
    Tensor<double, Dextents<2>> const back = eval(on<CpuDevice>(irfft<0>(half, n)));
    CHECK(close(back, r, 1e-15));
  }
  Tensor<double, Dextents<2>> r(12, 9);
  transforms::fill(r.data(), r.size(), 5);
  Tensor<double, Dextents<2>> const cut = eval(slice(r, {0, 12}, {2, 7}));
  check(cut, eval(on<CpuDevice>(rfft<0>(slice(r, {0, 12}, {2, 7})))), 0);
  Tensor<double, Dextents<2>> const turned = eval(transpose(r));
  check(turned, eval(on<CpuDevice>(rfft<1>(transpose(r)))), 1);
  Tensor<double, Dextents<2>> const twice = eval(2. * r);
  check(twice, eval(on<CpuDevice>(rfft<1>(2. * r))), 1);
  Tensor<double, Dextents<2>> const thin = eval(slice(r, {0, 12, 4}, {1, 6}));
  check(thin, eval(on<CpuDevice>(rfft(slice(r, {0, 12, 4}, {1, 6})))), 1);
}

TEST_CASE("a line of one number is its transform; an impulse has equal numbers") {
  Tensor<c64, Extents<1>> const one{c64(2, -3)};
  CHECK(eval(on<CpuDevice>(fft(one)))(0) == c64(2, -3));
  CHECK(eval(on<CpuDevice>(ifft(one)))(0) == c64(2, -3));
  Tensor<float, Extents<1>> const number{4.f};
  CHECK(eval(on<CpuDevice>(rfft(number)))(0) == c32(4));
  CHECK(eval(on<CpuDevice>(irfft<0, 1>(rfft(number))))(0) == 4.f);
  Tensor<double, Extents<12>> impulse;
  impulse = 0.;
  impulse(0) = 1;
  auto const flat = eval(on<CpuDevice>(rfft(impulse)));
  for (int k = 0; k < 7; ++k) CHECK(flat(k) == c64(1));
}

TEST_CASE("transforms along several axes are those of each axis, one after the other") {
  Tensor<c64, Extents<3, 4, 5>> x;
  Tensor<double, Extents<2, 6, 7>> r;
  transforms::fill(x.data(), x.size(), 12);
  transforms::fill(r.data(), r.size(), 13);
  auto const first = eval(on<CpuDevice>(fft<2>(x)));
  check(first, eval(on<CpuDevice>(fft2(x))), 1);
  auto const both = eval(on<CpuDevice>(fftn<1, 2>(x)));
  check(both, eval(on<CpuDevice>(fftn<1, 2, 0>(x))), 0);
  CHECK(close(eval(on<CpuDevice>(ifft2(fft2(x)))), x, 1e-15));
  CHECK(close(eval(on<CpuDevice>(ifftn<0, 1, 2>(fftn<2, 0, 1>(x)))), x, 1e-15));
  auto const half = eval(on<CpuDevice>(rfft<2>(r)));
  auto const plane = eval(on<CpuDevice>(rfft2(r)));
  static_assert(
      std::is_same_v<std::remove_const_t<decltype(plane)>, Tensor<c64, Extents<2, 6, 4>>>);
  check(half, plane, 1);
  CHECK(close(eval(on<CpuDevice>(irfft2<7>(plane))), r, 1e-15));
  CHECK(close(eval(on<CpuDevice>(irfft2(plane, 7))), r, 1e-15));
  CHECK(eval(on<CpuDevice>(irfft2(plane))).extent(2) == 6);
}

TEST_CASE("memory of std::complex is transformed as it is") {
  std::vector<std::complex<float>> values(24);
  transforms::fill(reinterpret_cast<float*>(values.data()), 48, 14);
  auto const x = view<CpuDevice>(values.data(), Extents<4, 6>{});
  Tensor<c32, Extents<4, 6>> const copy(x);
  check(copy, eval(on<CpuDevice>(fft(x))), 1);
}

TEST_CASE("NaN and infinity of one line stay in its result") {
  Tensor<double, Extents<3, 16>> r;
  transforms::fill(r.data(), r.size(), 6);
  r(1, 3) = NAN;
  auto const y = eval(on<CpuDevice>(rfft(r)));
  for (int i = 0; i < 3; ++i)
    for (int k = 0; k < 9; ++k)
      CHECK((std::isnan(y(i, k).real()) || std::isnan(y(i, k).imag())) == (i == 1));
  r(1, 3) = INFINITY;
  auto const z = eval(on<CpuDevice>(rfft(r)));
  for (int i = 0; i < 3; ++i) CHECK(std::isfinite(z(i, 0).real()) == (i != 1));
}

TEST_CASE("no lines give an empty result; lines without numbers, and halves of another length, are "
          "refused") {
  Tensor<c64, Dextents<2>> const none(0, 4), empty(3, 0);
  CHECK(eval(on<CpuDevice>(fft(none))).size() == 0);
  std::string const said = message_of<shape_error>([&] { static_cast<void>(eval(fft(empty))); });
  CAPTURE(said);
  CHECK(said.find("the shapes of the operands of 'fft' (step 1) do not fit: [3,0]") !=
        std::string::npos);
  CHECK_THROWS_AS(static_cast<void>(eval(ifft(empty))), shape_error);
  CHECK_THROWS_AS(static_cast<void>(eval(irfft(empty))), shape_error);
  Tensor<double, Dextents<1>> const nothing(0);
  CHECK_THROWS_AS(static_cast<void>(eval(rfft(nothing))), shape_error);
  Tensor<c32, Dextents<2>> const half(3, 5);
  CHECK_THROWS_AS(static_cast<void>(eval(irfft(half, 7))), shape_error);
  CHECK_THROWS_AS(static_cast<void>(eval(irfft(half, 10))), shape_error);
  CHECK_THROWS_AS(static_cast<void>(eval(irfft(half, 0))), shape_error);
  CHECK_THROWS_AS(static_cast<void>(eval(irfft(half, -8))), shape_error);
  auto const of_seven = irfft<-1, 7>(half);
  CHECK_THROWS_AS(static_cast<void>(eval(of_seven)), shape_error);
  Tensor<c32, Dextents<2>> const one(3, 1);
  CHECK_THROWS_AS(static_cast<void>(eval(irfft(one))), shape_error);
  CHECK(eval(on<CpuDevice>(irfft(one, 1))).extent(1) == 1);
}

TEST_CASE("a transform is one launch without copies, on GPUs by kernels of their own") {
  using X = Tensor<c64, Extents<4, 8>>;
  using R = Tensor<float, Dextents<2>, GpuDevice<1>>;
  using on_host = decltype(on<CpuDevice>(fft(std::declval<X&>())));
  using of_reals = decltype(irfft<0>(rfft<0>(std::declval<R&>())));
  static_assert(plan_of<on_host>.launches() == 1 && plan_of<on_host>.copies() == 0);
  static_assert(plan_of<of_reals>.launches() == 2 && plan_of<of_reals>.copies() == 0);
  static_assert(plan_of<of_reals>.result() == GpuDevice<1>::value);
  on_few_backends([](backends::machine const& m) {
    X x;
    transforms::fill(x.data(), x.size(), 7);
    Tensor<c64, Extents<4, 8>> const want = eval(on<CpuDevice>(fft(x)));
    CHECK(close(eval(on<CpuDevice>(fft(x))), want, 1e-15));
    if (!m.has_gpu()) return;
    Tensor<c64, Extents<4, 8>, GpuDevice<1>> const there(x);
    Tensor<c64, Extents<4, 8>, GpuDevice<1>> const y = fft(there);
    CHECK(close(fetch(y), want, 1e-15));
  });
}

namespace {

template <class T>
void check_on_gpu(std::int64_t n, double rounding) {
  CAPTURE(n);
  using C = locus::complex<T>;
  Tensor<C, Dextents<3>> x(2, n, 3);
  Tensor<T, Dextents<2>> r(3, n);
  transforms::fill(x.data(), x.size(), std::uint64_t(n));
  transforms::fill(r.data(), r.size(), std::uint64_t(n));
  Tensor<C, Dextents<3>, GpuDevice<1>> const there(x);
  Tensor<T, Dextents<2>, GpuDevice<1>> const reals_there(r);
  Tensor<C, Dextents<3>, GpuDevice<1>> const y = fft<1>(there), back = ifft<1>(y);
  Tensor<C, Dextents<2>, GpuDevice<1>> const half = rfft(reals_there);
  Tensor<T, Dextents<2>, GpuDevice<1>> const reals_back = irfft(half, n);
  Tensor<C, Dextents<3>> const want = eval(on<CpuDevice>(fft<1>(x)));
  Tensor<C, Dextents<2>> const half_wanted = eval(on<CpuDevice>(rfft(r)));
  CHECK(close(fetch(y), want, rounding));
  CHECK(close(fetch(back), x, rounding));
  CHECK(close(fetch(half), half_wanted, rounding));
  CHECK(close(fetch(reals_back), r, rounding));
}

/// lines of reals that begin at no multiple of a complex number, the first line or a later one
template <class T>
void check_odd_addresses(double rounding) {
  using C = locus::complex<T>;
  Tensor<T, Dextents<3>> x(3, 5, 3);
  Tensor<T, Dextents<1>> v(101);
  transforms::fill(x.data(), x.size(), 8), transforms::fill(v.data(), v.size(), 9);
  Tensor<T, Dextents<3>, GpuDevice<1>> const there(x);
  Tensor<T, Dextents<1>, GpuDevice<1>> const v_there(v);
  Tensor<C, Dextents<3>, GpuDevice<1>> const halves = rfft<1>(there);
  Tensor<T, Dextents<3>, GpuDevice<1>> const back = irfft<1>(halves, 5);
  Tensor<C, Dextents<1>, GpuDevice<1>> const of_slice = rfft(slice(v_there, {1, 101}));
  Tensor<C, Dextents<3>, GpuDevice<1>> const of_rows = rfft<1>(slice(there, {1, 3}));
  CHECK(close(fetch(halves), Tensor<C, Dextents<3>>(on<CpuDevice>(rfft<1>(x))), rounding));
  CHECK(close(fetch(back), x, rounding));
  CHECK(close(fetch(of_slice), Tensor<C, Dextents<1>>(on<CpuDevice>(rfft(slice(v, {1, 101})))),
              rounding));
  CHECK(close(fetch(of_rows), Tensor<C, Dextents<3>>(on<CpuDevice>(rfft<1>(slice(x, {1, 3})))),
              rounding));
}

}  // namespace

TEST_CASE("GPUs transform lines of every kind of length, along axes, and no lines") {
  on_few_backends([](backends::machine const& m) {
    if (!m.has_gpu()) return;
    for (std::int64_t n : {1, 2, 3, 4, 5, 7, 8, 9, 16, 30, 31, 37, 64, 74, 100, 1000}) {
      check_on_gpu<double>(n, 2e-15);
      check_on_gpu<float>(n, 1e-6);
    }
    check_odd_addresses<double>(2e-15), check_odd_addresses<float>(1e-6);
    Tensor<c32, Dextents<2>, GpuDevice<1>> const none(0, 4);
    Tensor<c32, Dextents<2>, GpuDevice<1>> const nothing = fft(none);
    CHECK(nothing.size() == 0);
    // imaginary parts that a real line cannot have
    Tensor<c64, Dextents<1>> odd(5);
    transforms::fill(odd.data(), 5, 11);
    Tensor<c64, Dextents<1>, GpuDevice<1>> const odd_there(odd);
    Tensor<double, Dextents<1>, GpuDevice<1>> const even = irfft(odd_there);
    CHECK(close(fetch(even), eval(on<CpuDevice>(irfft(odd))), 1e-15));
  });
}

TEST_CASE(
    "pieces along another axis are transformed where they are; mirrored operands everywhere") {
  using A = decltype(fft<1>(std::declval<Tensor<c64, Dextents<2>, replicas::cut<3>>&>()));
  using B = decltype(rfft<0>(std::declval<Tensor<float, Dextents<2>, replicas::cut<3, 1>>&>()));
  static_assert(plan_of<A>.result() == replicas::cut<3>::value && plan_of<A>.copies() == 0 &&
                plan_of<A>.all_reduces() == 0 && plan_of<A>.launches() == 1);
  static_assert(plan_of<B>.result() == replicas::cut<3, 1>::value && plan_of<B>.copies() == 0);
  on_few_backends([](backends::machine const& m) {
    if (!m.has_gpu()) return;
    Tensor<c64, Dextents<2>> x(7, 12);
    Tensor<float, Dextents<2>> r(10, 5);
    transforms::fill(x.data(), x.size(), 9);
    transforms::fill(r.data(), r.size(), 10);
    Tensor<c64, Dextents<2>, replicas::cut<2>> const rows(x);
    Tensor<c64, Dextents<2>, replicas::cut<2>> const y = fft<1>(rows);
    check(x, fetch(y), 1);
    Tensor<float, Dextents<2>, replicas::cut<2, 1>> const columns(r);
    Tensor<c32, Dextents<2>, replicas::cut<2, 1>> const halves = rfft<0>(columns);
    check(r, fetch(halves), 0);
    Tensor<float, Dextents<2>, replicas::cut<2, 1>> const back = irfft<0>(halves);
    CHECK(close(fetch(back), r, 3e-7));
    Tensor<c64, Dextents<2>, replicas::mirrored<2>> const everywhere(x);
    Tensor<c64, Dextents<2>, replicas::mirrored<2>> const z = ifft<0>(everywhere);
    check(x, fetch(z), 0, true);
  });
}
