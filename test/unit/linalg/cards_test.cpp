// SPDX-License-Identifier: Apache-2.0
// Functions of matrices where cards compute them, beside products in long double: sizes, batches, matrices without a
// result, replicas. On the host's own machine a recorder runs the bodies of cards; test/ptx and test/gpu run them on
// cards, by cuSOLVER or what stands for it.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>
#include <optional>

#include <locus/linalg/cholesky.hpp>
#include <locus/linalg/eigh.hpp>
#include <locus/linalg/qr.hpp>
#include <locus/linalg/solve.hpp>
#include <locus/linalg/svd.hpp>
#include <message_of.hpp>

#include "random_matrices.hpp"

namespace cards_test {

using namespace locus;
using namespace matrices;

namespace {

using Gpu = GpuDevice<0>;
template <class T, int Rank>
using on_host = Tensor<T, Dextents<Rank>>;
template <class T, int Rank>
using on_card = Tensor<T, Dextents<Rank>, Gpu>;

/// the result of one call on a card, brought to the host; the call is one launch, without a fallback or a round trip
template <class X>
auto computed(X const& expression) {
  std::optional<std::remove_cvref_t<decltype(eval(expression))>> there;
  std::int64_t const trips = testing::count_round_trips([&] {
    tally const done = testing::count([&] { there.emplace(eval(expression)); });
    CHECK(done.launches == 1);
    CHECK(done.fallbacks == 0);
  });
  CHECK(trips == 0);
  return to<CpuDevice>(*there);
}

template <class T>
long double bound(std::int64_t n) {
  return 64 * std::numeric_limits<T>::epsilon() * std::sqrt(static_cast<long double>(n + 1));
}

template <class T>
void check_cholesky(std::int64_t n) {
  on_host<T, 3> a = positive<T>(5, n, 1);
  if (n > 2) a(1, 2, 2) = T(-1), a(3, n - 1, n - 1) = T(NAN);
  on_card<T, 3> const there(a);
  auto const both = cholesky_with_info(there);
  on_card<T, 3> factors(5, n, n);
  on_card<std::int32_t, 1> ended(5);
  tally const done =
      testing::count([&] { run(into(factors, get<0>(both)), into(ended, get<1>(both))); });
  CHECK(done.fallbacks == 0);
  on_host<std::int32_t, 1> const infos(ended);
  plain const found = values_of(on_host<T, 3>(factors)), all = values_of(a);
  for (int k = 0; k < 5; ++k) {
    CAPTURE(k);
    plain const one = matrix_of(found, k, n * n), want = matrix_of(all, k, n * n);
    int const wrong = n > 2 && k == 1 ? 3 : n > 2 && k == 3 ? int(n) : 0;
    CHECK(infos(k) == wrong);
    if (wrong != 0) {
      for (auto v : one) CHECK(std::isnan(v));
      continue;
    }
    CHECK(distance(product(one, one, n, n, n, true), want) <= bound<T>(n) * (largest(want) + 1));
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = i + 1; j < n; ++j) REQUIRE(one[std::size_t(i * n + j)] == 0);
  }
  on_card<T, 2> const first(a.extent(0) > 0 ? on_host<T, 2>(at<0>(a, 0)) : on_host<T, 2>());
  CHECK(distance(values_of(computed(cholesky(first))), matrix_of(found, 0, n * n)) <=
        bound<T>(n) * (largest(all) + 1));
}

template <class T>
void check_solve(std::int64_t n, std::int64_t m) {
  on_host<T, 3> a(4, n, n), b(4, n, m);
  fill(a, 2), fill(b, 3);
  for (std::int64_t k = 0; k < 4; ++k)
    for (std::int64_t i = 0; i < n; ++i) a(k, (i + 1) % n, i) += T(n);
  if (n > 1)
    for (std::int64_t i = 0; i < n; ++i) a(2, i, 1) = T(0);  // no pivot in it
  on_card<T, 3> const left(a), right(b);
  auto const [x, info] = solve_with_info(left, right);
  on_card<T, 3> solutions(4, n, m);
  on_card<std::int32_t, 1> ended(4);
  run(into(solutions, x), into(ended, info));
  on_host<std::int32_t, 1> const infos(ended);
  plain const found = values_of(on_host<T, 3>(solutions)),
              inverses = values_of(computed(inverse(left)));
  for (int k = 0; k < 4; ++k) {
    CAPTURE(k);
    plain const one = matrix_of(values_of(a), k, n * n), mine = matrix_of(found, k, n * m),
                back = matrix_of(inverses, k, n * n);
    bool const singular = n > 1 && k == 2;
    CHECK(infos(k) == (singular ? 2 : 0));
    if (singular) {
      for (auto v : mine) CHECK(std::isnan(v));
      for (auto v : back) CHECK(std::isnan(v));
      continue;
    }
    CHECK(distance(product(one, mine, n, n, m), matrix_of(values_of(b), k, n * m)) <= bound<T>(n));
    plain unit(std::size_t(n * n));
    for (std::int64_t i = 0; i < n; ++i) unit[std::size_t(i * n + i)] = 1;
    CHECK(distance(product(one, back, n, n, n), unit) <= bound<T>(n));
  }
  if (n == 0) return;
  on_card<T, 2> const matrix(on_host<T, 2>(at<0>(a, 0)));
  on_card<T, 1> const vector(on_host<T, 1>(at<1>(on_host<T, 2>(at<0>(b, 0)), 0)));
  plain const one = values_of(computed(solve(matrix, vector)));
  for (std::int64_t i = 0; i < n; ++i)
    CHECK(std::fabs(one[std::size_t(i)] - found[std::size_t(i * m)]) <= bound<T>(n));
}

template <class T>
void check_qr(std::int64_t m, std::int64_t n) {
  std::int64_t const k = std::min(m, n);
  on_host<T, 3> const a = various<T>(m, n, 4);
  on_card<T, 3> const there(a);
  auto const [q, r] = qr(there);
  on_card<T, 3> left(4, m, k), right(4, k, n);
  run(into(left, q), into(right, r));
  plain const lefts = values_of(on_host<T, 3>(left)), rights = values_of(on_host<T, 3>(right));
  for (int i = 0; i < 4; ++i) {
    CAPTURE(i);
    plain const one = matrix_of(lefts, i, m * k), other = matrix_of(rights, i, k * n);
    CHECK(distance(product(one, other, m, k, n), matrix_of(values_of(a), i, m * n)) <=
          bound<T>(m + n));
    CHECK(skew(one, m, k) <= bound<T>(m + n));
    for (std::int64_t row = 0; row < k; ++row)
      for (std::int64_t c = 0; c <= row; ++c)
        REQUIRE((c < row ? other[std::size_t(row * n + c)] == 0
                         : other[std::size_t(row * n + c)] >= 0));
  }
}
template <class T>
void check_svd(std::int64_t m, std::int64_t n) {
  std::int64_t const k = std::min(m, n);
  on_host<T, 3> const a = various<T>(m, n, 5);
  on_card<T, 3> const there(a);
  auto const [u, s, vt] = svd(there);
  on_card<T, 3> left(4, m, k), right(4, k, n);
  on_card<T, 2> sizes(4, k);
  run(into(left, u), into(sizes, s), into(right, vt));
  on_host<T, 2> const values(sizes);
  plain const lefts = values_of(on_host<T, 3>(left)), rights = values_of(on_host<T, 3>(right));
  for (int i = 0; i < 4; ++i) {
    CAPTURE(i);
    plain const one = matrix_of(lefts, i, m * k), other = matrix_of(rights, i, k * n);
    plain scaled(one);
    for (std::int64_t j = 0; j < k; ++j) {
      CHECK((values(i, j) >= T(0) && (j == 0 || values(i, j) <= values(i, j - 1))));
      long double most = 0, least = 0;
      for (std::int64_t row = 0; row < m; ++row) {
        long double& x = scaled[std::size_t(row * k + j)];
        most = std::fmax(most, x), least = std::fmin(least, x);
        x *= values(i, j);
      }
      CHECK(most >= 0.998L * -least);
    }
    CHECK(distance(product(scaled, other, m, k, n), matrix_of(values_of(a), i, m * n)) <=
          bound<T>(m + n) * 2);
    CHECK(skew(one, m, k) <= bound<T>(m + n));
    CHECK(skew(turned(other, k, n), n, k) <= bound<T>(m + n));
  }
}
template <class T>
void check_eigh(std::int64_t n) {
  on_host<T, 3> a = various<T>(n, n, 6);
  for (std::int64_t i = 0; i < n; ++i)  // rank 1, and eigenvalues that are equal
    for (std::int64_t j = 0; j < n; ++j) {
      a(3, i, j) = T(1);
      if (j > i) a(0, i, j) = T(NAN);  // not read
    }
  on_card<T, 3> const there(a);
  auto const [w, v] = eigh(there);
  on_card<T, 3> vectors(4, n, n);
  on_card<T, 2> sizes(4, n);
  run(into(sizes, w), into(vectors, v));
  on_host<T, 2> const values(sizes);
  plain const all = values_of(on_host<T, 3>(vectors));
  for (int i = 0; i < 4; ++i) {
    CAPTURE(i);
    plain const one = matrix_of(all, i, n * n);
    plain half(std::size_t(n * n)), scaled(one);
    for (std::int64_t r = 0; r < n; ++r)
      for (std::int64_t c = 0; c < n; ++c) {
        half[std::size_t(r * n + c)] = c <= r ? a(i, r, c) : a(i, c, r);
        scaled[std::size_t(r * n + c)] *= values(i, c);
        CHECK((c == 0 || values(i, c) >= values(i, c - 1)));
      }
    CHECK(distance(product(half, one, n, n, n), scaled) <= bound<T>(n) * (largest(scaled) + 1));
    CHECK(skew(one, n, n) <= bound<T>(n));
  }
}

}  // namespace

TEST_CASE("cholesky on cards: factors, NaN and the number of the first root that is none") {
  on_few_backends([](backends::machine const& m) {
    if (!m.has_gpu()) return;
    for (std::int64_t const n : {0, 1, 3, 33, 130}) {
      CAPTURE(n);
      check_cholesky<double>(n);
      check_cholesky<float>(n);
    }
  });
}

TEST_CASE("solve and inverse on cards, of regular and singular matrices") {
  on_few_backends([](backends::machine const& m) {
    if (!m.has_gpu()) return;
    for (std::int64_t const n : {0, 1, 3, 40}) {
      CAPTURE(n);
      check_solve<double>(n, 1);
      check_solve<float>(n, 5);
    }
    on_card<double, 2> const a(on_host<double, 2>{{2, 0}, {0, 4}});
    on_card<double, 2> const none(2, 0);
    CHECK(eval(solve(a, none)).size() == 0);
  });
}

TEST_CASE("qr, svd and eigh on cards, of any rank") {
  on_few_backends([](backends::machine const& m) {
    if (!m.has_gpu()) return;
    std::int64_t const sizes[][2] = {{1, 1},  {3, 2},  {2, 3}, {31, 33},
                                     {70, 5}, {5, 70}, {0, 3}, {3, 0}};
    for (auto const& s : sizes) {
      CAPTURE(s[0]);
      CAPTURE(s[1]);
      check_qr<double>(s[0], s[1]);
      check_qr<float>(s[0], s[1]);
      check_svd<double>(s[0], s[1]);
      check_svd<float>(s[0], s[1]);
    }
    for (std::int64_t const n : {0, 1, 3, 33, 70}) {
      CAPTURE(n);
      check_eigh<double>(n);
      check_eigh<float>(n);
    }
  });
}

TEST_CASE("an infinity or a NaN gives NaN on cards, for its matrix alone") {
  on_few_backends([](backends::machine const& m) {
    if (!m.has_gpu()) return;
    on_host<double, 3> a(3, 9, 9);
    fill(a, 7);
    a(1, 8, 1) = NAN, a(2, 8, 0) = -INFINITY;
    on_card<double, 3> const there(a);
    auto const [q, r] = qr(there);
    auto const [w, v] = eigh(there);
    auto const [u, s, vt] = svd(there);
    on_host<double, 3> const all[] = {to<CpuDevice>(eval(q)), to<CpuDevice>(eval(r)),
                                      to<CpuDevice>(eval(v)), to<CpuDevice>(eval(u)),
                                      to<CpuDevice>(eval(vt))};
    for (auto const& x : all)
      for (int i = 0; i < 243; ++i) CHECK(std::isfinite(x.data()[i]) == (i < 81));
    on_host<double, 2> const sizes[] = {to<CpuDevice>(eval(w)), to<CpuDevice>(eval(s))};
    for (auto const& x : sizes)
      for (int i = 0; i < 27; ++i) CHECK(std::isfinite(x.data()[i]) == (i < 9));
  });
}

TEST_CASE("pieces of a batch are factored where they are") {
  on_few_backends([](backends::machine const& m) {
    if (m.gpus < 2) return;
    on_host<double, 3> const a = positive<double>(7, 6, 8);
    Tensor<double, Dextents<3>, Sharded<0, GpuDevice<0>, GpuDevice<1>>> const pieces(a);
    tally const done = testing::count([&] { (void)eval(cholesky(pieces)); });
    CHECK(done.fallbacks == 0);
    CHECK(done.copies == 0);
    on_card<double, 3> const whole(a);
    CHECK(distance(values_of(fetch(cholesky(pieces))), values_of(fetch(cholesky(whole)))) <=
          bound<double>(6));
  });
}

TEST_CASE("a library that was not found is named with the remedy") {
  missing_kernel lookup{"a.cu", {}, "cusolverDnXpotrf"};
  lookup.library = cuda_side::cusolver_table::missing;
  message text;
  cuda_side::write_remedy(text, lookup);
  CHECK(text.view() ==
        "no cuSOLVER library (libcusolver.so.12 or .11) was found; install it, or name its folder "
        "in LD_LIBRARY_PATH");
  CHECK(std::string(cuda_side::describe_cusolver(300003)).find("give it smaller matrices") !=
        std::string::npos);
  CHECK(cuda_side::describe_cusolver(200001) == nullptr);
}

#if defined(LOCUS_TEST_ON_CARDS)
TEST_CASE("a failed call of cuSOLVER is named with its reason, and the next one works") {
  on_card<double, 2> const a(on_host<double, 2>{{2, 0}, {0, 4}});
  CHECK(fetch(inverse(a))(1, 1) == 0.25);
  ptx_fail("cusolverDnXgetrf", 1, 2);
  std::string const said = message_of<device_error>([&] { (void)fetch(inverse(a)); });
  on_card<double, 3> const both(positive<double>(2, 3, 9));
  (void)eval(inverse(both));
  ptx_fail("cublasXgetrfBatched", 1, 14);
  std::string const of_blas = message_of<device_error>([&] { (void)fetch(inverse(both)); });
  ptx_fail(nullptr, 0, 0);
  CAPTURE(of_blas);
  CHECK(of_blas.find("CUBLAS_STATUS_INTERNAL_ERROR") != std::string::npos);
  CAPTURE(said);
  CHECK(said.find("CUSOLVER_STATUS_ALLOC_FAILED") != std::string::npos);
  CHECK(said.find("lower the memory limit of the device") != std::string::npos);
  CHECK(fetch(inverse(a))(1, 1) == 0.25);
}
#endif

}  // namespace cards_test
