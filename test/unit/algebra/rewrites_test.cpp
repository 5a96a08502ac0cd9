// SPDX-License-Identifier: Apache-2.0
// algebra<>: each rule beside loops in double, on every backend, for static and open extents; the lines of
// explain; expressions that stay as they are; every way to name the policy; pieces; bad input.
#define LOCUS_CUDA_KERNELS 1
#include <on_backends.hpp>

#include <cmath>
#include <sstream>
#include <vector>

#include <locus/algebra/algebra.hpp>
#include <locus/complex.hpp>

#include "message_of.hpp"
#include "oracle.hpp"

namespace rewrites_test {

using namespace locus;

namespace {

using G0 = GpuDevice<0>;
using G1 = GpuDevice<1>;

// ---- the oracle: matrices of double or of complex numbers, by loops ----
template <class T>
struct matrix {
  std::int64_t rows, columns;
  std::vector<T> of = std::vector<T>(std::size_t(rows * columns), T(0));
  T& at(std::int64_t i, std::int64_t j) { return of[std::size_t(i * columns + j)]; }
  T at(std::int64_t i, std::int64_t j) const { return of[std::size_t(i * columns + j)]; }
  friend matrix operator*(matrix const& a, matrix const& b) {
    matrix r{a.rows, b.columns};
    for (std::int64_t i = 0; i < a.rows; ++i)
      for (std::int64_t j = 0; j < b.columns; ++j)
        for (std::int64_t k = 0; k < a.columns; ++k) r.at(i, j) += a.at(i, k) * b.at(k, j);
    return r;
  }
  matrix turned() const {
    matrix r{columns, rows};
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j) r.at(j, i) = at(i, j);
    return r;
  }
  matrix over_rows() const {
    matrix r{1, columns};
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j) r.at(0, j) += at(i, j);
    return r;
  }
  matrix over_columns() const { return turned().over_rows().turned(); }
  matrix divided_by(std::int64_t n) const {
    matrix r = *this;
    for (T& v : r.of) v = v / T(double(n));
    return r;
  }
};
template <class T>
using wide = std::conditional_t<is_complex_v<T>, complex<double>, double>;

template <class T>
matrix<wide<T>> random_matrix(oracle::random& bits, std::int64_t rows, std::int64_t columns) {
  matrix<wide<T>> m{rows, columns};
  for (auto& v : m.of) {
    if constexpr (is_complex_v<T>)
      v = wide<T>(T(real_t<T>(bits.real(-1, 1)), real_t<T>(bits.real(-1, 1))));
    else
      v = static_cast<double>(static_cast<T>(bits.real(-1, 1)));
  }
  return m;
}
template <class Tensor, class T>
Tensor tensor_of(matrix<T> const& m) {
  using V = typename Tensor::value_type;
  std::vector<V> values;
  for (T const& v : m.of) values.push_back(static_cast<V>(v));
  locus::Tensor<V, Dextents<2>, CpuDevice> const here(
      view<CpuDevice>(values.data(), dextents<2>{m.rows, m.columns}));
  Tensor r;
  if constexpr (!Tensor::extents_type::pattern.is_static())
    r.resize(dextents<2>{m.rows, m.columns});
  r = here;
  return r;
}
double magnitude(double v) { return std::abs(v); }
double magnitude(complex<double> const& v) { return std::hypot(v.real(), v.imag()); }

/// means: got has the elements of m in row order, up to rounding in T of sums of that many terms
template <class Got, class T>
void check_values(Got const& got, matrix<T> const& m, double terms) {
  using V = typename Got::value_type;
  double const eps = sizeof(real_t<V>) == 4 ? 0x1p-23 : 0x1p-52;
  REQUIRE(got.size() == std::int64_t(m.of.size()));
  for (std::size_t i = 0; i < m.of.size(); ++i) {
    CAPTURE(i);
    REQUIRE(magnitude(static_cast<wide<V>>(got.data()[i]) - m.of[i]) <= eps * terms);
  }
}
/// the value of e under algebra<> beside m; e must be rewritten as often
template <int Rewrites, class E, class T>
void check(E const& e, matrix<T> const& m, double terms) {
  static_assert(plan_of<E const&, nowhere, algebra<>>.rewrites() == Rewrites);
  auto const t = eval<algebra<>>(e);
  using V = typename E::value_type;
  Tensor<V, Dextents<decltype(t)::rank()>, CpuDevice> const here(t);
  check_values(here, m, terms);
}

template <class T, bool Open, std::int64_t M, std::int64_t N, class Where>
using Matrix = Tensor<T, std::conditional_t<Open, Dextents<2>, Extents<M, N>>, Where>;

template <class T, bool Open, class Where>
void check_rules() {
  CAPTURE(Open);
  oracle::random bits(sizeof(T) + Open);
  auto const ma = random_matrix<T>(bits, 19, 33), mb = random_matrix<T>(bits, 33, 8);
  auto const a = tensor_of<Matrix<T, Open, 19, 33, Where>>(ma);
  auto const b = tensor_of<Matrix<T, Open, 33, 8, Where>>(mb);
  auto const product = ma * mb;
  double const one = 33, all = 33 * 19 * 8;  // terms of a product's element, of a sum of all
  check<1>(sum(matmul(a, b)), product.over_rows().over_columns(), all);
  check<1>(sum(matmul(a, b), keep_dims), product.over_rows().over_columns(), all);
  check<1>(sum<0>(matmul(a, b)), product.over_rows(), 19 * one);
  check<1>(sum<-2>(matmul(a, b), keep_dims), product.over_rows(), 19 * one);
  check<1>(sum<1>(matmul(a, b)), product.over_columns(), 8 * one);
  check<1>(sum<-1>(matmul(a, b), keep_dims), product.over_columns(), 8 * one);
  constexpr int means = Open ? 0 : 1;  // a mean over no row is NaN: open extents keep it
  check<means>(mean(matmul(a, b)), product.over_rows().over_columns().divided_by(19 * 8), one);
  check<means>(mean<0>(matmul(a, b)), product.over_rows().divided_by(19), one);
  check<means>(mean<1>(matmul(a, b), keep_dims), product.over_columns().divided_by(8), one);
  check<1>(transpose(matmul(a, b)), product.turned(), one);
  check<1>(transpose<1, 0>(transpose(a)), ma, 0);
  check<1>(transpose<0, 1>(a) + T(0), ma, 0);
  // several rules: the transpose goes inside, the sum meets the product behind
  check<2>(sum<0>(transpose(matmul(a, b))), product.over_columns(), 8 * one);
  check<2>(sum(transpose(transpose(matmul(a, b)))), product.over_rows().over_columns(), all);
  auto twice = product.over_rows();
  for (auto& v : twice.of) v = v + v;
  check<2>(sum<0>(matmul(a, b)) + sum<0>(matmul(a, b)), twice, 40 * one);
}

/// means: sum over k of a b in a space of three axes, with the new axes at P and Q
template <int P, int Q, int Folded, class T, bool Open>
void check_space() {
  oracle::random bits(P * 9 + Q * 3 + Folded);
  constexpr std::int64_t extent[] = {7, 12, 9};
  constexpr int r = Folded < 0 ? Folded + 3 : Folded;
  // a has all axes but P, b all but Q; only the folded one must be known
  constexpr std::int64_t known[] = {Open && r != 0 ? dyn : 7, Open && r != 1 ? dyn : 12,
                                    Open && r != 2 ? dyn : 9};
  constexpr int a0 = P == 0 ? 1 : 0, a1 = P == 2 ? 1 : 2, b0 = Q == 0 ? 1 : 0, b1 = Q == 2 ? 1 : 2;
  using A = Tensor<T, Extents<known[a0], known[a1]>, CpuDevice>;
  using B = Tensor<T, Extents<known[b0], known[b1]>, CpuDevice>;
  auto const ma = random_matrix<T>(bits, extent[a0], extent[a1]),
             mb = random_matrix<T>(bits, extent[b0], extent[b1]);
  std::vector<T> of_a, of_b;
  for (auto const& v : ma.of) of_a.push_back(static_cast<T>(v));
  for (auto const& v : mb.of) of_b.push_back(static_cast<T>(v));
  A const a(view<CpuDevice>(of_a.data(), Extents<known[a0], known[a1]>(extent[a0], extent[a1])));
  B const b(view<CpuDevice>(of_b.data(), Extents<known[b0], known[b1]>(extent[b0], extent[b1])));
  constexpr int u = r == 0 ? 1 : 0, v = r == 2 ? 1 : 2;  // the axes of the result
  matrix<wide<T>> expected{extent[u], extent[v]};
  for (std::int64_t i = 0; i < 7; ++i)
    for (std::int64_t j = 0; j < 12; ++j)
      for (std::int64_t k = 0; k < 9; ++k) {
        std::int64_t const at[] = {i, j, k};
        expected.at(at[u], at[v]) += ma.at(at[a0], at[a1]) * mb.at(at[b0], at[b1]);
      }
  auto const e = sum<Folded>(expand_dims<P>(a) * expand_dims<Q>(b));
  static_assert(plan_of<decltype(e), nowhere, algebra<>>.explain().contains("= matmul("));
  check<1>(e, expected, 12);
}

template <class E>
inline constexpr int rewrites_of = plan_of<E, nowhere, algebra<>>.rewrites();
#define REWRITES(...) rewrites_of<decltype(__VA_ARGS__)>

}  // namespace

TEST_CASE("each rule gives the values of loops, on every backend") {
  on_few_backends([] {
    check_rules<float, false, CpuDevice>();
    check_rules<float, true, CpuDevice>();
    check_rules<double, true, G0>();
    check_rules<complex<float>, false, G0>();
  });
}

TEST_CASE("a sum of products in space is a matrix product, wherever its axes are") {
  check_space<2, 0, 1, float, false>();
  check_space<-1 + 3, 0, -2, double, true>();
  check_space<0, 2, 1, double, false>();
  check_space<1, 0, 2, float, true>();
  check_space<0, 1, -1, complex<double>, false>();
  check_space<1, 2, 0, float, true>();
  check_space<2, 1, 0, double, false>();
}

TEST_CASE("transposes of any order become one") {
  oracle::random bits(5);
  Tensor<float, Extents<3, 4, 5>, CpuDevice> x;
  for (std::int64_t i = 0; i < x.size(); ++i) x.data()[i] = float(bits.real(-1, 1));
  auto const e = transpose<2, 0, 1>(transpose<1, 0, 2>(x));
  static_assert(REWRITES(e) == 1);
  auto const got = fetch<algebra<>>(e + 0.f), expected = fetch(e + 0.f);
  CHECK(got.extents() == expected.extents());
  for (std::int64_t i = 0; i < got.size(); ++i) CHECK(got.data()[i] == expected.data()[i]);
  auto const back = transpose<1, 2, 0>(transpose<2, 0, 1>(x)) * 2.f;  // no transpose is left
  static_assert(plan_of<decltype(back), nowhere, algebra<>>.view().steps.count == 3);
  CHECK(fetch<algebra<>>(back)(2, 1, 3) == 2.f * x(2, 1, 3));
}

TEST_CASE("explain shows each rewrite and its gain") {
  Tensor<float, Extents<64, 32>, CpuDevice> a;
  Tensor<float, Extents<32, 128>, CpuDevice> b;
  Tensor<float, Extents<128>, CpuDevice> v;
  Tensor<float, Dextents<2>, CpuDevice> c(64, 32);
  auto const says = [](auto const& e, std::string_view line) {
    std::ostringstream out;
    explain<algebra<>>(out, e);
    INFO(out.str());
    CHECK(out.str().find("plan under algebra<prefer_gpu>\n") == 0);
    CHECK(out.str().find(line) != std::string::npos);
  };
  says(on<CpuDevice>(sum(matmul(a, b))),
       "  algebra: sum(matmul(a, b)) -> sum(sum<0>(a) * sum<1>(b)): 532480 -> 6208 operations\n"
       "  algebra: in all 1 -> 3 launches, 532480 -> 6208 operations, 24580 -> 25092 bytes\n");
  says(matmul(matmul(a, b), v),
       "  algebra: ((a b) c) -> (a (b c)): 540672 -> 12288 operations\n"
       "  algebra: in all 2 -> 2 launches, 540672 -> 12288 operations, 90880 -> 25600 bytes\n");
  says(sum<0>(matmul(c, b)), "  algebra: sum<0>(matmul(a, b)) -> matmul(sum<0>(a), b)\n");
  says(sum(matmul(c, b)), "  algebra: sum(matmul(a, b)) -> matmul(sum<0>(a), sum<1>(b))\n");
  says(mean<1>(matmul(a, b)), "  algebra: mean<1>(matmul(a, b)) -> matmul(a, mean<1>(b)): ");
  says(transpose(matmul(a, b)),
       "  algebra: transpose(matmul(a, b)) -> matmul(transpose(b), transpose(a)): ");
  says(transpose(transpose(a)) + 1.f, "  algebra: transpose(transpose(x)) -> x: ");
  says(sum<1>(expand_dims<2>(a) * expand_dims<0>(b)),
       "  algebra: sum(expand_dims(a) * expand_dims(b)) -> matmul(a, b): 524288 -> 524288 "
       "operations\n");
  std::ostringstream dot;
  explain_dot<algebra<>>(dot, sum(matmul(a, b)));
  CHECK(dot.str().find("plan under algebra<prefer_gpu>") != std::string::npos);
  using inner = algebra<careful<relaxed<follow_data>>>;
  CHECK(plan_of<decltype(a + a), nowhere, inner>.explain().view().starts_with(
      "plan under algebra<careful<relaxed<follow_data>>>\n"));
}

TEST_CASE("an expression that would not gain stays as it is") {
  Tensor<float, Extents<64, 32>, CpuDevice> a;
  Tensor<float, Extents<32, 128>, CpuDevice> b;
  Tensor<float, Extents<1, 32>, CpuDevice> row;
  Tensor<float, Extents<32, 1>, CpuDevice> column;
  Tensor<int, Extents<8, 8>, CpuDevice> ints;
  Tensor<half, Extents<8, 8>, CpuDevice> halves;
  Tensor<float, Dextents<2>, CpuDevice> open(4, 4);
  Tensor<float, Extents<2, 8, 8>, CpuDevice> batch;
  static_assert(REWRITES(sum(matmul(row, column))) == 0);            // one product
  static_assert(REWRITES(matmul(a, matmul(b, transpose(b)))) == 0);  // the best order
  static_assert(REWRITES(matmul(matmul(a, b), transpose(b))) == 1);
  static_assert(REWRITES(matmul(matmul(row, transpose(a)), a)) == 0);  // the best order
  static_assert(REWRITES(matmul(matmul(open, open), open)) == 0);      // costs are not known
  static_assert(REWRITES(sum(matmul(ints, ints))) == 0);               // int64 of int32 products
  static_assert(REWRITES(sum(matmul(halves, halves))) == 0);           // other roundings by far
  static_assert(REWRITES(sum(matmul(batch, batch))) == 0);
  static_assert(REWRITES(sum<-3, -1>(matmul(batch, batch))) == 0);
  Tensor<float, Extents<1, dyn>, CpuDevice> thin(4);
  static_assert(REWRITES(sum<0>(matmul(thin, open))) == 0);  // one row
  static_assert(REWRITES(max(matmul(a, b))) == 0);
  static_assert(REWRITES(sum(a * a)) == 0);  // one pass already: decision 44
  static_assert(REWRITES(sum<1>(expand_dims<2>(a) * expand_dims<2>(a))) == 0);
  static_assert(REWRITES(sum<1>(expand_dims<2>(open) * expand_dims<0>(open))) == 0);
  // without the policy nothing is rewritten
  static_assert(plan_of<decltype(sum(matmul(a, b)))>.rewrites() == 0);
  static_assert(plan_of<decltype(sum(matmul(a, b)))>.explain().contains("matmul"));
}

TEST_CASE("every function that takes a policy takes this one") {
  oracle::random bits(11);
  auto const ma = random_matrix<double>(bits, 12, 40), mb = random_matrix<double>(bits, 40, 9);
  auto const a = tensor_of<Matrix<double, false, 12, 40, CpuDevice>>(ma);
  auto const b = tensor_of<Matrix<double, false, 40, 9, CpuDevice>>(mb);
  double const expected = (ma * mb).over_rows().over_columns().at(0, 0);
  auto const e = on<CpuDevice>(sum(matmul(a, b)));
  auto const near = [&](double v) { return std::abs(v - expected) < 1e-12; };
  CHECK(near(fetch<algebra<>>(e)));
  CHECK(near(*eval<algebra<>>(e).data()));
  CHECK(near(*to<CpuDevice, algebra<>>(e).data()));
  Tensor<double, Extents<>, CpuDevice> r, s;
  Tensor<double, Extents<9, 12>, CpuDevice> t;
  run<algebra<>>(into(r, e));
  CHECK(near(*r.data()));
  auto const both = plan<algebra<>>(into(s, e), into(t, on<CpuDevice>(transpose(matmul(a, b)))));
  static_assert(both.rewrites() == 2 && both.explain().contains("algebra: transpose(matmul"));
  tally const done = testing::count([&] { run(both); });
  CHECK(done.launches == both.launches());
  CHECK(near(*s.data()));
  check_values(t, (ma * mb).turned(), 40);
  CHECK(tally_of<algebra<>>(e).launches == plan_of<decltype(e), nowhere, algebra<>>.launches());
  CHECK(bytes_moved<algebra<>>(e) == 0);
  std::ostringstream out;
  why<algebra<>>(out, e, "multiply");
  CHECK(out.str().find("CPU:0") != std::string::npos);
  static_assert(device_of<decltype(e), nowhere, algebra<>> == CpuDevice::value);
}

TEST_CASE("a value under a name stays, and rewrite() makes it simpler") {
  oracle::random bits(13);
  auto const ma = random_matrix<double>(bits, 20, 20);
  auto const a = tensor_of<Matrix<double, false, 20, 20, CpuDevice>>(ma);
  Tensor<double, Extents<20>, CpuDevice> v;
  for (std::int64_t i = 0; i < 20; ++i) v.data()[i] = bits.real(-1, 1);
  auto const e = let(matmul(matmul(a, a), v), [](auto const& h) { return h * h + h; });
  static_assert(REWRITES(e) == 0);
  auto const simpler =
      let(rewrite(matmul(matmul(a, a), v)), [](auto const& h) { return h * h + h; });
  static_assert(plan_of<decltype(simpler)>.flops() < plan_of<decltype(e)>.flops() / 5);
  auto const got = fetch(simpler), expected = fetch(e);
  for (std::int64_t i = 0; i < 20; ++i)
    CHECK(got(i) == doctest::Approx(expected(i)).epsilon(1e-12));
  // the operand of a let is not copied for each occurrence; a rule outside it sees the name as a leaf
  auto const outside = let(a, [&](auto const& h) { return matmul(matmul(h, h), v); });
  static_assert(REWRITES(outside) == 1);
  auto const other = fetch<algebra<>>(outside), same = fetch(matmul(matmul(a, a), v));
  for (std::int64_t i = 0; i < 20; ++i) CHECK(other(i) == doctest::Approx(same(i)).epsilon(1e-12));
}

TEST_CASE("replicas: pieces and partial sums go through the rules") {
  using R0 = Sharded<0, G0, G1>;
  using Whole = Mirrored<G0, G1>;
  on_few_backends([] {
    oracle::random bits(17);
    auto const mx = random_matrix<double>(bits, 24, 64), mw = random_matrix<double>(bits, 64, 3);
    auto const x = tensor_of<Matrix<double, false, 24, 64, R0>>(mx);
    auto const w = tensor_of<Matrix<double, false, 64, 3, Whole>>(mw);
    auto const product = mx * mw;
    check_values(fetch<algebra<>>(sum<1>(matmul(x, w))), product.over_columns(), 64 * 3);
    check_values(fetch<algebra<>>(transpose(matmul(x, w))), product.turned(), 64);
    static_assert(REWRITES(sum<1>(matmul(x, w))) == 1);
    // sums over the cut stay partial sums: the same bytes travel
    auto const mv = random_matrix<double>(bits, 64, 48);
    auto const v = tensor_of<Matrix<double, false, 64, 48, Whole>>(mv);
    auto const sums = sum<0>(matmul(x, v));
    static_assert(REWRITES(sums) == 1);
    static_assert(plan_of<decltype(sums), nowhere, algebra<>>.bytes_reduced() == 48 * 8);
    check_values(fetch<algebra<>>(sums), (mx * mv).over_rows(), 24 * 64);
    auto const total = fetch<algebra<>>(sum(matmul(x, v)));
    CHECK(total == doctest::Approx((mx * mv).over_rows().over_columns().at(0, 0)).epsilon(1e-12));
  });
}

TEST_CASE("replicas: an order of products that would move more bytes is not taken") {
  using C = Sharded<1, G0, G1>;
  using R = Sharded<0, G0, G1>;
  on_few_backends([] {
    oracle::random bits(19);
    auto const ma = random_matrix<double>(bits, 2, 64), mb = random_matrix<double>(bits, 64, 8),
               mc = random_matrix<double>(bits, 8, 64), md = random_matrix<double>(bits, 64, 2);
    auto const a = tensor_of<Matrix<double, false, 2, 64, C>>(ma);
    auto const b = tensor_of<Matrix<double, false, 64, 8, R>>(mb);
    auto const c = tensor_of<Matrix<double, false, 8, 64, C>>(mc);
    auto const d = tensor_of<Matrix<double, false, 64, 2, R>>(md);
    auto const e = matmul(matmul(matmul(a, b), c), d);
    // in the other order c d would be reduced whole: 16 numbers, where the result has 4
    static_assert(REWRITES(e) == 0);
    static_assert(plan_of<decltype(e), nowhere, algebra<>>.bytes_reduced() == (16 + 4) * 8);
    static_assert(plan_of<decltype(e), nowhere, algebra<>>.explain().contains(
        "  algebra: nothing rewritten, as the new plan would move more bytes or be refused\n"));
    check_values(fetch<algebra<>>(e), ma * mb * mc * md, 64 * 8 * 64);
    // the same matrices on one device are multiplied in that order
    auto const f = matmul(matmul(matmul(to<G0>(a), to<G0>(b)), to<G0>(c)), to<G0>(d));
    static_assert(REWRITES(f) == 1);
    check_values(fetch<algebra<>>(f), ma * mb * mc * md, 64 * 8 * 64);
  });
}

TEST_CASE("open extents that do not meet are an error, also where one is 1") {
  using Open = Tensor<double, Dextents<2>, CpuDevice>;
  Open a(4, 1), b(5, 3), none(0, 5), thin(4, 0), wide_none(0, 3);
  a = 1.0, b = 2.0;
  static_assert(REWRITES(sum(matmul(a, b))) == 1);
  CHECK(message_of<shape_error>([&] {
          (void)fetch<algebra<>>(sum(matmul(a, b)));
        }).find("matmul") != std::string::npos);
  CHECK(message_of<shape_error>([&] {
          (void)fetch<algebra<>>(sum<0>(matmul(a, b)));
        }).find("matmul") != std::string::npos);
  CHECK(fetch<algebra<>>(sum(matmul(none, b))) == 0);          // no row
  CHECK(fetch<algebra<>>(sum(matmul(thin, wide_none))) == 0);  // no inner element
  CHECK(fetch<algebra<>>(sum<0>(matmul(none, b)))(2) == 0);
  CHECK(fetch<algebra<>>(sum<1>(matmul(thin, wide_none)))(3) == 0);
}

}  // namespace rewrites_test
