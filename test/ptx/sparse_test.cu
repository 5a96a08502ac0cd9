// SPDX-License-Identifier: Apache-2.0
// Products of sparse matrices on cards, and their derivatives: the bits of the host.
#include <locus/cuda.cuh>

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include <locus/grad/grad.hpp>
#include <locus/sparse/from_lists.hpp>
#include <locus/sparse/matmul.hpp>
#include <locus/testing/count.hpp>

using namespace locus;

namespace {

using Gpu = GpuDevice<0>;

/// some entries in each row but the third, and one row with all columns
template <class T, class Index>
sparse::csr<T, Dextents<2>, CpuDevice, Index> some_matrix(std::int64_t rows, std::int64_t columns) {
  std::vector<sparse::triplet<T>> list;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < (i == 2 ? 0 : i == 5 ? columns : 4); ++j)
      list.push_back({i, i == 5 ? j : (i * 7 + j * 13) % columns, T(1) / T(3 + i + j)});
  return sparse::from_triplets<Index>(dextents<2>(rows, columns), list);
}
template <class X>
bool same_bits(X const& there,
               Tensor<typename X::value_type, typename X::extents_type> const& here) {
  auto const brought = to<CpuDevice>(there);
  if (brought.size() != here.size()) return false;
  return __builtin_memcmp(brought.data(), here.data(),
                          std::size_t(here.size()) * sizeof(typename X::value_type)) == 0;
}

template <class T, class Index>
void check() {
  auto const a = some_matrix<T, Index>(70, 101);
  auto const b = to<Gpu>(a);
  Tensor<T, Dextents<1>> x(101), g(70);
  x = T(1) / (iota<T>(x.extents()) + T(1)), g = T(1) / (iota<T>(g.extents()) + T(2));
  Tensor<T, Dextents<2>> y(101, 3);
  y = T(1) / (iota<T>(y.extents()) + T(3));
  Tensor<T, Dextents<1>, Gpu> const x_there(x), g_there(g);
  Tensor<T, Dextents<2>, Gpu> const y_there(y);
  tally const done = testing::count([&] { (void)eval(matmul(b, x_there)); });
  CHECK(done.launches == 1);
  CHECK(done.fallbacks == 0);
  CHECK(same_bits(eval(matmul(b, x_there)), eval(on<CpuDevice>(matmul(a, x)))));
  CHECK(same_bits(eval(matmul(b, y_there)), eval(on<CpuDevice>(matmul(a, y)))));
  CHECK(same_bits(eval(to_dense(b)), eval(on<CpuDevice>(to_dense(a)))));
  CHECK(same_bits(eval(diagonal(b)), eval(on<CpuDevice>(diagonal(a)))));
  auto const nx = named<"x">(x);
  auto const nv = named<"v">(a.values());
  auto const nx_there = named<"x">(x_there);
  auto const nv_there = named<"v">(b.values());
  auto const loss = sum(g * matmul(with_values(a, nv), nx));
  auto const loss_there = sum(g_there * matmul(with_values(b, nv_there), nx_there));
  CHECK(same_bits(eval(grad(loss_there, nx_there)), eval(on<CpuDevice>(grad(loss, nx)))));
  CHECK(same_bits(eval(grad(loss_there, nv_there)), eval(on<CpuDevice>(grad(loss, nv)))));
}

}  // namespace

TEST_CASE("products of sparse matrices and their derivatives have the bits of the host") {
  check<double, std::int32_t>();
  check<float, std::int64_t>();
}

TEST_CASE("no rows, no columns and no entries") {
  Tensor<double, Dextents<1>, Gpu> const none(Tensor<double, Dextents<1>>(0)),
      three(Tensor<double, Dextents<1>>{1, 2, 3});
  CHECK(eval(matmul(to<Gpu>(sparse::csr<double>(dextents<2>(0, 3))), three)).size() == 0);
  CHECK(fetch(sum(matmul(to<Gpu>(sparse::csr<double>(dextents<2>(3, 0))), none))) == 0);
  CHECK(fetch(sum(matmul(to<Gpu>(sparse::csr<double>(dextents<2>(2, 3))), three))) == 0);
}
