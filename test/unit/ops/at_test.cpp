// SPDX-License-Identifier: Apache-2.0
// at, row_at, column_at: reading and writing the part of an array at one index, against index arithmetic, on every
// backend, for static and open extents; parts of parts, pieces, gradients, calls, bytes that travel, bad indices.
#define LOCUS_CUDA_KERNELS 1
#include <on_backends.hpp>

#include <vector>

#include <locus/algorithms/scan.hpp>

#include "message_of.hpp"
#include "unit/algorithms/rows.hpp"

namespace at_test {

using namespace locus;
using rows::values_in;

namespace {

using G0 = GpuDevice<0>;
using G1 = GpuDevice<1>;
template <class T, bool Open, class Where, std::int64_t... N>
using Array = Tensor<T, std::conditional_t<Open, Dextents<sizeof...(N)>, Extents<N...>>, Where>;

/// element number i in row order is i
template <class T, bool Open, class Where, std::int64_t... N>
auto counted() {
  Array<T, Open, CpuDevice, N...> const here(iota<T>(Extents<N...>{}, T(0)));
  return Array<T, Open, Where, N...>(here);
}
template <class T, bool Open, class Where>
void check_reads() {
  CAPTURE(Open);
  auto const x = counted<T, Open, Where, 4, 5, 6>();
  for (std::int64_t i = -4; i < 4; ++i) {
    auto const v = values_in(at<0>(x, i));
    REQUIRE(v.size() == 30);
    for (int k = 0; k < 30; ++k) REQUIRE(v[std::size_t(k)] == T((i < 0 ? i + 4 : i) * 30 + k));
  }
  for (std::int64_t j = -5; j < 5; ++j) {
    auto const v = values_in(at<-2>(x, j));
    REQUIRE(v.size() == 24);
    for (int k = 0; k < 24; ++k)
      REQUIRE(v[std::size_t(k)] == T(k / 6 * 30 + (j < 0 ? j + 5 : j) * 6 + k % 6));
  }
  // a part of a part, of a turned array, of a slice, of a computed value; a number of rank 0
  CHECK(values_in(at<1>(at<0>(x, 2), 3)) == std::vector<double>{63, 69, 75, 81, 87});
  CHECK(values_in(at<0>(at<0>(transpose(x), 5), 1)) == std::vector<double>{11, 41, 71, 101});
  CHECK(values_in(at<0>(slice(x, {1, 3}, {2, 4}), 1)) ==
        std::vector<double>{72, 73, 74, 75, 76, 77, 78, 79, 80, 81, 82, 83});
  CHECK(values_in(at<2>(at<0>(expand_dims<0>(x), 0) + x, 0))[7] == T(2 * 42));
  CHECK(fetch(at<0>(at<0>(at<0>(x, 3), 2), 1)) == T(103));
  // beside other operands, in folds and in products
  auto const m = counted<T, Open, Where, 7, 9>();
  auto const outer = values_in(expand_dims<1>(column_at(m, 2)) + row_at(m, 3));
  for (int i = 0; i < 7; ++i)
    for (int j = 0; j < 9; ++j) REQUIRE(outer[std::size_t(i * 9 + j)] == T(i * 9 + 2 + 27 + j));
  CHECK(fetch(sum(column_at(m, -1))) == T(8 + 17 + 26 + 35 + 44 + 53 + 62));
  CHECK(values_in(sum<0>(at<1>(x, 4)))[0] == T(24 + 54 + 84 + 114));
  if constexpr (is_floating_v<T>) {
    auto const product = values_in(matmul(m, row_at(m, 1)));
    for (int i = 0; i < 7; ++i) {
      T expected = 0;
      for (int j = 0; j < 9; ++j) expected += T(i * 9 + j) * T(9 + j);
      REQUIRE(product[std::size_t(i)] == expected);
    }
    auto const sums = values_in(cumsum<0>(column_at(m, 0)));  // a call reads a copy
    CHECK(sums == std::vector<double>{0, 9, 27, 54, 90, 135, 189});
    CHECK(values_in(cumsum<0>(row_at(m, 1)))[8] == T(117));
  }
}

template <class T, bool Open, class Where>
void check_writes() {
  CAPTURE(Open);
  auto x = counted<T, Open, Where, 4, 5, 6>();
  auto m = counted<T, Open, Where, 4, 6>();
  std::vector<double> expected(120), of_m(24);
  for (int i = 0; i < 120; ++i) expected[std::size_t(i)] = T(i);
  for (int i = 0; i < 24; ++i) of_m[std::size_t(i)] = T(i);
  auto const of_x = [&](int i, int j, int k) -> double& {
    return expected[std::size_t(i * 30 + j * 6 + k)];
  };
  at<1>(x, 3) = m * T(2);
  for (int i = 0; i < 4; ++i)
    for (int k = 0; k < 6; ++k) of_x(i, 3, k) = T(2 * (i * 6 + k));
  REQUIRE(values_in(x) == expected);
  at<0>(x, -1) = T(7);
  for (int j = 0; j < 5; ++j)
    for (int k = 0; k < 6; ++k) of_x(3, j, k) = T(7);
  REQUIRE(values_in(x) == expected);
  at<1>(at<0>(x, 1), 4) += T(50);  // a part of a part
  for (int j = 0; j < 5; ++j) of_x(1, j, 4) += T(50);
  REQUIRE(values_in(x) == expected);
  slice(at<0>(x, 0), {1, 4}, {2, 5}) = at<0>(slice(x, {2, 3}, {0, 3}, {3, 6}), 0);
  for (int j = 0; j < 3; ++j)
    for (int k = 0; k < 3; ++k) of_x(0, 1 + j, 2 + k) = of_x(2, j, 3 + k);
  REQUIRE(values_in(x) == expected);
  // one plan: both right sides are read before either left side is written
  run(into(row_at(m, 0), row_at(m, 3)), into(row_at(m, 3), row_at(m, 0)));
  for (int k = 0; k < 6; ++k) std::swap(of_m[std::size_t(k)], of_m[std::size_t(18 + k)]);
  REQUIRE(values_in(m) == of_m);
  column_at(m, 5) *= T(2);
  column_at(m, 0) = column_at(m, 1);
  for (int i = 0; i < 4; ++i) {
    of_m[std::size_t(i * 6 + 5)] *= T(2);
    of_m[std::size_t(i * 6)] = of_m[std::size_t(i * 6 + 1)];
  }
  REQUIRE(values_in(m) == of_m);
}

using Rows = Sharded<0, G0, G1>;
using Columns = Sharded<1, G0, G1>;

}  // namespace

TEST_CASE("at reads the part at one index of an axis") {
  on_few_backends([] {
    check_reads<float, false, CpuDevice>();
    check_reads<double, true, G0>();
    check_reads<int, true, CpuDevice>();
  });
}

TEST_CASE("parts at one index are written") {
  on_few_backends([] {
    check_writes<float, false, CpuDevice>();
    check_writes<double, true, G0>();
    check_writes<int, false, G0>();
  });
  // views, with strides of their own
  double data[12] = {};
  view<CpuDevice>(data, Extents<3, 4>{});
  auto const v = view<CpuDevice>(data, Extents<3, 4>{});
  row_at(v, 1) = 1.0;
  column_at(v, -2) += 2.0;
  double const expected[12] = {0, 0, 2, 0, 1, 1, 3, 1, 0, 0, 2, 0};
  for (int i = 0; i < 12; ++i) CHECK(data[i] == expected[i]);
}

TEST_CASE("a plan that is kept looks its parts up when it runs") {
  Tensor<double, Dextents<2>, CpuDevice> m(3, 4);
  Tensor<double, Dextents<1>, CpuDevice> v(4);
  m = 0.0, v = 5.0;
  auto const p = plan(into(row_at(m, 1), v + 1.0), into(at<0>(row_at(m, 2), 0), sum(v)));
  run(p);
  CHECK(fetch(sum(m)) == 24 + 20);
  m.resize(dextents<2>(500, 4));  // other memory: checked builds refuse, as for an operand
  m = 0.0;
  if constexpr (checked_build) {
    CHECK(message_of<bad_access>([&] { run(p); }).find("or was resized") != std::string::npos);
    CHECK(fetch(sum(m)) == 0);
  } else {
    run(p);
    CHECK(fetch(sum(row_at(m, 1))) == 24);
    CHECK(fetch(sum(m)) == 24 + 20);
  }
}

TEST_CASE("a part of an array takes no launch, and only its elements travel") {
  using M = Tensor<float, Extents<100, 50>, G0>;
  using E = decltype(sum(column_at(std::declval<M&>(), 3) * column_at(std::declval<M&>(), 4)));
  static_assert(plan_of<E>.launches() == 1 && plan_of<E>.copies() == 0);
  using Row = decltype(row_at(std::declval<M&>(), 3));
  static_assert(plan_of<Row, CpuDevice>.launches() == 0);
  static_assert(plan_of<Row, CpuDevice>.bytes_moved() == 50 * 4);
  static_assert(plan_of<decltype(column_at(std::declval<M&>(), 3)), CpuDevice>.bytes_moved() ==
                400);
  static_assert(plan_of<E>.explain().contains("multiply(at(#0), at(#2)) float[100]"));
  on_few_backends([] {
    auto const m = counted<float, false, G0, 100, 50>();
    tally const done = testing::count([&] { (void)fetch(column_at(m, 49)); });
    CHECK(done.launches == 0);
    CHECK(done.bytes_moved == (done.copies ? 400 : 0));
  });
}

TEST_CASE("pieces: parts along other axes than the cut") {
  on_few_backends([] {
    auto const whole = counted<double, false, CpuDevice, 6, 10>();
    Tensor<double, Extents<6, 10>, Rows> rows(whole);
    Tensor<double, Extents<6, 10>, Columns> columns(whole);
    static_assert(device_of<decltype(column_at(rows, 3))> == Rows::value);
    static_assert(device_of<decltype(row_at(columns, 3))> == Rows::value);
    static_assert(plan_of<decltype(column_at(rows, 3) * 2.0)>.copies() == 0);
    CHECK(values_in(column_at(rows, 3)) == std::vector<double>{3, 13, 23, 33, 43, 53});
    CHECK(values_in(row_at(columns, 2) * 2.0)[7] == 54);
    CHECK(fetch(sum(column_at(rows, 9))) == 9 + 19 + 29 + 39 + 49 + 59);
    column_at(rows, 1) = column_at(rows, 0) + 100.0;
    row_at(columns, 5) = -1.0;
    row_at(columns, 0) += row_at(columns, 1);
    auto const r = values_in(rows), c = values_in(columns);
    for (int i = 0; i < 6; ++i)
      for (int j = 0; j < 10; ++j) {
        CHECK(r[std::size_t(i * 10 + j)] == (j == 1 ? i * 10 + 100 : i * 10 + j));
        CHECK(c[std::size_t(i * 10 + j)] == (i == 5 ? -1 : i == 0 ? 10 + 2 * j : i * 10 + j));
      }
    // a mirrored array is whole on each replica
    Tensor<double, Extents<6, 10>, Mirrored<G0, G1>> const copies(whole);
    CHECK(values_in(row_at(copies, 4))[3] == 43);
  });
}

TEST_CASE("a gradient leads through a part to its elements") {
  on_few_backends([] {
    auto const x = counted<double, false, CpuDevice, 4, 5>();
    Tensor<double, Dextents<2>, CpuDevice> const y(x);
    auto const check = [&](auto const& tensor) {
      auto const w = named<"w">(tensor);
      auto const g = grad(sum(square(column_at(w, -1)) * 3.0) + sum(row_at(w, 2)), w);
      auto const v = values_in(g);
      REQUIRE(v.size() == 20);
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 5; ++j)
          CHECK(v[std::size_t(i * 5 + j)] == (j == 4 ? 6 * (i * 5 + 4) : 0) + (i == 2 ? 1 : 0));
    };
    check(x), check(y);
  });
}

TEST_CASE("an index outside its axis is an error that names index, axis and extents") {
  auto x = counted<float, false, CpuDevice, 4, 5>();
  Tensor<float, Dextents<2>, CpuDevice> y(x), none(0, 3);
  auto const says = [](auto const& f, std::string_view text) {
    std::string const said = message_of<shape_error>(f);
    INFO(said);
    CHECK(said.find(text) != std::string::npos);
  };
  says([&] { (void)row_at(x, 4); },
       "locus: at<0>(x, 4) of extents [4,5]: the index lies outside axis 0; -1 is the last one, -2 "
       "the one before");
  says([&] { (void)column_at(x, -6); }, "at<1>(x, -6) of extents [4,5]");
  says([&] { column_at(x, 5) = 1.f; }, "at<1>(x, 5) of extents [4,5]");
  says([&] { (void)fetch(row_at(y, 4)); }, "at<0>(x, 4) of extents [4,5]");
  says([&] { (void)fetch(sum(column_at(y, -6))); }, "at<1>(x, -6) of extents [4,5]");
  says([&] { row_at(y, 7) = 1.f; }, "at<0>(x, 7) of extents [4,5]");
  says([&] { run(into(row_at(y, 7), column_at(y, 0))); }, "at<0>(x, 7) of extents [4,5]");
  says([&] { (void)fetch(row_at(none, 0)); }, "at<0>(x, 0) of extents [0,3]");
  says([&] { (void)row_at(x, INT64_MAX); }, "the index lies outside axis 0");
  says([&] { (void)fetch(row_at(y, INT64_MIN)); }, "the index lies outside axis 0");
  CHECK(fetch(column_at(none, 2)).size() == 0);
  says([&] { row_at(y, 0) = column_at(y, 0); }, "");            // 5 elements from 4
  for (int i = 0; i < 20; ++i) CHECK(y.data()[i] == float(i));  // nothing was written
}

}  // namespace at_test
