// SPDX-License-Identifier: Apache-2.0
// Values over several devices: every reduction along and beside the cut, terms that are added late,
// and operands that lie otherwise, against plain loops.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>
#include <oracle.hpp>

namespace distributed_test {

using namespace locus;
using oracle::array, oracle::difference, oracle::each_index;

namespace {

using Gpu = GpuDevice<0>;
using Second = GpuDevice<1>;
using Third = GpuDevice<2>;
using Both = Mirrored<Gpu, Second, Third>;
using Rows = Sharded<0, Gpu, Second, Third>;
using Columns = Sharded<1, Gpu, Second, Third>;
using Pieces = Sharded<0, Gpu, Second, Third>;

/// the sums of columns, each of them times f
array<double> column_sums(array<double> const& a, double f = 1) {
  array<double> t({1, {a.extents.extent[1]}});
  each_index(a.extents, [&](std::int64_t const* i, std::int64_t k) { t[i[1]] += a[k] * f; });
  return t;
}
array<double> transpose_of(array<double> const& a) {
  std::int64_t const m = a.extents.extent[0], n = a.extents.extent[1];
  return oracle::make<double>({2, {n, m}},
                              [&](std::int64_t const* i) { return a[i[1] * n + i[0]]; });
}
array<double> random_matrix(oracle::random& r, std::int64_t m, std::int64_t n) {
  return oracle::random_array<double>(r, {2, {m, n}}, -4, 4);
}

}  // namespace

TEST_CASE("reductions along the cut are terms, beside it pieces; both give the whole value") {
  on_backends([](backends::machine const& m) {
    oracle::random r(m.seed + 10);
    for (std::int64_t const rows : {1, 2, 3, 7, 100}) {
      std::int64_t const columns = r.number(1, 80);
      auto const a = random_matrix(r, rows, columns);
      auto const x = to<Rows>(oracle::tensor<2>(a));
      auto const want = column_sums(a);
      CHECK(difference(fetch(sum<0>(x)), want, 1e-13, 1e-12) == "");
      CHECK(difference(fetch(mean<0>(x)), column_sums(a, 1. / double(rows)), 1e-13, 1e-12) == "");
      double total = 0, largest = -9;
      for (std::int64_t i = 0; i < a.size(); ++i) total += a[i], largest = std::fmax(largest, a[i]);
      CHECK(fetch(sum<1>(x)).size() == rows);
      CHECK(std::fabs(fetch(sum(sum<1>(x))) - total) < 1e-10);
      CHECK(fetch(max(x)) == largest);
      CHECK(a[fetch(argmax(x))] == largest);
      CHECK(fetch(min(x)) == -fetch(max(-x)));
      CHECK(fetch(any(x == largest)));
      CHECK(!fetch(all(x < largest)));
      auto const first = fetch(argmax<0>(x));
      for (std::int64_t j = 0; j < columns; ++j)
        for (std::int64_t i = 0; i < rows; ++i)
          REQUIRE(a[first(j) * columns + j] >= a[i * columns + j]);
    }
  });
}
TEST_CASE("ties over pieces go to the lowest index, and the first NaN wins") {
  on_backends([] {
    Tensor<float, Extents<7>, Pieces> const x{1, 5, 2, 5, 0, 5, 5};
    CHECK(fetch(argmax(x)) == 1);
    Tensor<float, Extents<7>, Pieces> const y{1, 5, 2, NAN, 0, NAN, 9};
    CHECK(fetch(argmax(y)) == 3);
    CHECK(fetch(max(y)) != fetch(max(y)));
    Tensor<std::uint8_t, Extents<4>, Pieces> const bytes{200, 100, 250, 6};
    CHECK(fetch(sum(bytes)) == 556);
  });
}
TEST_CASE("terms are completed where their value is wanted: one device, every device, pieces") {
  on_backends([](backends::machine const& m) {
    oracle::random r(m.seed + 20);
    for (std::int64_t const n : {1, 2, 5, 64, 130}) {
      auto const a = random_matrix(r, r.number(1, 9), n);
      auto const x = to<Rows>(oracle::tensor<2>(a));
      auto const want = column_sums(a);
      Tensor<double, Dextents<1>, Both> everywhere(n);
      Tensor<double, Dextents<1>, Pieces> pieces(n);
      Tensor<double, Dextents<1>, Second> one(n);
      everywhere = sum<0>(x);
      pieces = sum<0>(x);
      one = sum<0>(x);
      CHECK(difference(fetch(everywhere), want, 1e-13, 1e-12) == "");
      CHECK(difference(fetch(pieces), want, 1e-13, 1e-12) == "");
      CHECK(difference(fetch(one), want, 1e-13, 1e-12) == "");
      // linear steps come before the all-reduce, the others after it
      everywhere = (2. * sum<0>(x) - sum<0>(x * x)) / 4.;
      auto const squares =
          oracle::map<double>(a.extents, [](double v) { return (2 * v - v * v) / 4; }, a);
      CHECK(difference(fetch(everywhere), column_sums(squares), 1e-13, 1e-12) == "");
      everywhere = abs(sum<0>(x)) + 1.;
      CHECK(difference(fetch(everywhere),
                       oracle::map<double>(
                           want.extents, [](double v) { return std::fabs(v) + 1; }, want),
                       1e-13, 1e-12) == "");
    }
  });
}
TEST_CASE("pieces meet copies, numbers of one device and generators") {
  on_backends([](backends::machine const& m) {
    oracle::random r(m.seed + 30);
    for (std::int64_t const rows : {1, 3, 8, 67}) {
      std::int64_t const columns = r.number(1, 70);
      auto const a = random_matrix(r, rows, columns), b = random_matrix(r, rows, columns);
      auto const c = oracle::random_array<double>(r, {1, {columns}}, -4, 4);
      auto const x = to<Rows>(oracle::tensor<2>(a));
      auto const y = to<Both>(oracle::tensor<2>(b));
      auto const z = oracle::tensor<1>(c);
      Dextents<2> const e(rows, columns);
      auto const t = fetch(x * y + z - iota<double>(e));
      CHECK(difference(t,
                       oracle::make<double>(e.as_shape(),
                                            [&](std::int64_t const* i) {
                                              std::int64_t const k = i[0] * columns + i[1];
                                              return a[k] * b[k] + c[i[1]] - double(k);
                                            }),
                       1e-14, 1e-13) == "");
      // the same values cut the other way; centred rows and columns of pieces
      auto const w = to<Columns>(oracle::tensor<2>(a));
      CHECK(difference(fetch(transpose(w) * 1.), transpose_of(a)) == "");
      auto const centred = fetch(x - mean<0>(x, keep_dims));
      auto const means = column_sums(a, 1. / double(rows));
      CHECK(difference(centred,
                       oracle::make<double>(e.as_shape(),
                                            [&](std::int64_t const* i) {
                                              return a[i[0] * columns + i[1]] - means[i[1]];
                                            }),
                       1e-12, 1e-12) == "");
      auto const joined = fetch(concatenate<1>(x, y));
      CHECK(difference(joined,
                       oracle::make<double>({2, {rows, 2 * columns}}, [&](std::int64_t const* i) {
                         return i[1] < columns ? a[i[0] * columns + i[1]]
                                               : b[i[0] * columns + i[1] - columns];
                       })) == "");
    }
  });
}

}  // namespace distributed_test
