// SPDX-License-Identifier: Apache-2.0
// Products of sparse matrices beside loops in long double: shapes, types, threads, derivatives of
// both orders, GPUs, columns in pieces.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>

#include <locus/config/settings.hpp>
#include <locus/grad/grad.hpp>
#include <message_of.hpp>
#include <replicas.hpp>

#include "random_sparse.hpp"

using namespace locus;
using namespace sparse_lists;

namespace {

/// all products of one matrix and their derivatives; the matrix lies on Where
template <class Where, class T, class Index>
void check_products(std::int64_t m, std::int64_t n, kind how) {
  CAPTURE(m);
  CAPTURE(n);
  CAPTURE(int(how));
  auto const list = random_list<T>(m, n, how, 5);
  auto const want = dense_of(m, n, list);
  auto const there = sparse::from_triplets<Index>(dextents<2>(m, n), list);
  auto const a = to<Where>(there);
  long double const far = 4 * bound<T>(6 * m + n);
  auto const x = random<T, 1>(Dextents<1>(n), 6), g = random<T, 1>(Dextents<1>(m), 7);
  Tensor<T, Dextents<1>, Where> const x_there(x), g_there(g);
  CHECK(distance(values_of(eval(matmul(a, x_there))), product(want, values_of(x), m, n, 1)) <= far);
  auto const name = named<"x">(x_there);
  CHECK(distance(values_of(grad(sum(g_there * matmul(a, name)), name)),
                 product(want, values_of(g), m, n, 1, true)) <= far);
  for (std::int64_t const wide : {0, 1, 3, 8, 37}) {
    CAPTURE(wide);
    auto const y = random<T, 2>(Dextents<2>(n, wide), 8), h = random<T, 2>(Dextents<2>(m, wide), 9);
    Tensor<T, Dextents<2>, Where> const y_there(y), h_there(h);
    CHECK(distance(values_of(eval(matmul(a, y_there))), product(want, values_of(y), m, n, wide)) <=
          far);
    auto const of = named<"y">(y_there);
    auto const v = named<"v">(a.values());
    auto const loss = sum(h_there * matmul(with_values(a, v), of));
    CHECK(distance(values_of(grad(loss, of)), product(want, values_of(h), m, n, wide, true)) <=
          far);
    plain entries;
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t e = there.offsets()[i]; e < there.offsets()[i + 1]; ++e) {
        long double sum = 0;
        for (std::int64_t c = 0; c < wide; ++c)
          sum += static_cast<long double>(h(i, c)) *
                 static_cast<long double>(y(std::int64_t(there.columns()[e]), c));
        entries.push_back(sum);
      }
    CHECK(distance(values_of(grad(loss, v)), entries) <= 4 * bound<T>(wide));
  }
  CHECK(distance(values_of(eval(to_dense(a))), want) <= far);
}

}  // namespace

TEST_CASE("products of every shape are the loops, with both derivatives") {
  for (auto const& size : all_sizes)
    for (kind const how : all_kinds) {
      check_products<CpuDevice, double, std::int32_t>(size[0], size[1], how);
      check_products<CpuDevice, float, std::int64_t>(size[0], size[1], how);
    }
}

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
            sparse::csr<float, Dextents<2>, GpuDevice<0>>(dextents<2>(2, 3), values, wrong, offsets);
          }) == "locus: entry 1 of a sparse matrix (row 1) has column 9; columns are 0 to 2");
  });
}

TEST_CASE("no bit depends on the number of threads") {
  auto const a = sparse::from_triplets(
      dextents<2>(30000, 500), random_list<double>(30000, 500, kind::one_dense_row, 14));
  auto const x = random<double, 1>(Dextents<1>(500), 15);
  auto const y = random<double, 2>(Dextents<2>(500, 11), 16);
  auto const name = named<"y">(y);
  auto const all = [&] {
    return std::vector<plain>{values_of(eval(matmul(a, x))), values_of(eval(matmul(a, y))),
                              values_of(grad(sum(square(matmul(a, name))), name)),
                              values_of(eval(sum<1>(to_dense(a))))};
  };
  config::set_intra_op_parallelism_threads(1);
  auto const one = all();
  for (int const threads : {2, 3, 7}) {
    config::set_intra_op_parallelism_threads(threads);
    CHECK(all() == one);
  }
  config::set_intra_op_parallelism_threads(0);
}

TEST_CASE("plans of products are constants, and their steps have the bits of reproducible plans") {
  auto const a = sparse::from_triplets<double>(Extents<2, 3>{}, {{0, 1, 3.}, {1, 2, 2.}});
  Tensor<double, Extents<3>> const x{1, 2, 3};
  Tensor<double, Extents<3, 4>> y;
  y = 1.;
  using Vector = decltype(matmul(a, x));
  using Matrix = decltype(matmul(a, y));
  static_assert(plan_of<Vector>.launches() == 1);
  using There = sparse::csr<double, Dextents<2>, GpuDevice<0>>;
  using Far = Tensor<double, Dextents<1>, GpuDevice<0>>;
  using On = decltype(matmul(std::declval<There&>(), std::declval<Far&>()));
  static_assert(plan_of<On>.launches() == 1 && plan_of<On>.copies() == 0);
  static_assert(plan_of<decltype(on<CpuDevice>(matmul(a, x)))>.copies() == 0);
  static_assert(std::is_same_v<decltype(eval(matmul(a, x)))::extents_type, Extents<2>>);
  static_assert(std::is_same_v<decltype(eval(matmul(a, y)))::extents_type, Extents<2, 4>>);
  static_assert(plan_of<Matrix>.launches() == 1);
  CHECK(values_of(eval<reproducible<>>(matmul(a, x))) == plain{6, 6});
  auto const b = sparse::from_triplets<double>(dextents<2>(2, 3), {{0, 1, 3.}, {1, 2, 2.}});
  Tensor<double, Dextents<1>> const open{1, 2, 3};
  using Open = decltype(matmul(b, open));
  static_assert(plan_of<Open>.launches() == 1);
  CHECK(values_of(eval(matmul(b, open) + 1.)) == plain{7, 7});
  // operands that are expressions, have gaps, or are made in the statement
  CHECK(values_of(eval(matmul(b, 2. * open))) == plain{12, 12});
  CHECK(values_of(eval(matmul(transpose(b), slice(eval(matmul(b, open)), {0, 2})))) ==
        plain{0, 18, 12});
  Tensor<double, Dextents<2>> const wide{{1, 2, 3}, {4, 5, 6}};
  CHECK(values_of(eval(matmul(b, transpose(wide)))) == plain{6, 15, 6, 12});
  double const nan = std::numeric_limits<double>::quiet_NaN();
  Tensor<double, Dextents<1>> const bad{nan, 2, 3};
  CHECK(values_of(eval(matmul(b, bad))) == plain{6, 6});  // no entry reads it
}

TEST_CASE("derivatives of derivatives, and of the dense matrix") {
  auto const a = sparse::from_triplets(dextents<2>(4, 3), random_list<double>(4, 3, kind::few, 17));
  auto x = random<double, 1>(Dextents<1>(3), 18);
  auto v = random<double, 1>(Dextents<1>(a.entries()), 19);
  auto const nx = named<"x">(x);
  auto const nv = named<"v">(v);
  auto const check = [](auto const& loss, auto& at, auto const& name) {
    auto const found = values_of(grad(loss, name));
    for (std::int64_t i = 0; i < at.size(); ++i) {
      double const was = at.data()[i], h = 1e-5;
      at.data()[i] = was + h;
      double const above = fetch(loss);
      at.data()[i] = was - h;
      double const want = (above - fetch(loss)) / (2 * h);
      at.data()[i] = was;
      CHECK(std::abs(double(found[std::size_t(i)]) - want) <= 1e-6 * (1 + std::abs(want)));
    }
  };
  auto const y = matmul(with_values(a, nv), nx);
  auto const loss = sum(y * y * y);
  check(loss, x, nx);
  check(loss, v, nv);
  check(sum(square(grad(loss, nx))), x, nx);
  check(sum(square(grad(loss, nx))), v, nv);
  check(sum(square(grad(loss, nv))), x, nx);
  auto const dense = sum(square(to_dense(with_values(a, nv))) * 2.);
  check(dense, v, nv);
  check(sum(square(grad(dense, nv))), v, nv);
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
    auto const a = sparse::from_triplets(dextents<2>(20, 9),
                                         random_list<double>(20, 9, kind::many, 20));
    auto const x = random<double, 2>(Dextents<2>(9, 7), 21);
    A const both = to<M>(a);
    X const pieces(x);
    auto const want = values_of(eval(on<CpuDevice>(matmul(a, x))));
    CHECK(values_of(matmul(both, pieces)) == want);
    Tensor<double, Dextents<2>, M> const whole(x);
    CHECK(values_of(matmul(both, whole)) == want);
  });
}

TEST_CASE("operands that do not fit are named when they are bound") {
  auto const a = sparse::from_triplets<double>(dextents<2>(2, 3), {{0, 1, 3.}});
  Tensor<double, Dextents<1>> const x(Dextents<1>(2));
  CHECK(message_of<shape_error>([&] { (void)eval(matmul(a, x)); }).find(
            "locus: the shapes of the operands of 'sparse.matmul' (step 4) do not fit") == 0);
  Tensor<double, Dextents<1>> const v(Dextents<1>(5)), y(Dextents<1>(3));
  CHECK(message_of<shape_error>([&] { (void)eval(matmul(with_values(a, v), y)); }).find(
            "locus: the shapes of the operands of 'sparse.matmul' (step 4) do not fit") == 0);
}
