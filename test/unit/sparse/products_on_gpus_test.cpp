// SPDX-License-Identifier: Apache-2.0
// Products of sparse matrices on GPUs: the host's bits, columns in pieces.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>

#include <message_of.hpp>
#include <replicas.hpp>

#include "sparse_products.hpp"

namespace products_on_gpus_test {

using namespace locus;
using namespace sparse_lists;

TEST_CASE("products on GPUs are those of the host, bit for bit") {
  on_few_backends([](backends::machine const& m) {
    if (!m.has_gpu()) return;
    for (kind const how : all_kinds) {
      check_products<GpuDevice<0>, double, std::int64_t>(33, 31, how);
      check_products<GpuDevice<1>, float, std::int32_t>(7, 257, how);
    }
    check_products<GpuDevice<0>, float, std::int32_t>(0, 3, kind::none);
    check_products<GpuDevice<0>, double, std::int32_t>(3, 0, kind::none);
    auto const a = sparse::from_triplets(dextents<2>(60, 90),
                                         random_list<double>(60, 90, kind::one_dense_row, 11));
    auto const x = random<double, 1>(Dextents<1>(90), 12);
    auto const y = random<double, 2>(Dextents<2>(90, 5), 13);
    auto const b = to<GpuDevice<0>>(a);
    Tensor<double, Dextents<1>, GpuDevice<0>> const x_there(x);
    Tensor<double, Dextents<2>, GpuDevice<0>> const y_there(y);
    tally const done = testing::count([&] {
      auto const r = eval(matmul(b, x_there));
      static_assert(std::is_same_v<decltype(r)::policy, GpuDevice<0>>);
    });
    CHECK(done.launches == 1);
    CHECK(done.copies == 0);
    CHECK(values_of(eval(matmul(b, x_there))) == values_of(eval(on<CpuDevice>(matmul(a, x)))));
    CHECK(values_of(eval(matmul(b, y_there))) == values_of(eval(on<CpuDevice>(matmul(a, y)))));
    CHECK(values_of(to<CpuDevice>(b).columns()) == values_of(a.columns()));
    CHECK(values_of(eval(diagonal(b))) == values_of(eval(on<CpuDevice>(diagonal(a)))));
    auto const of = named<"x">(x);
    auto const of_there = named<"x">(x_there);
    CHECK(values_of(grad(sum(square(matmul(b, of_there))), of_there)).size() == 90);
    CHECK(distance(values_of(grad(sum(square(matmul(b, of_there))), of_there)),
                   values_of(grad(sum(square(matmul(a, of))), of))) <= 1e-12L);
    // a matrix of tensors that lie on a GPU already is checked, too
    Tensor<int, Dextents<1>, GpuDevice<0>> const wrong(Tensor<int, Dextents<1>>{0, 9}),
        offsets(Tensor<int, Dextents<1>>{0, 1, 2});
    Tensor<float, Dextents<1>, GpuDevice<0>> const values(Tensor<float, Dextents<1>>{1, 2});
    CHECK(message_of<shape_error>([&] {
            sparse::csr<float, Dextents<2>, GpuDevice<0>>(dextents<2>(2, 3), values, wrong,
                                                          offsets);
          }) == "locus: entry 1 of a sparse matrix (row 1) has column 9; columns are 0 to 2");
  });
}

TEST_CASE("columns of the dense matrix in pieces stay where they are") {
  using M = replicas::mirrored<2>;
  using Cut = replicas::cut<2, 1>;
  using A = sparse::csr<double, Dextents<2>, M>;
  using X = Tensor<double, Dextents<2>, Cut>;
  using E = decltype(matmul(std::declval<A&>(), std::declval<X&>()));
  static_assert(plan_of<E>.result() == Cut::value && plan_of<E>.copies() == 0);
  on_few_backends([](backends::machine const& m) {
    if (!m.has_gpu()) return;
    auto const a =
        sparse::from_triplets(dextents<2>(20, 9), random_list<double>(20, 9, kind::many, 20));
    auto const x = random<double, 2>(Dextents<2>(9, 7), 21);
    A const both = to<M>(a);
    X const pieces(x);
    auto const want = values_of(eval(on<CpuDevice>(matmul(a, x))));
    CHECK(values_of(matmul(both, pieces)) == want);
    Tensor<double, Dextents<2>, M> const whole(x);
    CHECK(values_of(matmul(both, whole)) == want);
  });
}

}  // namespace products_on_gpus_test
