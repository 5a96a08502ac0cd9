// SPDX-License-Identifier: Apache-2.0
// Products that one kernel reads: never stored on a CPU, made in panels. Maps and folds of every
// kind against double, at extents of one panel, of several, and of sums that are too deep to pack.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>
#include <oracle.hpp>

namespace panels_test {

using namespace locus;
using oracle::array;

namespace {

using Matrix = Tensor<float, Dextents<2>>;
using Vector = Tensor<float, Dextents<1>>;
using Number = Tensor<float, Extents<>>;

struct numbers_of {
  std::int64_t m, n, k;
};
constexpr numbers_of few_extents[] = {{7, 5, 9},       {1, 70, 3},     {300, 700, 50},
                                      {700, 300, 33},  {13, 6000, 20}, {6000, 13, 20},
                                      {300, 400, 1100}};

array<double> product(array<float> const& a, array<float> const& b) {
  std::int64_t const m = a.extents.extent[0], k = a.extents.extent[1], n = b.extents.extent[1];
  array<double> c({2, {m, n}});
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t p = 0; p < k; ++p)
      for (std::int64_t j = 0; j < n; ++j)
        c[i * n + j] += static_cast<double>(a[i * k + p]) * static_cast<double>(b[p * n + j]);
  return c;
}

}  // namespace

TEST_CASE("a map or a fold of a product is one launch on a CPU, and the product lies nowhere") {
  Matrix a(2, 3), b(3, 4);
  Vector bias(4);
  using One = decltype(on<CpuDevice>(relu(matmul(a, b) + bias)));
  static_assert(plan_of<One>.launches() == 1);
  using Sum = decltype(on<CpuDevice>(sum<1>(square(matmul(a, b)))));
  static_assert(plan_of<Sum>.launches() == 1);
  // read twice by different kernels, or by a view: stored
  using Two = decltype(on<CpuDevice>(transpose(matmul(a, b)) + 1.f));
  static_assert(plan_of<Two>.launches() == 2);
  using Softmax = decltype(on<CpuDevice>(softmax(matmul(a, b))));
  static_assert(plan_of<Softmax>.launches() == 2);
  using OnGpu = decltype(on<GpuDevice<0>>(relu(matmul(a, b) + bias)));
  static_assert(plan_of<OnGpu>.launches() == 2);
  CHECK(plan_of<Sum>.explain().view().find("in panels, not stored") != std::string_view::npos);
}

TEST_CASE("maps and folds of products agree with double, whatever the panels are") {
  oracle::random r(5);
  for (numbers_of const& e : few_extents) {
    std::int64_t const m = e.m, n = e.n, k = e.k;
    CAPTURE(m);
    CAPTURE(n);
    CAPTURE(k);
    auto const a = oracle::random_array<float>(r, {2, {m, k}}, -1, 1);
    auto const b = oracle::random_array<float>(r, {2, {k, n}}, -1, 1);
    auto const c = oracle::random_array<float>(r, {2, {m, n}}, -1, 1);
    auto const bias = oracle::random_array<float>(r, {1, {n}}, -1, 1);
    auto const p = product(a, b);
    auto const x = oracle::tensor<2>(a), y = oracle::tensor<2>(b), z = oracle::tensor<2>(c);
    auto const v = oracle::tensor<1>(bias);
    double const close = 1e-6 * static_cast<double>(k);

    Matrix dense(m, n);
    dense = relu(matmul(x, y) + v);
    auto const wanted = oracle::map<double>(
        p.extents, [](double s, float t) { return std::max(0., s + static_cast<double>(t)); }, p,
        bias);
    CHECK(oracle::difference(dense, wanted, 1e-5, close) == "");

    array<double> rows({1, {m}}), columns({1, {n}}), best({1, {m}});
    double all = 0;
    for (std::int64_t i = 0; i < m; ++i) {
      best[i] = -1e9;
      for (std::int64_t j = 0; j < n; ++j) {
        double const x_ij = p[i * n + j];
        all += x_ij, rows[i] += x_ij * static_cast<double>(c[i * n + j]), columns[j] += x_ij;
        best[i] = std::max(best[i], x_ij);
      }
      best[i] = 2 * best[i] + 1;
    }
    Number total;
    total = sum(matmul(x, y));
    CHECK(*total.data() == doctest::Approx(all).epsilon(1e-4));
    Vector by_row(m), by_column(n), largest(m);
    by_row = sum<1>(z * matmul(x, y));
    CHECK(oracle::difference(by_row, rows, 1e-4, close * std::sqrt(double(n))) == "");
    by_column = sum<0>(matmul(x, y));
    CHECK(oracle::difference(by_column, columns, 1e-4, close * std::sqrt(double(m))) == "");
    largest = 2.f * max<1>(matmul(x, y)) + 1.f;
    CHECK(oracle::difference(largest, best, 1e-5, 2 * close) == "");

    // several outputs of one pass, elements among them
    Matrix kept(m, n);
    run(plan(into(kept, z - matmul(x, y)), into(total, sum(z * 2.f))));
    CHECK(oracle::difference(
              kept,
              oracle::map<double>(
                  p.extents, [](float t, double s) { return static_cast<double>(t) - s; }, c, p),
              1e-5, close) == "");
    // threads change no bit
    float const before = (total = sum(matmul(x, y)), *total.data());
    for (int threads : {1, 2, 3}) {
      config::set_intra_op_parallelism_threads(threads);
      total = sum(matmul(x, y));
      CHECK(*total.data() == before);
    }
    config::set_intra_op_parallelism_threads(0);
  }
}

TEST_CASE("argmax of a product, in double, with ties and views") {
  oracle::random r(6);
  for (auto const& [m, n, k] : {numbers_of{300, 400, 10}, numbers_of{5, 6, 7}}) {
    Tensor<double, Dextents<2>> a(m, k), bt(n, k);
    for (std::int64_t i = 0; i < m * k; ++i) a.data()[i] = double(r.number(-1, 1));
    for (std::int64_t i = 0; i < n * k; ++i) bt.data()[i] = double(r.number(-1, 1));
    Tensor<std::int64_t, Dextents<1>> at(m), want(m);
    at = argmax<1>(matmul(a, transpose(bt)));
    Tensor<double, Dextents<2>> stored(m, n);
    stored = matmul(a, transpose(bt));
    want = argmax<1>(stored);
    CHECK(equal(at, want));
  }
}

TEST_CASE("a destination that the product reads is set aside, one that the map reads is not") {
  oracle::random r(7);
  std::int64_t const n = 300;
  auto const a = oracle::random_array<float>(r, {2, {n, n}}, -1, 1);
  auto const b = oracle::random_array<float>(r, {2, {n, n}}, -1, 1);
  auto const p = product(a, b);
  Matrix x = oracle::tensor<2>(a), y = oracle::tensor<2>(b);
  auto const sum_of = [&](array<float> const& other) {
    return oracle::map<double>(
        p.extents, [](double s, float t) { return s + static_cast<double>(t); }, p, other);
  };
  x = matmul(x, y) + x;
  CHECK(oracle::difference(x, sum_of(a), 1e-5, 1e-4) == "");
  x = oracle::tensor<2>(a);
  y = matmul(x, y) + y;
  CHECK(oracle::difference(y, sum_of(b), 1e-5, 1e-4) == "");
  // rows that are read again when a part of them was written
  auto const wide = oracle::random_array<float>(r, {2, {64, 1100}}, -1, 1);
  auto const deep = oracle::random_array<float>(r, {2, {1100, 1100}}, -1, 1);
  x = oracle::tensor<2>(wide);
  auto const d = oracle::tensor<2>(deep);
  x = matmul(x, d) + x;
  auto const moved = oracle::map<double>(
      wide.extents, [](double e, float t) { return e + static_cast<double>(t); },
      product(wide, deep), wide);
  CHECK(oracle::difference(x, moved, 1e-5, 1e-3) == "");
  x = oracle::tensor<2>(a);
  Matrix z = oracle::tensor<2>(b);
  y = oracle::tensor<2>(b);
  z = matmul(x, y) + z;
  CHECK(oracle::difference(z, sum_of(b), 1e-5, 1e-4) == "");
}

TEST_CASE("a product of one row that stretches over the others") {
  oracle::random r(8);
  auto const a = oracle::random_array<float>(r, {2, {1, 40}}, -1, 1);
  auto const b = oracle::random_array<float>(r, {2, {40, 300}}, -1, 1);
  auto const c = oracle::random_array<float>(r, {2, {500, 300}}, -1, 1);
  auto const x = oracle::tensor<2>(a), y = oracle::tensor<2>(b), z = oracle::tensor<2>(c);
  Matrix to(500, 300);
  to = matmul(x, y) * z;
  auto const want = oracle::map<double>(
      c.extents, [](double s, float t) { return s * static_cast<double>(t); }, product(a, b), c);
  CHECK(oracle::difference(to, want, 1e-5, 1e-4) == "");
}

}  // namespace panels_test
