// SPDX-License-Identifier: Apache-2.0
// Products on GPUs to which a row is added: one launch, whether a library makes both or a map of ours comes behind the
// product. Values of every element type, rows that are no row of a library's, destinations that are read.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>
#include <worst_of.hpp>

#include <cmath>
#include <limits>

#include <locus/complex.hpp>
#include <locus/nn/layers/activate.hpp>

namespace product_row_test {

using namespace locus;

namespace {

using G = GpuDevice<0>;
template <class T, class Where = G>
using Matrix = Tensor<T, Dextents<2>, Where>;
template <class T, class Where = G>
using Row = Tensor<T, Dextents<1>, Where>;

template <class T>
double step_of() {
  return is_narrow_v<T> ? (std::is_same_v<T, half> ? 1. / 1024 : 1. / 128) : 1e-6;
}
/// the largest difference, as a part of the largest value
template <class A, class B>
double apart(A const& x, B const& y) {
  double most = 0, largest = 1;
  auto const a = to<CpuDevice>(x), b = to<CpuDevice>(y);
  auto const at = eval(a), to_be = eval(b);
  REQUIRE(at.size() == to_be.size());
  for (std::int64_t i = 0; i < at.size(); ++i) {
    double const u = static_cast<double>(static_cast<float>(at.data()[i])),
                 v = static_cast<double>(static_cast<float>(to_be.data()[i]));
    double const d = std::fabs(u - v);
    most = worst_of(most, d);
    largest = std::max(largest, std::fabs(v));
  }
  return most / largest;
}

using X = Tensor<float, Extents<6, 8>, G>;
using W = Tensor<float, Extents<8, 4>, G>;
using Bias = Tensor<float, Extents<4>, G>;
using Y = Tensor<float, Extents<6, 4>, G>;
template <class E, class Policy = default_policy>
inline constexpr int launches_of = plan_of<E, nowhere, Policy>.launches();

template <class T>
void values() {
  Matrix<T> const x(cast<T>(uniform<float>(dextents<2>{24, 40}, seed{1})));
  Matrix<T> const w(cast<T>(uniform<float>(dextents<2>{40, 16}, seed{2}) - 0.5f));
  Matrix<T> const xt(transpose(x)), wt(transpose(w));
  Row<T> const b(cast<T>(uniform<float>(dextents<1>{16}, seed{3})));
  Matrix<T> const wanted(eval(matmul(x, w)) + b);
  double const close = 2 * step_of<T>();
  Matrix<T> y(24, 16);
  y = matmul(x, w) + b;
  CHECK(apart(y, wanted) <= close);
  y = b + matmul(transpose(xt), w);
  CHECK(apart(y, wanted) <= close);
  y = matmul(x, transpose(wt)) + b;
  CHECK(apart(y, wanted) <= close);
  y = matmul(transpose(xt), transpose(wt)) + b;
  CHECK(apart(y, wanted) <= close);
  Matrix<T> const kept(relu(wanted - T(10.f)));
  run<relaxed<>>(into(y, relu(matmul(x, w) + (b - T(10.f)))));
  CHECK(apart(y, kept) <= close);
  Row<T> const low(b - T(10.f));
  run<relaxed<>>(into(y, relu(matmul(x, w) + low)));
  CHECK(apart(y, kept) <= 4 * close);
}

template <class R>
void complex_values() {
  using C = complex<R>;
  Tensor<C, Dextents<2>> const x{{C(1, 2), C(-1, 1)}}, w{{C(3, 4)}, {C(2, 0)}};
  Tensor<C, Dextents<1>> const b{C(10, 20)};
  Matrix<C> const a(x), m(w);
  Row<C> const row(b);
  Matrix<C> const y(matmul(a, m) + row);
  Tensor<C, Dextents<2>> const got = fetch(y);
  CHECK(got(0, 0) == C(3, 32));  // (1+2i)(3+4i) + (-1+i) 2 + 10+20i
}

}  // namespace

TEST_CASE(
    "a product on a GPU and the row that is added to it are one launch, without memory between") {
  using Plain = decltype(matmul(std::declval<X&>(), std::declval<W&>()) + std::declval<Bias&>());
  static_assert(launches_of<Plain> == 1);
  static_assert(plan_of<Plain>.peak_bytes(gpu(0)) == 256);  // the result
  static_assert(plan_of<Plain>.bytes_read() == 4 * (48 + 32 + 4));
  static_assert(plan_of<Plain>.bytes_written() == 4 * 24);
  CHECK(plan_of<Plain>.explain().view().find("by cuBLASLt or a kernel of locus") !=
        std::string_view::npos);
  CHECK(plan_of<Plain>.explain().view().find("with the row, not stored") != std::string_view::npos);
  // relu keeps NaN, of which NVIDIA says nothing: only where numerics are relaxed
  using Relu = decltype(relu(std::declval<Plain>()));
  static_assert(launches_of<Relu> == 2);
  static_assert(launches_of<Relu, relaxed<>> == 1);
  // an activation that is chosen when it runs: the product may be read again, and is counted so
  using Chosen = decltype(map(nn::activate_fn{}, std::declval<Plain>()));
  static_assert(launches_of<Chosen> == 1);
  static_assert(plan_of<Chosen>.bytes_written() == 4 * 2 * 24);
  static_assert(plan_of<Chosen>.bytes_read() == 4 * (48 + 32 + 4 + 24));
}

TEST_CASE("a product that a library could not end so keeps its memory and its launch") {
  using Product = decltype(matmul(std::declval<X&>(), std::declval<W&>()));
  using Matrix_added = decltype(std::declval<Product>() + std::declval<Y&>());
  static_assert(launches_of<Matrix_added> == 2);
  using Times = decltype(std::declval<Product>() * std::declval<Bias&>());
  static_assert(launches_of<Times> == 2);
  using Column = Tensor<float, Extents<6, 1>, G>;
  using Column_added = decltype(std::declval<Product>() + std::declval<Column&>());
  static_assert(launches_of<Column_added> == 2);
  using Number_added = decltype(std::declval<Product>() + 1.f);
  static_assert(launches_of<Number_added> == 2);
  using More = decltype(std::declval<Product>() + std::declval<Bias&>() + std::declval<Y&>());
  static_assert(launches_of<More> == 2);
  using Tanh = decltype(tanh(std::declval<Product>() + std::declval<Bias&>()));
  static_assert(launches_of<Tanh> == 2);
  using Turned =
      decltype(transpose(std::declval<Product>()) + std::declval<Tensor<float, Extents<6>, G>&>());
  static_assert(launches_of<Turned> == 2);
  // the map makes another type, or another shape
  using Cast = decltype(cast<double>(std::declval<Product>() + std::declval<Bias&>()));
  static_assert(launches_of<Cast> == 2);
  using Longer =
      decltype(matmul(std::declval<X&>(), std::declval<Tensor<float, Extents<8, 1>, G>&>()) +
               std::declval<Bias&>());
  static_assert(launches_of<Longer> == 2);
  using Summed = decltype(sum<0>(std::declval<Product>() + std::declval<Bias&>()));
  static_assert(launches_of<Summed> == 2);
  // a row that the kernel would have to make is no row in memory
  using Made = decltype(std::declval<Product>() + square(std::declval<Bias&>()));
  static_assert(launches_of<Made> == 2);
  using Complex = decltype(matmul(std::declval<Matrix<complex<float>>&>(),
                                  std::declval<Matrix<complex<float>>&>()) +
                           std::declval<Row<complex<float>>&>());
  static_assert(launches_of<Complex> == 2);
}

TEST_CASE("each element type, whatever way the operands lie") {
  on_backends([] {
    values<float>();
    values<double>();
    values<half>();
    values<bfloat16>();
    complex_values<float>();
    complex_values<double>();
  });
}

TEST_CASE("activations that are chosen when they run, behind a product and a row") {
  on_backends([] {
    Matrix<float> const x(uniform<float>(dextents<2>{9, 20}, seed{4}) - 0.5f);
    Matrix<float> const w(uniform<float>(dextents<2>{20, 12}, seed{5}) - 0.5f);
    Row<float> const b(uniform<float>(dextents<1>{12}, seed{6}) - 0.5f);
    Matrix<float> const sums(eval(matmul(x, w)) + b);
    for (int how = 0; how < int(nn::activation::softmax); ++how) {
      CAPTURE(how);
      nn::activate_fn const f{nn::activation(how)};
      Matrix<float> y(map(f, matmul(x, w) + b));
      Matrix<float> const wanted(map(f, sums));
      CHECK(apart(y, wanted) < 1e-5);
      run<relaxed<>>(into(y, map(f, matmul(x, w) + b)));
      CHECK(apart(y, wanted) < 1e-5);
    }
  });
}

TEST_CASE("relu keeps NaN of a product unless numerics are relaxed") {
  on_backends([] {
    Matrix<float> x(ones<float>(dextents<2>{4, 4})), y(4, 4);
    Matrix<float> const w(ones<float>(dextents<2>{4, 4}));
    Row<float> const b(ones<float>(dextents<1>{4}) * std::numeric_limits<float>::quiet_NaN());
    y = relu(matmul(x, w) + b);
    CHECK(std::isnan(fetch(max(y))));
    y = map(nn::activate_fn{nn::activation::relu}, matmul(x, w) + b);
    CHECK(std::isnan(fetch(max(y))));
  });
}

TEST_CASE("an open extent of one that stretches gives the product memory of its own") {
  on_backends([] {
    Matrix<float> const x(uniform<float>(dextents<2>{7, 5}, seed{7}));
    Matrix<float> const w(uniform<float>(dextents<2>{5, 1}, seed{8}));
    Row<float> const b(uniform<float>(dextents<1>{6}, seed{9}));
    Matrix<float> const wanted(eval(matmul(x, w)) + b);
    Matrix<float> y(7, 6);
    y = matmul(x, w) + b;
    CHECK(apart(y, wanted) < 1e-6);
    // and a row of one number
    Matrix<float> const v(uniform<float>(dextents<2>{5, 6}, seed{8}));
    Row<float> const one(uniform<float>(dextents<1>{1}, seed{9}));
    Matrix<float> const both(eval(matmul(x, v)) + one);
    y = matmul(x, v) + one;
    CHECK(apart(y, both) < 1e-6);
    // nothing to add up, and no rows
    Matrix<float> const hollow(7, 0), none(0, 6);
    y = 5.f * ones<float>(y.extents());
    y = matmul(hollow, none) + b;
    CHECK(apart(y, Matrix<float>(zeros<float>(y.extents()) + b)) == 0);
  });
}

TEST_CASE("a destination that is read is written aside: an operand of the product, and its row") {
  on_backends([] {
    Matrix<float> x(uniform<float>(dextents<2>{8, 8}, seed{10}));
    Matrix<float> const w(uniform<float>(dextents<2>{8, 8}, seed{11}));
    Row<float> const b(uniform<float>(dextents<1>{8}, seed{12}));
    Matrix<float> const wanted(eval(matmul(x, w)) + b);
    x = matmul(x, w) + b;
    CHECK(apart(x, wanted) < 1e-6);
    Matrix<float> const one(uniform<float>(dextents<2>{1, 8}, seed{13}));
    Matrix<float> y(uniform<float>(dextents<2>{1, 8}, seed{14}));
    Matrix<float> const sum_of(eval(matmul(one, w)) + y);
    y = matmul(one, w) + reshape<-1>(y);
    CHECK(apart(y, sum_of) < 1e-6);
  });
}

TEST_CASE("all GPUs that there are, or the CPU in their place") {
  on_backends([] {
    using Rows = Sharded<0, AllGpus>;
    using Same = Mirrored<AllGpus>;
    Matrix<float, CpuDevice> const x(uniform<float>(dextents<2>{10, 6}, seed{15})),
        w(uniform<float>(dextents<2>{6, 4}, seed{16}));
    Row<float, CpuDevice> const b(uniform<float>(dextents<1>{4}, seed{17}));
    Matrix<float, CpuDevice> const wanted(eval(matmul(x, w)) + b);
    Matrix<float, Rows> const xs = to<Rows>(x);
    Matrix<float, Same> const ws = to<Same>(w), all = to<Same>(x);
    Row<float, Same> const bs = to<Same>(b);
    Matrix<float, Rows> const y(matmul(xs, ws) + bs);
    CHECK(apart(y, wanted) < 1e-6);
    Matrix<float, Same> const z(map(nn::activate_fn{}, matmul(all, ws) + bs));
    CHECK(apart(z, wanted) < 1e-6);
  });
}

TEST_CASE("pieces of a batch: each GPU adds the row, or its part of it") {
  on_backends([](backends::machine const& m) {
    if (m.gpus < 2) return;
    using Two = Sharded<0, GpuDevice<0>, GpuDevice<1>>;
    using Same = Mirrored<GpuDevice<0>, GpuDevice<1>>;
    Matrix<float, Two> const x(uniform<float>(dextents<2>{10, 6}, seed{15}));
    Matrix<float, Same> const w(uniform<float>(dextents<2>{6, 4}, seed{16}));
    Row<float, Same> const b(uniform<float>(dextents<1>{4}, seed{17}));
    Matrix<float, Two> const y(matmul(x, w) + b), wanted(eval(matmul(x, w)) + b);
    CHECK(apart(y, wanted) < 1e-6);
    using Columns = Sharded<1, GpuDevice<0>, GpuDevice<1>>;
    Matrix<float, Same> const whole(uniform<float>(dextents<2>{10, 6}, seed{15}));
    Matrix<float, Columns> const cut(uniform<float>(dextents<2>{6, 4}, seed{16}));
    Matrix<float, Columns> const z(matmul(whole, cut) + b);
    CHECK(apart(z, wanted) < 1e-6);
  });
}

}  // namespace product_row_test
