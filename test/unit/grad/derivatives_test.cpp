// SPDX-License-Identifier: Apache-2.0
// Each operation of the table of derivatives against central differences in double, on random shapes,
// with broadcasting; and where two answers would be right, which one it is.
#include <locus/ops/stack.hpp>
#include <locus/ops/statistics.hpp>
#include <locus/ops/vectors.hpp>

#include "differences.hpp"

namespace derivatives_test {

using namespace differences;

namespace {

using matrix = Dextents<2>;
using row = Extents<1, dyn>;
using column = Extents<dyn, 1>;

template <class F>
void on_random_shapes(F&& f) {
  oracle::random r(11);
  for (int turn = 0; turn < 5; ++turn) {
    auto const m = r.number(1, 4), n = r.number(1, 5);  // in this order under every compiler
    f(r, m, n);
  }
}
template <class X, class... Fs>
auto sum_of(X const& x, Fs... f) {
  return sum(add_n((f(x) * (1.0 + static_cast<double>(sizeof(Fs))))...));
}

/// a functor of a program's own: a x^3
struct cube {
  static constexpr auto name = "cube";
  double a;
  double operator()(double x) const { return a * x * x * x; }
  template <class Y, class X>
  auto derivative(Y const&, X const& x) const {
    return 3 * a * square(x);
  }
};
/// and one of two operands
struct weighted {
  LOCUS_OPERATION("weighted", on_cpu)
  double operator()(double x, double y) const { return x * x * y; }
  template <class Z, class X, class Y>
  static auto derivative(Z const&, X const& x, Y const& y) {
    return make_pack(2 * x * y, square(x));
  }
};

}  // namespace

TEST_CASE("derivatives of one operand: exponentials, logarithms, roots") {
  on_random_shapes([](auto& r, auto m, auto n) {
    parameter<"x", matrix> x(r, matrix(m, n), 0.2, 0.9);
    auto const e = *x;
    check(sum(add_n(exp(e), 2 * exp2(e), 3 * expm1(e), 4 * log(e), 5 * log2(e), 6 * log10(e),
                    7 * log1p(e), 8 * sqrt(e), 9 * rsqrt(e), 10 * cbrt(e), 11 * square(e))),
          x);
  });
}
TEST_CASE("derivatives of one operand: the gamma functions, of both signs") {
  static_assert(detail::has_row<digamma_fn> && !detail::has_row<trigamma_fn>);
  on_random_shapes([](auto& r, auto m, auto n) {
    parameter<"x", matrix> x(r, matrix(m, n), 0.2, 0.8);
    auto const e = *x;
    check(sum(add_n(digamma(e), 2 * digamma(e - 1), 3 * digamma(7 * e), 4 * digamma(12 + e),
                    5 * lgamma(7 * e), 6 * lgamma(e - 1))),
          x);
  });
}
TEST_CASE("derivatives of one operand: circles and hyperbolas") {
  on_random_shapes([](auto& r, auto m, auto n) {
    parameter<"x", matrix> x(r, matrix(m, n), 0.2, 0.9);
    auto const e = *x;
    check(sum(add_n(sin(e), 2 * cos(e), 3 * tan(e), 4 * asin(e), 5 * acos(e), 6 * atan(e),
                    7 * sinh(e), 8 * cosh(e), 9 * asinh(e), 10 * acosh(1 + e), 11 * atanh(e))),
          x);
  });
}
TEST_CASE("derivatives at huge and tiny arguments are numbers where they can be") {
  Tensor<double, Extents<2>> const x{1e200, 3e-200};
  auto const e = named<"x">(x);
  Tensor<double, Extents<2>> const of_asinh(grad(sum(asinh(e)), e));
  CHECK((of_asinh(0) == doctest::Approx(1e-200) && of_asinh(1) == 1));
  Tensor<double, Extents<2>> const of_acosh(grad(sum(acosh(e + 2)), e));
  CHECK((of_acosh(0) == doctest::Approx(1e-200) &&
         of_acosh(1) == doctest::Approx(1 / std::sqrt(3.))));
  Tensor<double, Extents<2>> const y{2e200, 6e-200};
  auto const f = named<"y">(y);
  Tensor<double, Extents<2>> const by_x(grad(sum(atan2(e, f)), e)), by_y(grad(sum(atan2(e, f)), f));
  CHECK((by_x(0) == doctest::Approx(4e-201) && by_x(1) == doctest::Approx(4. / 3 * 1e199)));
  CHECK((by_y(0) == doctest::Approx(-2e-201) && by_y(1) == doctest::Approx(-2. / 3 * 1e199)));
}
TEST_CASE("derivatives of one operand: what networks use, of both signs") {
  on_random_shapes([](auto& r, auto m, auto n) {
    parameter<"x", matrix> x(r, matrix(m, n));
    auto const e = *x;
    check(sum(add_n(tanh(e), 2 * sigmoid(e), 3 * relu(e), 4 * abs(e), 5 * erf(e), 6 * erfc(e), -e,
                    7 * reciprocal(e + 3), cast<double>(e) * e, map(cube{2}, e))),
          x);
  });
}
TEST_CASE(
    "derivatives of arithmetic are summed back over the axes along which operands stretched") {
  on_random_shapes([](auto& r, auto m, auto n) {
    parameter<"a", matrix> a(r, matrix(m, n));
    parameter<"r", row> b(r, row(n), 1, 2);
    parameter<"c", column> c(r, column(m), 1, 2);
    parameter<"v", Dextents<1>> v(r, Dextents<1>(n));
    parameter<"s", Extents<>> s(r, Extents<>{});
    check(mean(square(*a * *b - *c / *b + *s * *v)) + sum(fma(*a, *c, *s)) / (2 + *s), a, b, c, v,
          s);
    // numbers alone reach the operands: how many elements were stretched to
    check(sum(*a + *b) - mean(*c - *a) + sum(add_n(*a, *b, *v)) + sum(true_div(*b + *c, *b)), a, b,
          c, v);
  });
}
TEST_CASE("derivatives of two and three operands") {
  on_random_shapes([](auto& r, auto m, auto n) {
    parameter<"a", matrix> a(r, matrix(m, n), 0.3, 2);
    parameter<"b", column> b(r, column(m), 0.3, 2);
    parameter<"c", Dextents<1>> c(r, Dextents<1>(n), 0.5, 1.5);
    check(sum(add_n(3 * pow(*a, *b), 4 * atan2(*a, *b), 5 * hypot(*a, *b), 6 * pow(*b, 3))), a, b);
    check(sum(add_n(maximum(*a, *b), 2 * minimum(*a, *c), where(*a < *b, *a * *c, *b),
                    clamp(*a, *b * 0.5, *c), map(weighted{}, *a, *b))),
          a, b, c);
    // a / b lies in (3, 4) and in (-4, -3), far from the steps of the remainders
    parameter<"d", matrix> d(r, matrix(m, n), 3.2, 3.8);
    check(sum(fmod(*d * *b, *b) + 2 * fmod(-*d * *b, *b) + 3 * floor_mod(*d * *b, -*b) +
              4 * copysign(*a, *b - 5) * *c),
          a, b, c, d);
    // bounds in either order
    parameter<"low", matrix> low(r, matrix(m, n), 0, 2);
    parameter<"high", matrix> high(r, matrix(m, n), 0, 2);
    check(sum(clamp(*a, *low, *high) * *b) + sum(clamp(*low, *c, 0.7) * *b), a, low, high, c);
  });
}
TEST_CASE("derivatives of powers of 0 are finite where the power is smooth") {
  Tensor<double, Extents<4>> x{{0, 0, 0, 2}}, y{{0, 1, 2, 0}};
  auto const a = named<"a">(x);
  auto const b = named<"b">(y);
  auto const check_all = [](auto const& g, double const(&want)[4]) {
    auto const found = value_of(g);
    for (int i = 0; i < 4; ++i) CHECK(found[i] == want[i]);
  };
  auto const by = [](auto const& e, auto const& p) { return grad(sum(e), p); };
  auto const twice = [&](auto const& e) { return by(by(e, a), a); };
  check_all(by(pow(a, 0), a), {0, 0, 0, 0});
  check_all(twice(pow(a, 0)), {0, 0, 0, 0});
  check_all(by(pow(a, 1), a), {1, 1, 1, 1});
  check_all(twice(pow(a, 1)), {0, 0, 0, 0});
  check_all(twice(pow(a, 2)), {2, 2, 2, 2});
  check_all(by(pow(a, b), a), {0, 1, 0, 0});
  check_all(twice(pow(a, b)), {0, 0, 2, 0});
  check_all(by(pow(a, b), b), {0, 0, 0, std::log(2.0)});
  // 0^b for b = 0 and 1 has no such derivative
  auto const mixed = value_of(by(by(pow(a, b), b), a)), turned = value_of(by(by(pow(a, b), a), b));
  CHECK(mixed[2] == 0);
  CHECK(turned[2] == 0);
  CHECK(mixed[3] == 0.5);
  CHECK(turned[3] == 0.5);
}
TEST_CASE("derivatives of folds and of softmax") {
  on_random_shapes([](auto& r, auto m, auto n) {
    parameter<"x", matrix> x(r, matrix(m, n));
    parameter<"v", Dextents<1>> v(r, Dextents<1>(m));
    check(sum(*v * sum<1>(*x)) + sum(square(mean<0>(*x))) + sum(*v * max<1>(*x)) +
              2 * sum(square(min<0>(*x, keep_dims))) + max(*x),
          x, v);
    check(sum(softmax<0>(*x) * square(*x)) + sum(*v * max<1>(log_softmax(*x))) -
              mean(log_softmax<0>(*x)),
          x, v);
  });
}
TEST_CASE("derivatives of products of elements, with no zero, one and two along an axis") {
  on_random_shapes([](auto& r, auto m, auto n) {
    parameter<"x", matrix> x(r, matrix(m, n), 0.5, 1.5);
    parameter<"v", Dextents<1>> v(r, Dextents<1>(m));
    check(sum(*v * prod<1>(*x)) + prod(*x) + sum(square(prod<0>(*x, keep_dims))), x, v);
  });
  Tensor<double, Extents<3, 3>> x{{2, 3, 5}, {0, 3, 5}, {0, 3, 0}};
  auto const g = value_of(grad(sum(prod<1>(named<"x">(x))), named<"x">(x)));
  double const want[] = {15, 10, 6, 15, 0, 0, 0, 0, 0};
  for (int i = 0; i < 9; ++i) CHECK(g[i] == want[i]);
}
TEST_CASE("second derivatives of a product of elements are finite beside a zero") {
  Tensor<double, Extents<2, 3>> x{{2, 3, 5}, {0, 3, 5}};
  auto const a = named<"x">(x);
  auto const g = value_of(grad(sum(grad(sum(prod<1>(a)), a)), a));
  double const want[] = {8, 7, 5, 8, 5, 3};
  for (int i = 0; i < 6; ++i) CHECK(std::abs(g[i] - want[i]) < 1e-13);
}
TEST_CASE("derivatives of variances, norms and what is stacked") {
  on_random_shapes([](auto& r, auto m, auto n) {
    parameter<"x", matrix> x(r, matrix(m + 1, n), 0.5, 1.5);
    parameter<"v", Dextents<1>> v(r, Dextents<1>(n));
    check(sum(*v * var<0>(*x, ddof{1})) + square(var(*x)) +
              sum(norm<1>(*x, keep_dims) * stack<1>(norm<1>(*x), norm<-1>(*x * *v + 1))),
          x, v);
  });
}
TEST_CASE("derivatives of products of matrices, also of batches and of those that serve a batch") {
  on_random_shapes([](auto& r, auto m, auto n) {
    auto const k = r.number(1, 4), batch = r.number(1, 3);
    parameter<"a", matrix> a(r, matrix(m, k));
    parameter<"b", matrix> b(r, matrix(k, n));
    parameter<"p", Dextents<3>> p(r, Dextents<3>(batch, n, k));
    parameter<"q", Extents<1, dyn, dyn>> q(r, Extents<1, dyn, dyn>(k, n));
    check(sum(square(matmul(matmul(*a, *b), transpose(*b)))) + sum(matmul(*a, *b)), a, b);
    check(sum(sigmoid(matmul(*p, *q))) + sum(square(matmul(*b, *p))) + mean(matmul(*p, *b)), b, p,
          q);
  });
}
TEST_CASE("derivatives of views and of what is put together") {
  on_random_shapes([](auto& r, auto m, auto n) {
    parameter<"x", matrix> x(r, matrix(m + 2, n));
    parameter<"y", matrix> y(r, matrix(n, 2));
    auto const t = transpose(*x);
    check(sum(square(concatenate<1>(t, *y, t))) +
              sum(square(slice(*x, {1, -1}, all_of)) * expand_dims<0>(slice(*x, {1, -1}))) +
              sum(square(reshape<-1>(*x)) * reshape<-1>(t)) + sum(concatenate<0>(*y, *y)),
          x, y);
    parameter<"z", Extents<3, 4>> z(r, Extents<3, 4>{});
    check(sum(slice<1, 1, 3>(square(*z))) + sum(slice<0, 0, 2>(expand_dims<-1>(*z))) +
              sum(transpose<1, 0>(*z) * iota<double>(Extents<4, 3>{})),
          z);
  });
}

TEST_CASE("float and double meet: the adjoint of a value has its element type") {
  Tensor<float, Extents<3>> f{{1, 2, 3}};
  Tensor<double, Extents<3>> d{{4, 5, 6}};
  auto const g = grad(sum(square(f) * d), f, d);
  static_assert(std::is_same_v<element_of_t<decltype(get<0>(g))>, float>);
  static_assert(std::is_same_v<element_of_t<decltype(get<1>(g))>, double>);
  auto const by_f = value_of(get<0>(g)), by_d = value_of(get<1>(g));
  for (int i = 0; i < 3; ++i) {
    CHECK(by_f[i] == 2.0 * f(i) * d(i));
    CHECK(by_d[i] == double(f(i)) * f(i));
  }
}

TEST_CASE_TEMPLATE("elements are counted although a narrow type does not hold their number", T,
                   half, bfloat16) {
  constexpr std::int64_t n = 70000;
  Tensor<T, Dextents<1>> x(full<T>(Dextents<1>(n), T(1)));
  Tensor<T, Extents<1>> y{{T(1)}};
  auto const a = named<"a">(x);
  auto const b = named<"b">(y);
  auto const is_near = [](double found, double want) {
    return std::abs(found - want) <= 0.005 * std::abs(want);
  };
  auto const first = [](auto const& g) { return value_of(g)[0]; };
  auto const first_of_plan = [](auto const& g) {
    return static_cast<double>(eval<follow_data>(g).data()[0]);
  };
  auto const small = T(0.001), large = T(1000);
  CHECK(is_near(first_of_plan(grad(mean(a) * large, a)), 1000.0 / n));
  CHECK(is_near(first_of_plan(grad(max(a) * large, a)), 1000.0 / n));
  CHECK(is_near(first(grad(sum(min<0>(a, keep_dims)) * large, a)), 1000.0 / n));
  CHECK(is_near(first(grad(sum(a + b) * small, b)), 0.001 * n));
  CHECK(std::abs(first(grad(sum(log_softmax<0>(a)) * T(2), a))) < 0.1);
  x(0) = T(0);
  CHECK(is_near(first_of_plan(grad(var(a) * large, a)), -2000.0 / n));
}

// ---- where two answers would be right ----
TEST_CASE("at a kink: relu and abs have 0, a tie goes to the first, the ends of a clamp to x, "
          "extrema share") {
  Tensor<double, Extents<4>> x{{0, -1, 2, 2}}, y{{0, 1, 2, 1}};
  auto const a = named<"a">(x);
  auto const b = named<"b">(y);
  auto const g = grad(
      sum(relu(a) + abs(a) + 10 * maximum(a, b) + 100 * clamp(a, b, 2.0)) + 1000 * max(a), a, b);
  auto const by_x = value_of(get<0>(g)), by_y = value_of(get<1>(g));
  double const want_x[] = {110, -1, 612, 612}, want_y[] = {0, 110, 0, 0};
  for (int i = 0; i < 4; ++i) {
    CHECK(by_x[i] == want_x[i]);
    CHECK(by_y[i] == want_y[i]);
  }
}

}  // namespace derivatives_test
