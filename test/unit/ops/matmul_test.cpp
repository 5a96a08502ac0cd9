// SPDX-License-Identifier: Apache-2.0
// Matrix products against the three loops, in double: sizes, transposed and sliced operands,
// element types, and every row of the table of distributions.
#define LOCUS_CUDA_KERNELS 1
#include <on_backends.hpp>
#include <oracle.hpp>

#include <array>

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
  for (auto const& [m, k, n] : {std::array{9, 8, 7}, std::array{3, 5, 2}, std::array{40, 33, 27}}) {
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
    for (auto const& [m, k, n] :
         {std::array{5, 7, 3}, std::array{64, 31, 65}, std::array{1, 5, 1}}) {
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
TEST_CASE("extents that do not fit are refused when they are known") {
  Matrix const a(3, 4), b(5, 2);
  CHECK_THROWS_AS(static_cast<void>(eval(matmul(a, b))), shape_error);
}
