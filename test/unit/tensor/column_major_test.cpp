// SPDX-License-Identifier: Apache-2.0
// ColumnMajor: where elements lie, every way to write them, expressions of both orders, products, parts, errors;
// on every backend, for static and open extents.
#define LOCUS_CUDA_KERNELS 1
#include <on_backends.hpp>

#include <sstream>
#include <vector>

#include <locus/tensor/column_major.hpp>

#include "message_of.hpp"
#include "unit/algorithms/rows.hpp"

namespace column_major_test {

using namespace locus;
using rows::values_in;

namespace {

using G0 = GpuDevice<0>;
template <class T, bool Open, class Where, std::int64_t... N>
using Columns =
    ColumnMajor<T, std::conditional_t<Open, Dextents<sizeof...(N)>, Extents<N...>>, Where>;

template <class T, bool Open, class Where>
void check_array() {
  CAPTURE(Open);
  Tensor<T, Extents<3, 4, 5>, CpuDevice> const rows(iota<T>(Extents<3, 4, 5>{}, T(0)));
  Columns<T, Open, Where, 3, 4, 5> x(rows);
  REQUIRE(x.size() == 60);
  CHECK(x.extents().as_shape() == shape{3, {3, 4, 5}});
  CHECK((x.extent(-1) == 5 && x.extent(0) == 3 && x.extent(-3) == 3));
  CHECK(x.stride(0) == 1);
  CHECK(x.stride(1) == 3);
  CHECK(x.stride(2) == 12);
  CHECK(equal(to<CpuDevice>(x), rows));
  // the address of each element
  Columns<T, Open, CpuDevice, 3, 4, 5> const here(to<CpuDevice>(x));
  for (std::int64_t i = 0; i < 3; ++i)
    for (std::int64_t j = 0; j < 4; ++j)
      for (std::int64_t k = 0; k < 5; ++k) {
        REQUIRE(here.data()[i + 3 * (j + 4 * k)] == T(i * 20 + j * 5 + k));
        REQUIRE(here(i, j, k) == rows(i, j, k));
      }
  // expressions of one order and of both, copies, moves, compound assignments
  auto y = x;
  y = x * T(2) + y;
  y += rows;
  CHECK(values_in(y)[59] == T(4 * 59));
  y -= x;
  CHECK(values_in(y)[17] == T(3 * 17));
  y = T(7);
  CHECK(values_in(sum(y))[0] == T(420));
  auto z = std::move(y);
  swap(z, x);
  CHECK(values_in(z)[42] == T(42));
  CHECK(values_in(x)[42] == T(7));
  Tensor<T, Extents<3, 4, 5>, Where> const back(z + x);
  CHECK(values_in(back)[42] == T(49));
  z = z + transpose<0, 1, 2>(back);  // reads itself at its own places
  CHECK(values_in(z)[11] == T(29));
  // parts are read and written
  at<1>(z, 2) = T(0);
  CHECK(values_in(sum(at<1>(z, 2)))[0] == T(0));
  slice(z, {0, 1}, {0, 2}) += T(100);
  CHECK(values_in(z)[7] == T(121));  // 7 + (7 + 7) + 100: element (0, 1, 2)
  CHECK(values_in(z)[20] == T(47));  // element (1, 0, 0)
  z.elements() = back;
  CHECK(values_in(z)[42] == T(49));
}

template <class T, class Where>
void check_square() {
  Tensor<T, Extents<6, 6>, CpuDevice> const rows(iota<T>(Extents<6, 6>{}, T(1)));
  Columns<T, false, Where, 6, 6> m(rows);
  m = m + transpose(m);  // overlaps at other indices: by way of other memory
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 6; ++j)
      REQUIRE(values_in(m)[std::size_t(i * 6 + j)] == rows(i, j) + rows(j, i));
  column_at(m, 1) = row_at(m, 2);
  CHECK(values_in(m)[7] == rows(2, 1) + rows(1, 2));
  CHECK(values_in(m)[1] == rows(2, 0) + rows(0, 2));
  column_at(m, 5) = T(3);
  CHECK(values_in(sum(column_at(m, 5)))[0] == T(18));
}

}  // namespace

TEST_CASE("an array that stores its first axis contiguously") {
  on_few_backends([] {
    check_array<float, false, CpuDevice>();
    check_array<double, true, G0>();
    check_array<int, true, CpuDevice>();
    check_square<double, CpuDevice>();
    check_square<float, G0>();
  });
}

TEST_CASE("products of columns need no copy, and have the right values") {
  using A = ColumnMajor<double, Extents<5, 7>>;
  using B = ColumnMajor<double, Extents<7, 3>>;
  using Product = decltype(on<CpuDevice>(matmul(std::declval<A&>(), std::declval<B&>())));
  static_assert(plan_of<Product, CpuDevice>.launches() == 1);
  A a(iota<double>(Extents<5, 7>{}, 0.));
  B b(iota<double>(Extents<7, 3>{}, -3.));
  ColumnMajor<double, Extents<5, 3>> c;
  c = matmul(a, b);
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 3; ++j) {
      double expected = 0;
      for (int k = 0; k < 7; ++k) expected += a(i, k) * b(k, j);
      CHECK(c(i, j) == expected);
    }
  run(into(c, matmul(a, b) * 2.0), into(a, a + 1.0));
  CHECK(a(0, 0) == 1);
  CHECK(c.data()[1] == c(1, 0));
}

TEST_CASE("columns: sizes, printing, and a library's view") {
  ColumnMajor<float, Dextents<2>> x(2, 3);
  x = 0.f;
  x(1, 2) = 5.f;
  CHECK(x.data()[5] == 5.f);
  std::ostringstream out;
  out << x;
  CHECK(out.str() == "[[0. 0. 0.]\n [0. 0. 5.]]");
  x.resize(dextents<2>(4, 1));
  CHECK(x.extent(0) == 4);
  CHECK(x.extents().as_shape() == shape{2, {4, 1}});
  x = 1.f;
  CHECK(fetch(sum(x)) == 4.f);
  auto const seen = x.elements();
  CHECK(seen.stride(0) == 1);
  CHECK(seen.stride(1) == 4);
  ColumnMajor<double, Dextents<2>> const listed{{1, 2, 3}, {4, 5, 6}};
  CHECK(listed(1, 0) == 4);
  CHECK(listed.data()[1] == 4);
  ColumnMajor<float, Dextents<1>> v(3);
  v = iota<float>(dextents<1>(3), 0.f);
  CHECK(v(2) == 2.f);
  ColumnMajor<float, Extents<>> const number(sum(v));
  CHECK(number() == 3.f);
}

TEST_CASE("columns on a device that the program names when it runs") {
  on_few_backends([](backends::machine const& m) {
    if (m.gpus < 2) return;
    ColumnMajor<float, Dextents<2>, GpuDevice<dyn>> x(gpu(1), dextents<2>(3, 2));
    x = 2.f;
    row_at(x, 1) += 1.f;
    CHECK(x.device() == gpu(1));
    CHECK(fetch(sum(x)) == 14.f);
  });
}

TEST_CASE("columns: what does not fit is an error, and nothing is lost") {
  ColumnMajor<float, Dextents<2>> x(2, 3), y(3, 2);
  x = 1.f, y = 2.f;
  CHECK(message_of<shape_error>([&] { x = y * 2.f; }) != nothing_thrown);
  CHECK(fetch(sum(x)) == 6.f);
  x = transpose(y);
  CHECK(fetch(sum(x)) == 12.f);
  auto z = std::move(x);
  CHECK(message_of<bad_access>([&] { (void)fetch(sum(x)); }).find("moved from") !=
        std::string::npos);
  CHECK(message_of<bad_access>([&] { x = z * 1.f; }).find("moved from") != std::string::npos);
  x = z;
  CHECK(fetch(sum(x)) == 12.f);
}

}  // namespace column_major_test
