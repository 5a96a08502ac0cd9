// SPDX-License-Identifier: Apache-2.0
// Tensors as maps of Eigen, and Eigen's matrices, vectors, maps and blocks as operands and destinations; where Eigen
// is installed.
#include <doctest/doctest.h>

#include <locus/complex.hpp>
#include <locus/interop/eigen.hpp>
#include <locus/locus.hpp>

using namespace locus;

#if __has_include(<Eigen/Core>)
#include <Eigen/Core>

namespace {
template <class A, class B>
bool same(A const& a, B const& tensor) {  // of two axes
  bool equal = a.rows() == tensor.extent(0) && a.cols() == tensor.extent(1);
  for (int i = 0; equal && i < a.rows(); ++i)
    for (int j = 0; j < a.cols(); ++j) equal = equal && a(i, j) == tensor(i, j);
  return equal;
}
}  // namespace

TEST_CASE("a tensor is a map of Eigen over the same memory") {
  for (int const n : {0, 1, 31, 33, 257}) {
    CAPTURE(n);
    Tensor<double, Dextents<2>> x(n, 5);
    x = iota<double>(x.extents());
    auto map = eigen_map_of(x);
    CHECK(map.data() == x.data());
    CHECK(same(map, x));
    Eigen::MatrixXd const product = map.transpose() * map;
    Tensor<double, Dextents<2>> const ours = eval(on<CpuDevice>(matmul(transpose(x), x)));
    CHECK(same(product, ours));
    map *= 2;
    CHECK((n == 0 || x(n - 1, 4) == 2. * (5 * n - 1)));
  }
  Tensor<float, Extents<2, 3>> const fixed(iota<float>(Extents<2, 3>{}));
  auto const map = eigen_map_of(fixed);
  using M = std::remove_cvref_t<decltype(map)>;
  static_assert(M::RowsAtCompileTime == 2 && M::ColsAtCompileTime == 3 && M::IsRowMajor);
  static_assert(std::is_same_v<decltype(map.data()), float const*>);
  CHECK(same(map, fixed));
  Tensor<float, Extents<dyn, 1>> column(4);
  column = 3.f;
  Tensor<int, Extents<3>> line{1, 2, 3};
  static_assert(decltype(eigen_map_of(line))::ColsAtCompileTime == 1);
  CHECK(eigen_map_of(column).sum() == 12);
  CHECK(eigen_map_of(line).sum() == 6);
  std::vector<double> v(40);
  for (int i = 0; i < 40; ++i) v[std::size_t(i)] = i;
  auto const gaps = view<CpuDevice>(v.data() + 1, Extents<3, 2>{}, layout_stride{{10, 3}});
  auto const left = view<CpuDevice>(v.data(), dextents<2>(5, 4), layout_left{});
  auto const steps = view<CpuDevice>(v.data(), dextents<1>(4), layout_stride{{7}});
  auto const slim = view<CpuDevice>(v.data(), Extents<4, 1>{}, layout_stride{{7, 2}});
  CHECK(eigen_map_of(gaps)(2, 1) == 24);
  CHECK(eigen_map_of(left)(3, 2) == 13);
  CHECK(eigen_map_of(steps)(3) == 21);
  CHECK(eigen_map_of(slim)(3, 0) == 21);
  eigen_map_of(gaps)(1, 1) = -1;
  CHECK(v[14] == -1);
}

TEST_CASE("complex numbers are std::complex there, in the same memory") {
  Tensor<complex<double>, Dextents<2>> z(3, 2);
  z = make_complex(iota<double>(z.extents()), 1.);
  auto map = eigen_map_of(z);
  static_assert(std::is_same_v<decltype(map)::Scalar, std::complex<double>>);
  Eigen::MatrixXcd const product = map.adjoint() * map;
  CHECK(same(product, Tensor<complex<double>, Dextents<2>>(matmul(transpose(conj(z)), z))));
  map(2, 1) = {7, -1};
  CHECK(z(2, 1) == complex<double>(7, -1));
  Eigen::VectorXcf v = Eigen::VectorXcf::Constant(4, {0, 2});
  run(into(view<CpuDevice>(v), view<CpuDevice>(v) * std::complex<float>(0, 1)));
  CHECK(v(3) == std::complex<float>(-2, 0));
}
TEST_CASE("what Eigen stores is an operand and a destination in its own order") {
  Eigen::MatrixXd m = Eigen::MatrixXd::Random(7, 4);
  Eigen::Matrix<double, 7, 4, Eigen::RowMajor> rows = m;
  Eigen::VectorXd column = m.col(1);
  Eigen::RowVector3f const line(1.f, 2.f, 3.f);
  static_assert(
      std::is_same_v<decltype(view<CpuDevice>(m)), View<double, Dextents<2>, CpuDevice, false>>);
  static_assert(std::is_same_v<decltype(view<CpuDevice>(rows)),
                               View<double, Extents<7, 4>, CpuDevice, true>>);
  static_assert(std::is_same_v<decltype(view<CpuDevice>(column)),
                               View<double, Dextents<1>, CpuDevice, true>>);
  static_assert(std::is_same_v<decltype(view<CpuDevice>(line)),
                               View<float const, Extents<3>, CpuDevice, true>>);
  Tensor<double, Dextents<2>> const copy(view<CpuDevice>(m)),
      block(view<CpuDevice>(m.block(2, 1, 3, 2))), same_rows(view<CpuDevice>(rows));
  CHECK(same(m, copy));
  CHECK(same(rows, same_rows));
  CHECK(same(m.block(2, 1, 3, 2), block));
  Tensor<double, Dextents<1>> const row(view<CpuDevice>(m.row(3))), down(view<CpuDevice>(column)),
      diagonal(view<CpuDevice>(m.diagonal()));
  for (int j = 0; j < 4; ++j) {
    CHECK(row(j) == m(3, j));
    CHECK(diagonal(j) == m(j, j));
  }
  for (int i = 0; i < 7; ++i) CHECK(down(i) == m(i, 1));
  Eigen::MatrixXd const before = m;
  run(into(view<CpuDevice>(m), 2. * view<CpuDevice>(m)));
  CHECK(m == 2. * before);
  view<CpuDevice>(m.row(2)) = row;
  CHECK(m.row(2) == before.row(3));
  CHECK(m.row(1) == 2. * before.row(1));
}
#else
TEST_CASE("Eigen is not installed" * doctest::skip()) {}
#endif
