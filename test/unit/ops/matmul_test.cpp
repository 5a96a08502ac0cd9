// SPDX-License-Identifier: Apache-2.0
// Matrix products against the three loops, in double: sizes, transposed and sliced operands,
// element types, and every row of the table of distributions.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>
#include <oracle.hpp>

#include <array>

namespace matmul_test {

using namespace locus;
using oracle::array;

namespace {

using Matrix = Tensor<float, Dextents<2>>;

template <class T, class U>
auto product(array<T> const& a, array<U> const& b) {
  using R = std::conditional_t<is_floating_v<T>, long double, std::uint64_t>;
  std::int64_t const m = a.extents.extent[0], k = a.extents.extent[1], n = b.extents.extent[1];
  array<R> c({2, {m, n}});
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t l = 0; l < k; ++l)
      for (std::int64_t j = 0; j < n; ++j)
        c[i * n + j] += static_cast<R>(a[i * k + l]) * static_cast<R>(b[l * n + j]);
  return c;
}
template <class T>
array<T> turned(array<T> const& a) {
  std::int64_t const m = a.extents.extent[0], n = a.extents.extent[1];
  return oracle::make<T>({2, {n, m}}, [&](std::int64_t const* i) { return a[i[1] * n + i[0]]; });
}

template <class T>
void check_type() {
  oracle::random r(1);
  double const tolerance = std::is_same_v<T, float> ? 2e-5 : 1e-13;
  std::int64_t const cases[][3] = {{1, 1, 1}, {2, 3, 4}, {7, 1, 5},    {1, 9, 1},
                                   {5, 0, 3}, {0, 4, 3}, {33, 65, 17}, {64, 64, 64}};
  for (auto const& [m, k, n] : cases) {
    auto const a = oracle::random_array<T>(r, {2, {m, k}}, is_floating_v<T> ? -1 : 0, 9);
    auto const b = oracle::random_array<T>(r, {2, {k, n}}, is_floating_v<T> ? -1 : 0, 200);
    auto const x = oracle::tensor<2>(a), y = oracle::tensor<2>(b);
    Tensor<T, Dextents<2>> const c(on<GpuDevice<0>>(matmul(x, y)));
    CHECK(oracle::difference(c, product(a, b), tolerance, tolerance * double(k)) == "");
  }
}

template <class A, class B>
void check_distribution(int replicas) {
  oracle::random r(3);
  for (auto const& [m, k, n] :
       {std::array<int, 3>{9, 8, 7}, std::array<int, 3>{3, 5, 2}, std::array<int, 3>{40, 33, 27}}) {
    auto const a = oracle::random_array<float>(r, {2, {m, k}}, -1, 1);
    auto const b = oracle::random_array<float>(r, {2, {k, n}}, -1, 1);
    auto const x = to<A>(oracle::tensor<2>(a));
    auto const y = to<B>(oracle::tensor<2>(b));
    auto const c = fetch(matmul(x, y) * 2.f);
    auto const want = product(a, b);
    INFO(replicas, " replicas");
    CHECK(oracle::difference(c,
                             oracle::map<long double>(
                                 want.extents, [](long double v) { return v * 2; }, want),
                             1e-4, 1e-4) == "");
  }
}

template <class... Devices>
void check_distributions() {
  constexpr int n = sizeof...(Devices);
  using M = Mirrored<Devices...>;
  using Rows = Sharded<0, Devices...>;
  using Columns = Sharded<1, Devices...>;
  check_distribution<M, M>(n);
  check_distribution<Rows, M>(n);
  check_distribution<M, Columns>(n);
  check_distribution<Columns, Rows>(n);
}

}  // namespace

TEST_CASE("matmul is the sum over k of a[i, k] b[k, j], for every element type") {
  on_backends(check_type<float>);
  on_few_backends(check_type<double>);
  on_few_backends(check_type<std::int32_t>);
  on_few_backends(check_type<std::int64_t>);
  on_few_backends(check_type<std::uint8_t>);
}
TEST_CASE("integers have no GPU kernel: their product runs on the CPU and the plan says so") {
  Tensor<std::int32_t, Extents<2, 2>> const a{{1, 2}, {3, 4}};
  auto const e = on<GpuDevice<0>>(matmul(a, a));
  static_assert(device_of<decltype(e)> == "/CPU:0");
  static_assert(plan_of<decltype(e)>.copies() == 0);
  CHECK(equal(e, Tensor<std::int32_t, Extents<2, 2>>{{7, 10}, {15, 22}}));
}
TEST_CASE("operands and results of matmul may be transposed, sliced or both") {
  oracle::random r(2);
  on_backends([&] {
    for (auto const& [m, k, n] : {std::array<int, 3>{5, 7, 3}, std::array<int, 3>{64, 31, 65},
                                  std::array<int, 3>{1, 5, 1}}) {
      auto const a = oracle::random_array<float>(r, {2, {m, k}}, -1, 1);
      auto const b = oracle::random_array<float>(r, {2, {k, n}}, -1, 1);
      auto const want = product(a, b);
      auto const x = oracle::tensor<2>(a), y = oracle::tensor<2>(b);
      auto const xt = oracle::tensor<2>(turned(a)), yt = oracle::tensor<2>(turned(b));
      auto same = [&](Matrix const& c, auto const& expected) {
        CHECK(oracle::difference(c, expected, 1e-5, 1e-5) == "");
      };
      same(Matrix(on<GpuDevice<0>>(matmul(transpose(xt), y))), want);
      same(Matrix(on<GpuDevice<0>>(matmul(x, transpose(yt)))), want);
      same(Matrix(on<GpuDevice<0>>(matmul(transpose(xt), transpose(yt)))), want);
      same(Matrix(transpose(on<GpuDevice<0>>(matmul(x, y)))), turned(want));
      // a frame of other numbers around the operands
      auto framed = [&](array<float> const& inner) {
        std::int64_t const rows = inner.extents.extent[0], columns = inner.extents.extent[1];
        return oracle::tensor<2>(
            oracle::make<float>({2, {rows + 3, columns + 2}}, [&](std::int64_t const* i) {
              bool const inside = i[0] >= 1 && i[0] <= rows && i[1] >= 2;
              return inside ? inner[(i[0] - 1) * columns + i[1] - 2] : 1e6f;
            }));
      };
      auto const fx = framed(a), fyt = framed(turned(b));
      same(Matrix(on<GpuDevice<0>>(
               matmul(slice(fx, {1, -2}, {2}), transpose(slice(fyt, {1, -2}, {2}))))),
           want);
      // strides that no BLAS reads, and a destination that no BLAS writes
      std::vector<float> wide(std::size_t(2 * m * k)), out(std::size_t(3 * m * n), -1.f);
      for (std::int64_t i = 0; i < m * k; ++i) wide[std::size_t(2 * i)] = a[i];
      auto const gaps =
          view<CpuDevice>(wide.data(), dextents<2>{m, k}, layout_stride{{2 * std::int64_t(k), 2}});
      auto const to =
          view<CpuDevice>(out.data(), dextents<2>{m, n}, layout_stride{{3 * std::int64_t(n), 3}});
      run(into(to, matmul(gaps, y)));
      same(fetch(to), want);
      CHECK(out[1] == -1.f);  // nothing between the elements was written
      same(Matrix(on<GpuDevice<0>>(matmul(gaps, y))), want);
      // a product of products, with something element-wise on both sides
      same(Matrix(on<GpuDevice<0>>(matmul(2.f * x, y + y) - 3.f * matmul(x, y))), want);
    }
  });
}
TEST_CASE("a vector beside a matrix: one column, or one row, and the result is a vector") {
  oracle::random r(8);
  std::int64_t const m = 37, k = 21;
  auto const a = oracle::random_array<float>(r, {2, {m, k}}, -1, 1);
  auto const v = oracle::random_array<float>(r, {2, {k, 1}}, -1, 1),
             w = oracle::random_array<float>(r, {2, {1, m}}, -1, 1);
  auto const flat = [](auto c) {
    c.extents = {1, {c.extents.size()}};
    return c;
  };
  auto const right = flat(product(a, v)), left = flat(product(w, a));
  on_backends([&] {
    auto const x = oracle::tensor<2>(a), xt = oracle::tensor<2>(turned(a));
    auto const column = oracle::tensor<1>(flat(v)), row = oracle::tensor<1>(flat(w));
    using Vector = Tensor<float, Dextents<1>>;
    auto same = [](Vector const& c, auto const& expected) {
      CHECK(oracle::difference(c, expected, 1e-5, 1e-5) == "");
    };
    same(Vector(on<GpuDevice<0>>(matmul(x, column))), right);
    same(Vector(on<GpuDevice<0>>(matmul(transpose(xt), column))), right);
    same(Vector(on<GpuDevice<0>>(matmul(row, x))), left);
    same(Vector(matmul(column, transpose(x))), right);
    same(Vector(2.f * matmul(x, column) - matmul(x, column)), right);
    Vector y(m);
    y = matmul(x, column);
    same(y, right);
    auto both = plan(into(y, matmul(x, column)));
    CHECK(both.launches() == 1);
  });
  static_assert(std::is_same_v<decltype(eval(matmul(
                                   std::declval<Tensor<float, Extents<3, 4>>&>(),
                                   std::declval<Tensor<float, Extents<4>>&>())))::extents_type,
                               Extents<3>>);
}
TEST_CASE("matmul of distributed matrices follows the table: rows, columns, partial sums") {
  on_backends([](backends::machine const& m) {
    check_distributions<GpuDevice<0>, GpuDevice<1>>();
    if (m.seed > 2 || !m.has_gpu()) check_distributions<GpuDevice<0>, GpuDevice<1>, GpuDevice<2>>();
  });
}
TEST_CASE("a large product is cut over threads and blocks") {
  oracle::random r(4);
  auto const a = oracle::random_array<float>(r, {2, {257, 129}}, -1, 1);
  auto const b = oracle::random_array<float>(r, {2, {129, 511}}, -1, 1);
  auto const p = oracle::random_array<std::int64_t>(r, {2, {257, 65}}, -1e9, 1e9);
  auto const q = oracle::random_array<std::int64_t>(r, {2, {65, 129}}, -1e9, 1e9);
  on_few_backends([&] {
    Matrix const c(on<GpuDevice<0>>(matmul(oracle::tensor<2>(a), oracle::tensor<2>(b))));
    CHECK(oracle::difference(c, product(a, b), 1e-5, 2e-5) == "");
    Tensor<std::int64_t, Dextents<2>> const i(matmul(oracle::tensor<2>(p), oracle::tensor<2>(q)));
    CHECK(oracle::difference(i, product(p, q)) == "");
  });
}
TEST_CASE("batches of products: one for each, one matrix for all, pieces of a batch") {
  using Batch = Tensor<float, Dextents<3>>;
  oracle::random r(5);
  auto const want = [](array<float> const& a, array<float> const& b, std::int64_t count) {
    auto part = [](array<float> const& x, std::int64_t i) {
      int const rank = x.extents.rank;
      shape const s{2, {x.extents.extent[rank - 2], x.extents.extent[rank - 1]}};
      array<float> y(s);
      std::int64_t const at = x.extents.from_right(2) == 1 ? 0 : i * s.size();
      for (std::int64_t k = 0; k < s.size(); ++k) y[k] = x[at + k];
      return y;
    };
    array<double> all({3, {count, a.extents.from_right(1), b.extents.from_right(0)}});
    std::int64_t k = 0;
    for (std::int64_t i = 0; i < count; ++i)
      for (auto const& e : product(part(a, i), part(b, i)).cells) all[k++] = double(e.value);
    return all;
  };
  on_few_backends([&](backends::machine const& m) {
    for (auto const& [n, rows, k, columns] :
         {std::array<int, 4>{6, 4, 5, 3}, std::array<int, 4>{40, 20, 17, 33},
          std::array<int, 4>{2, 70, 65, 80}, std::array<int, 4>{0, 3, 4, 5}}) {
      auto const a = oracle::random_array<float>(r, {3, {n, rows, k}}, -1, 1);
      auto const b = oracle::random_array<float>(r, {3, {n, k, columns}}, -1, 1);
      auto const one = oracle::random_array<float>(r, {2, {k, columns}}, -1, 1);
      auto const x = oracle::tensor<3>(a), y = oracle::tensor<3>(b);
      auto const z = oracle::tensor<2>(one);
      auto same = [&](Batch const& c, array<double> const& expected) {
        CHECK(oracle::difference(c, expected, 1e-5, 1e-5) == "");
      };
      same(Batch(on<GpuDevice<0>>(matmul(x, y))), want(a, b, n));
      same(Batch(on<GpuDevice<0>>(matmul(x, z))), want(a, one, n));
      // the batch is no outer axis: rows of several matrices lie between
      Batch turned_x = eval(transpose<1, 0, 2>(x));
      same(Batch(on<GpuDevice<0>>(matmul(transpose<1, 0, 2>(turned_x), y))), want(a, b, n));
      Batch yt = eval(transpose<0, 2, 1>(y));
      same(Batch(matmul(x, transpose<0, 2, 1>(yt))), want(a, b, n));
      if (n == 0) continue;
      Batch first(1, k, columns);
      for (std::int64_t i = 0; i < first.size(); ++i) first.data()[i] = one[i];
      same(Batch(on<GpuDevice<0>>(matmul(x, first))), want(a, one, n));
      if (m.gpus < 2) continue;
      using Pieces = Sharded<0, GpuDevice<0>, GpuDevice<1>>;
      auto const xs = to<Pieces>(x), ys = to<Pieces>(y);
      same(Batch(to<CpuDevice>(eval(matmul(xs, ys)))), want(a, b, n));
      auto const zs = to<Mirrored<GpuDevice<0>, GpuDevice<1>>>(z);
      same(Batch(to<CpuDevice>(eval(matmul(xs, zs)))), want(a, one, n));
    }
  });
}
TEST_CASE("a batch is one call of cuBLAS; batches of other lengths are refused") {
  testing::recorder const gpus({.cards = 1});
  Tensor<float, Dextents<3>> const a(2, 3, 4), b(3, 4, 5);
  CHECK_THROWS_AS(static_cast<void>(eval(matmul(a, b))), shape_error);
  auto const c = eval(on<GpuDevice<0>>(matmul(a, transpose<0, 2, 1>(a))));
  CHECK(gpus.calls("gemm_batch") == 1);
  CHECK(gpus.calls("gemm") == 0);
}
TEST_CASE("GPUs read floats as tf32 where the program says so") {
  testing::recorder const gpus({.cards = 1});
  oracle::random r(6);
  auto const a = oracle::random_array<float>(r, {2, {20, 30}}, -1, 1);
  auto const x = oracle::tensor<2>(a);
  auto const exact = product(a, turned(a));
  CHECK(config::get_matmul_precision() == matmul_precision::highest);
  config::set_matmul_precision(matmul_precision::high);
  CHECK(config::get_matmul_precision() == matmul_precision::high);
  Matrix const rough(on<GpuDevice<0>>(matmul(x, transpose(x))));
  config::set_matmul_precision(matmul_precision::highest);
  Matrix const fine(on<GpuDevice<0>>(matmul(x, transpose(x))));
  CHECK(gpus.calls("gemm_tf32") == 1);
  CHECK(gpus.calls("gemm") == 1);
  CHECK(oracle::difference(fine, exact, 1e-6, 1e-6) == "");
  CHECK(oracle::difference(rough, exact, 1e-6, 1e-6) != "");
  CHECK(oracle::difference(rough, exact, 1e-2, 1e-2) == "");
}
TEST_CASE("extents that do not fit are refused when they are known") {
  Matrix const a(3, 4), b(5, 2);
  CHECK_THROWS_AS(static_cast<void>(eval(matmul(a, b))), shape_error);
}

}  // namespace matmul_test
