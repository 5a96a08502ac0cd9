// SPDX-License-Identifier: Apache-2.0
// The host's own matrix product against three loops in double (in 64 bits for integers): random
// extents around the sizes of tiles and blocks, every way in which operands may lie, guards around
// the result.
#include <doctest/doctest.h>
#include <oracle.hpp>
#include <worst_of.hpp>

#include <locus/engine/host/matmul.hpp>
#include <locus/engine/host/static_product.hpp>

using namespace locus;
using kernel::matrix;

namespace {

/// how a matrix lies
enum class lie { rows, columns, gaps };

template <class T>
struct held {
  std::vector<T> cells;
  matrix m;
  held(std::int64_t rows, std::int64_t columns, lie how, std::int64_t pad = 0) {
    std::int64_t const inner = how == lie::columns ? rows : columns,
                       outer = how == lie::columns ? columns : rows;
    std::int64_t const step = how == lie::gaps ? 2 : 1, line = step * inner + pad;
    cells.assign(std::size_t(line * outer + 1), T(77));
    m = {cells.data(), rows, columns, line, step};
    if (how == lie::columns) m.row_stride = step, m.column_stride = line;
  }
  T& at(std::int64_t i, std::int64_t j) {
    return cells[std::size_t(i * m.row_stride + j * m.column_stride)];
  }
};

/// the largest error over the sum of absolute values; 1e9: something else was written
template <class T>
double error_of(oracle::random& r, std::int64_t rows, std::int64_t columns, std::int64_t k, lie la,
                lie lb, lie lc, void (*multiply)(matrix, matrix, matrix)) {
  using wide = std::conditional_t<is_floating_v<T>, double, std::uint64_t>;
  held<T> a(rows, k, la, r.number(0, 3)), b(k, columns, lb, r.number(0, 3)),
      c(rows, columns, lc, r.number(0, 3));
  for (T& x : a.cells) x = r.value<T>(-9, 9);
  for (T& x : b.cells) x = r.value<T>(-9, 9);
  multiply(c.m, a.m, b.m);
  double worst = 0;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) {
      wide exact = 0;
      double all = 1e-30;
      for (std::int64_t p = 0; p < k; ++p) {
        exact += static_cast<wide>(a.at(i, p)) * static_cast<wide>(b.at(p, j));
        all += std::fabs(static_cast<double>(a.at(i, p)) * static_cast<double>(b.at(p, j)));
      }
      double const want = is_floating_v<T> ? static_cast<double>(exact)
                                           : static_cast<double>(static_cast<T>(exact));
      worst = worst_of(worst, std::fabs(static_cast<double>(c.at(i, j)) - want) / all);
      c.at(i, j) = T(77);
    }
  for (T const& x : c.cells)
    if (x != T(77)) return 1e9;
  return worst;
}
template <class T>
void own(matrix c, matrix a, matrix b) {
  host::product<T>(c, a, b);
}

template <class T>
void check(int small, int large) {
  oracle::random r(sizeof(T) + (is_floating_v<T> ? 1 : 0));
  double const most = is_floating_v<T> ? (sizeof(T) == 4 ? 1.0 : 2e-9) * 5e-7 : 0;
  lie const ways[] = {lie::rows, lie::rows, lie::columns, lie::gaps};
  double worst = 0;
  auto one = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    auto way = [&] { return ways[r.number(0, 3)]; };
    worst = worst_of(worst, error_of<T>(r, m, n, k, way(), way(), way(), own<T>));
  };
  for (int t = 0; t < small; ++t) one(r.number(0, 70), r.number(0, 70), r.number(0, 70));
  for (int t = 0; t < large; ++t) one(r.number(1, 300), r.number(1, 300), r.number(1, 700));
  one(100, 3, 0), one(1, 300, 70), one(300, 1, 70);
  CHECK(worst <= most);
}

template <class T>
void any(matrix c, matrix a, matrix b) {
  host::matmul<T>(c, a, b);
}

template <class T, kernel::product_extents E>
void check_static() {
  if constexpr (host::has_static_product<T>(E.m, E.n, E.k)) {
    oracle::random r(9);
    auto const run = [](matrix c, matrix a, matrix b) {
      using product = host::static_product<T, E>;
      REQUIRE(product::fits(c, a, b));
      product::run(static_cast<T*>(c.data), static_cast<T const*>(a.data),
                   static_cast<T const*>(b.data));
    };
    for (int t = 0; t < 4; ++t) {
      // pads of zero, since extents say how the operands lie
      held<T> a(E.m, E.k, lie::rows), b(E.k, E.n, lie::rows), c(E.m, E.n, lie::rows),
          d(E.m, E.n, lie::rows);
      for (T& x : a.cells) x = r.value<T>(-1, 1);
      for (T& x : b.cells) x = r.value<T>(-1, 1);
      run(c.m, a.m, b.m);
      double worst = c.cells.back() == T(77) ? 0 : 1e9;
      for (int i = 0; i < E.m; ++i)
        for (int j = 0; j < E.n; ++j) {
          double exact = 0;
          for (int p = 0; p < E.k; ++p)
            exact += static_cast<double>(a.at(i, p)) * static_cast<double>(b.at(p, j));
          worst = worst_of(worst, std::fabs(static_cast<double>(c.at(i, j)) - exact));
        }
      CHECK(worst <= (sizeof(T) == 4 ? 1e-5 : 1e-14));
    }
  }
}

}  // namespace

TEST_CASE("the host's own product of any extents and strides agrees with three loops") {
  check<float>(200, 8);
  check<double>(100, 4);
  check<std::int32_t>(60, 2);
  check<std::int64_t>(60, 2);
  check<std::uint8_t>(60, 2);
}
TEST_CASE("a matrix times a vector, and a vector times a matrix, agree with three loops") {
  auto const check_vectors = [](auto zero) {
    using T = decltype(zero);
    oracle::random r(5);
    double const most = is_floating_v<T> ? (sizeof(T) == 4 ? 1.0 : 2e-9) * 5e-7 : 0;
    lie const ways[] = {lie::rows, lie::columns, lie::gaps};
    double worst = 0;
    for (lie const c : ways)
      for (lie const a : ways)
        for (lie const b : ways)
          for (std::int64_t const m : {1, 3, 4, 65, 600})
            for (std::int64_t const k : {0, 1, 7, 8, 33, 64, 700}) {
              worst = worst_of(worst, error_of<T>(r, m, 1, k, a, b, c, any<T>));
              worst = worst_of(worst, error_of<T>(r, 1, m, k, a, b, c, any<T>));
            }
    CHECK(worst <= most);
  };
  check_vectors(0.f), check_vectors(0.), check_vectors(std::int32_t{}),
      check_vectors(std::uint8_t{});
  runtime::thread_limit = 3;
  oracle::random r(6);
  CHECK(error_of<std::int64_t>(r, 3001, 1, 501, lie::rows, lie::gaps, lie::columns,
                               any<std::int64_t>) == 0);
  CHECK(error_of<std::int64_t>(r, 1, 3001, 501, lie::rows, lie::rows, lie::rows,
                               any<std::int64_t>) == 0);
  runtime::host_memory.trim();
  runtime::host_memory.refuses = true;  // a vector with gaps that cannot be copied
  CHECK(error_of<std::int32_t>(r, 20, 1, 700, lie::rows, lie::gaps, lie::rows, any<std::int32_t>) ==
        0);
  runtime::host_memory.refuses = false;
  runtime::thread_limit = 0;
}
TEST_CASE("products of static extents agree with three loops, edges included") {
  check_static<float, kernel::product_extents{8, 8, 8}>();
  check_static<float, kernel::product_extents{13, 21, 5}>();
  check_static<float, kernel::product_extents{1, 64, 64}>();
  check_static<float, kernel::product_extents{64, 4, 1}>();
  check_static<double, kernel::product_extents{16, 16, 16}>();
  check_static<double, kernel::product_extents{3, 50, 7}>();
}
TEST_CASE("threads and a lack of workspace do not change a product of integers") {
  oracle::random r(3);
  for (int t = 0; t < 3; ++t) {
    runtime::thread_limit = t == 0 ? 3 : 0;
    runtime::host_memory.trim();
    runtime::host_memory.refuses = t == 1;
    CHECK(error_of<std::int32_t>(r, 257, 300, 129, lie::rows, lie::rows, lie::rows,
                                 own<std::int32_t>) == 0);
  }
  runtime::thread_limit = 0;
}
TEST_CASE("a BLAS that nobody else has runs on the threads that call it") {
  host::cblas_table const& t = host::cblas();
  if (!t.sgemm || !t.is_ours || !t.get_threads) return;
  CHECK(t.is_single());
  int const given = t.get_omp_threads ? t.get_omp_threads() : 0;
  oracle::random r(7);
  runtime::thread_limit = 2;
  CHECK(error_of<float>(r, 500, 300, 200, lie::rows, lie::columns, lie::rows, any<float>) <= 5e-7);
  CHECK(error_of<double>(r, 100, 400, 200, lie::columns, lie::rows, lie::columns, any<double>) <=
        1e-15);
  runtime::thread_limit = 0;
  CHECK(t.is_single());
  if (t.get_omp_threads) CHECK(t.get_omp_threads() == given);  // the program's setting is as it was
  host::one_blas_thread const alone(t);
  if (t.get_omp_threads) CHECK(t.get_omp_threads() == 1);
}
TEST_CASE("the kernels of an OpenBLAS are compared with the processor's") {
  host::cblas_table t;
  CHECK_FALSE(host::has_kernels_below_processor(t));  // no OpenBLAS
  t.core_name = [] { return "Haswell"; };
#if defined(__x86_64__)
  CHECK(host::has_kernels_below_processor(t) == bool(__builtin_cpu_supports("avx512bw")));
#endif
  t.core_name = [] { return "SkylakeX"; };
  CHECK_FALSE(host::has_kernels_below_processor(t));
}
