// SPDX-License-Identifier: Apache-2.0
// qr, eigh and svd beside products in long double: sizes, batches, matrices without full rank, NaN, the derivative of
// eigenvalues. A second test runs this program without a LAPACK.
#include <doctest/doctest.h>

#include <algorithm>

#include <locus/grad/grad.hpp>
#include <locus/linalg/eigh.hpp>
#include <locus/linalg/qr.hpp>
#include <locus/linalg/svd.hpp>
#include <locus/locus.hpp>
#include <message_of.hpp>

#include "random_matrices.hpp"

namespace factorizations_test {

using namespace locus;
using namespace matrices;

namespace {

/// column j of a (n, k) has a positive largest component
bool is_oriented(plain const& a, std::int64_t n, std::int64_t k) {
  bool all = true;
  for (std::int64_t j = 0; j < k; ++j) {
    long double most = 0, least = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      most = std::fmax(most, a[std::size_t(i * k + j)]);
      least = std::fmin(least, a[std::size_t(i * k + j)]);
    }
    all = all && most >= 0.998L * -least;
  }
  return all;
}
constexpr std::int64_t sizes[][2] = {{1, 1},   {2, 2},  {3, 2},  {2, 3}, {31, 33},
                                     {33, 31}, {64, 5}, {5, 64}, {0, 3}, {3, 0}};

template <class T>
void check_qr(std::int64_t m, std::int64_t n) {
  std::int64_t const k = std::min(m, n);
  auto const a = various<T>(m, n, 1);
  auto const [q, r] = qr(a);
  Tensor<T, Dextents<3>> left(4, m, k), right(4, k, n);
  run(into(left, on<CpuDevice>(q)), into(right, on<CpuDevice>(r)));
  auto const bound = 16 * std::numeric_limits<T>::epsilon() * std::sqrt(double(m + n));
  for (int i = 0; i < 4; ++i) {
    CAPTURE(i);
    plain const one = matrix_of(values_of(left), i, m * k),
                other = matrix_of(values_of(right), i, k * n);
    CHECK(distance(product(one, other, m, k, n), matrix_of(values_of(a), i, m * n)) <= bound);
    CHECK(skew(one, m, k) <= bound);
    bool upper = true;
    for (std::int64_t row = 0; row < k; ++row)
      for (std::int64_t c = 0; c <= row; ++c)
        upper = upper && (c < row ? other[std::size_t(row * n + c)] == 0
                                  : other[std::size_t(row * n + c)] >= 0);
    CHECK(upper);
  }
}
template <class T>
void check_svd(std::int64_t m, std::int64_t n) {
  std::int64_t const k = std::min(m, n);
  auto const a = various<T>(m, n, 2);
  auto const [u, s, vt] = svd(a);
  Tensor<T, Dextents<3>> left(4, m, k), right(4, k, n);
  Tensor<T, Dextents<2>> values(4, k);
  run(into(left, on<CpuDevice>(u)), into(values, on<CpuDevice>(s)), into(right, on<CpuDevice>(vt)));
  auto const bound = 32 * std::numeric_limits<T>::epsilon() * std::sqrt(double(m + n));
  for (int i = 0; i < 4; ++i) {
    CAPTURE(i);
    plain const one = matrix_of(values_of(left), i, m * k),
                other = matrix_of(values_of(right), i, k * n);
    plain scaled(one);
    bool falls = true;
    for (std::int64_t j = 0; j < k; ++j) {
      falls = falls && values(i, j) >= T(0) && (j == 0 || values(i, j) <= values(i, j - 1));
      for (std::int64_t row = 0; row < m; ++row) scaled[std::size_t(row * k + j)] *= values(i, j);
    }
    CHECK(falls);
    CHECK(distance(product(scaled, other, m, k, n), matrix_of(values_of(a), i, m * n)) <= bound);
    CHECK(skew(one, m, k) <= bound);
    CHECK(skew(turned(other, k, n), n, k) <= bound);
    CHECK(is_oriented(one, m, k));
  }
}
template <class T>
void check_eigh(std::int64_t n) {
  auto a = various<T>(n, n, 3);
  for (std::int64_t i = 0; i < n; ++i)  // rank 1, and eigenvalues that are equal
    for (std::int64_t j = 0; j < n; ++j) {
      a(3, i, j) = T(1);
      if (j > i) a(0, i, j) = T(99);  // not read
    }
  auto const [w, v] = eigh(a);
  Tensor<T, Dextents<3>> vectors(4, n, n);
  Tensor<T, Dextents<2>> values(4, n);
  run(into(values, on<CpuDevice>(w)), into(vectors, on<CpuDevice>(v)));
  auto const bound = 64 * std::numeric_limits<T>::epsilon() * std::sqrt(double(n + 1));
  for (int i = 0; i < 4; ++i) {
    CAPTURE(i);
    plain const one = matrix_of(values_of(vectors), i, n * n);
    plain half(std::size_t(n * n)), scaled(one);
    bool rises = true;
    for (std::int64_t r = 0; r < n; ++r)
      for (std::int64_t c = 0; c < n; ++c) {
        half[std::size_t(r * n + c)] = c <= r ? a(i, r, c) : a(i, c, r);
        scaled[std::size_t(r * n + c)] *= values(i, c);
        rises = rises && (c == 0 || values(i, c) >= values(i, c - 1));
      }
    CHECK(rises);
    CHECK(distance(product(half, one, n, n, n), scaled) <= bound * (largest(scaled) + 1));
    CHECK(skew(one, n, n) <= bound);
    CHECK(is_oriented(one, n, n));
  }
}

}  // namespace

TEST_CASE("qr: orthonormal columns times an upper half whose diagonal is not negative") {
  for (auto const& s : sizes) {
    CAPTURE(s[0]);
    CAPTURE(s[1]);
    check_qr<double>(s[0], s[1]);
  }
  check_qr<float>(17, 9);
  check_qr<float>(9, 17);
}

TEST_CASE("qr of 2^25 columns, 64 times as many numbers are more than an int counts") {
  std::int64_t const n = std::int64_t(1) << 25;
  Tensor<float, Dextents<2>> a(zeros<float>(dextents<2>(1, n)));
  a(0, 0) = -3, a(0, n - 1) = 4;
  auto const [q, r] = qr(a);
  Tensor<float, Dextents<2>> left(1, 1);
  run(into(left, on<CpuDevice>(q)), into(a, on<CpuDevice>(r)));
  CHECK(left(0, 0) == -1);
  CHECK(a(0, 0) == 3);
  CHECK(a(0, 1) == 0);
  CHECK(a(0, n - 1) == -4);
}

TEST_CASE("svd: falling values between orthonormal vectors, of any rank") {
  for (auto const& s : sizes) {
    CAPTURE(s[0]);
    CAPTURE(s[1]);
    check_svd<double>(s[0], s[1]);
  }
  check_svd<float>(17, 9);
  check_svd<float>(9, 17);
  // rows far below the longest one, and far above its noise
  Tensor<double, Extents<3, 3>> const small{{1, 0, 0}, {0, 1e-9, 1e-9}, {0, 0, 0}};
  auto const [u, s, vt] = svd(small);
  Tensor<double, Extents<3>> const values = eval(on<CpuDevice>(s));
  Tensor<double, Extents<3, 3>> const left = eval(on<CpuDevice>(u));
  CHECK(values(1) == doctest::Approx(std::sqrt(2.) * 1e-9).epsilon(1e-6));
  CHECK(values(2) < 1e-15);
  CHECK(left(1, 1) * left(1, 1) == doctest::Approx(1));
  CHECK(std::abs(left(1, 2)) < 1e-6);
  CHECK(message_of([] { linalg::require_room("eigh", 3e9); }) ==
        "locus: eigh of so large a matrix needs sizes that LAPACK cannot name; give it fewer "
        "rows and columns");
}

TEST_CASE("eigh: rising values and orthonormal vectors of the lower half") {
  for (std::int64_t const n : {0, 1, 2, 3, 31, 33}) {
    CAPTURE(n);
    check_eigh<double>(n);
  }
  check_eigh<float>(20);
}

TEST_CASE("an infinity or a NaN gives NaN, for its matrix alone; one matrix has no batch") {
  Tensor<double, Dextents<3>> a(2, 3, 3);
  fill(a, 4);
  a(1, 2, 1) = NAN;
  auto const [q, r] = qr(a);
  auto const [w, v] = eigh(a);
  auto const [u, s, vt] = svd(a);
  Tensor<double, Dextents<3>> const all[] = {eval(on<CpuDevice>(q)), eval(on<CpuDevice>(v)),
                                             eval(on<CpuDevice>(u))};
  for (auto const& x : all) {
    CHECK(std::isfinite(x(0, 0, 0)));
    for (int i = 0; i < 9; ++i) CHECK(std::isnan(x.data()[9 + i]));
  }
  Tensor<double, Extents<2, 2>> const one{{2, 1}, {1, 2}};
  auto const [values, vectors] = eigh(one);
  auto const found = eval(on<CpuDevice>(values));
  static_assert(std::is_same_v<std::remove_const_t<decltype(found)>, Tensor<double, Extents<2>>>);
  CHECK(std::fabs(found(0) - 1) < 1e-15);
  CHECK(std::fabs(found(1) - 3) < 1e-15);
  for (double const size : {1e200, 1e-200}) {
    Tensor<double, Extents<2, 2>> const far(one * size);
    CHECK(std::fabs(fetch(get<0>(eigh(far)))(1) / size - 3) < 1e-15);
    CHECK(std::fabs(fetch(get<1>(svd(far)))(1) / size - 1) < 1e-15);
    CHECK(std::fabs(fetch(get<1>(qr(far)))(0, 0) / size - std::sqrt(5.)) < 1e-15);
  }
  Tensor<double, Extents<2, 3>> const wide{{3, 0, 0}, {0, 4, 0}};
  CHECK(fetch(get<1>(svd(wide)))(0) == 4);
  CHECK(fetch(get<1>(qr(wide)))(1, 1) == 4);
}

TEST_CASE("each matrix of a batch has its turn, also of more than an int counts") {
  for (std::int64_t const matrices : {0, 1, 63, 64, 65, 10'000}) {
    std::vector<int> turns(std::size_t(matrices), 0);
    linalg::host::for_each_matrix(matrices, 1e6, [&](std::int64_t k) { ++turns[std::size_t(k)]; });
    CHECK(std::ranges::count(turns, 1) == matrices);
  }
  // the first turn throws, so that the others are never taken
  for (std::int64_t const matrices : {std::int64_t(1) << 31, std::int64_t(1) << 32})
    CHECK(message_of([&] {
            linalg::host::for_each_matrix(matrices, 1, [](auto k) {
              static_assert(std::is_same_v<decltype(k), std::int64_t>);
              throw error("a turn");
            });
          }) == "a turn");
}

TEST_CASE("the derivative of eigenvalues is that of central differences") {
  Tensor<double, Extents<4, 4>> a;
  fill(a, 5);
  Tensor<double, Extents<4>> weights{1, -2, 3, 0.5};
  auto const loss = sum(weights * on<CpuDevice>(get<0>(eigh(a))));
  Tensor<double, Extents<4, 4>> const g = eval(grad(loss, a));
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j <= i; ++j) {
      double const step = 1e-6, was = a(i, j);
      a(i, j) = was + step;
      double const more = fetch(loss);
      a(i, j) = was - step;
      double const less = fetch(loss);
      a(i, j) = was;
      CHECK(std::fabs((more - less) / (2 * step) - g(i, j) * (i == j ? 1 : 2)) < 1e-7);
    }
}

}  // namespace factorizations_test
