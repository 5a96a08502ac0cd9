// SPDX-License-Identifier: Apache-2.0
// Plans of gradients: what they owe their replicas, what they share, which tensor is meant; and what is
// refused.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include "../../on_backends.hpp"

#include <cmath>
#include <string>

#include "../training/network.hpp"
#include "differences.hpp"

namespace grad_test {

using namespace locus;
using differences::parameter;
using interpreter::value_of;

namespace {

using vector = Tensor<double, Extents<3>>;

int count(std::string_view text, std::string_view what) {
  int n = 0;
  for (auto at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++n;
  return n;
}

/// means: one step of gradient descent of the network, with gradients that nobody wrote
template <class T, class Where, class X, class Label, class F>
void with_derived_step(network::model<T, Where>& m, X const& x, Label const& label, T rate, F&& f) {
  let(relu(matmul(x, m.w1)), [&](auto h) {
    auto const g = grad(
        -sum(one_hot<10, T>(label) * log_softmax(matmul(h, m.w2))) / global_batch(x), m.w1, m.w2);
    f(plan(into(m.w2, m.w2 - rate * get<1>(g)), into(m.w1, m.w1 - rate * get<0>(g))));
  });
}

/// y[i] = sum over j of x[i, j] w[j], as a kernel with a name
struct weigh_op {
  static constexpr call_rule rule{.name = "weigh",
                                  .operands = {call_role::rows, call_role::whole},
                                  .results = {call_role::rows}};
  static constexpr shape infer(int, shape x, shape) { return {1, {x.extent[0]}}; }
  template <class T>
  void host(call_context const&, tile<T> y, tile<T const> x, tile<T const> w) const {
    for (std::int64_t i = 0; i < y.extent[0]; ++i) {
      y.data[i] = 0;
      for (std::int64_t j = 0; j < w.extent[0]; ++j)
        y.data[i] += x.data[i * w.extent[0] + j] * w.data[j];
    }
  }
  template <class G, class Y, class X, class W>
  static auto pullback(G const& g, Y const&, X const& x, W const& w) {
    return make_pack(expand_dims<-1>(g) * w, sum<0>(expand_dims<-1>(g) * x));
  }
};

}  // namespace

TEST_CASE("the gradients of two layers owe one all-reduce, and are those that a hand writes") {
  using Replicas = Mirrored<GpuDevice<0>, GpuDevice<1>>;
  on_few_backends([] {
    Tensor<double, Extents<dyn, 784>, rows_over<Replicas>> x(
        uniform<double>(Extents<dyn, 784>(7), seed{3}));
    Tensor<std::int64_t, Dextents<1>, rows_over<Replicas>> label(
        cast<std::int64_t>(uniform<double>(Dextents<1>(7), seed{4}, 0, 10)));
    network::model<double, Replicas> written, derived;
    int launches = 0;
    network::with_step(written, x, label, 0.1, [&](auto const& step) {
      launches = std::remove_cvref_t<decltype(step)>::launches();
      run(step);
    });
    with_derived_step(derived, x, label, 0.1, [&](auto const& step) {
      using Step = std::remove_cvref_t<decltype(step)>;
      static_assert(Step::all_reduces() == 1 && Step::copies() == 0);
      CHECK(Step::launches() == launches);
      run(step);
    });
    CHECK(all_close(derived.w1, written.w1, 1e-12));
    CHECK(all_close(derived.w2, written.w2, 1e-12));
  });
}

TEST_CASE("what the way back reads is computed once, and what gradients share, too") {
  vector a{{0.1, 0.2, 0.3}}, ga, gb;
  Tensor<double, Extents<>> b{0.5}, gc, value;
  let(a * b, [&](auto h) {
    auto const all = value_and_grad(sum(tanh(h) * square(h)) + sum(exp(h)), a, b);
    auto const step = plan(into(value, get<0>(all)), into(ga, get<1>(all)), into(gc, get<2>(all)));
    static_assert(step.launches() == 1);
    CHECK(count(step.explain().c_str(), " tanh(") == 1);
    CHECK(count(step.explain().c_str(), " exp(") == 1);
    // h's adjoint is one sum for both
    CHECK(count(step.explain().c_str(), " add") == 2);
    // asked for one by one they share as much
    auto const loss = sum(tanh(h) * square(h)) + sum(exp(h));
    auto const apart = plan(into(ga, grad(loss, a)), into(gc, grad(loss, b)));
    CHECK(count(apart.explain().c_str(), " tanh(") == 1);
    run(apart);
    CHECK(std::abs(fetch(gc) - value_of(get<2>(all))[0]) < 1e-15);
  });
}

TEST_CASE("a kernel with a name is differentiated by its pullback") {
  oracle::random r(5);
  parameter<"x", Dextents<2>> x(r, Dextents<2>(4, 3));
  parameter<"w", Dextents<1>> w(r, Dextents<1>(3));
  Tensor<double, Dextents<2>> gx(4, 3);
  Tensor<double, Dextents<1>> gw(3);
  auto const g = grad(sum(square(call(weigh_op{}, *x, *w))), *x, *w);
  auto const want = grad(sum(square(sum<1>(*x * *w))), *x, *w);
  run(plan(into(gx, get<0>(g)), into(gw, get<1>(g))));
  CHECK(oracle::difference(gx, value_of(get<0>(want)), 1e-14) == "");
  CHECK(oracle::difference(gw, value_of(get<1>(want)), 1e-14) == "");
}

TEST_CASE("no gradient passes stop_gradient, and an upstream gradient reaches every element") {
  vector a{{1, 2, 3}};
  auto const p = named<"a">(a);
  auto const g = value_of(grad(sum(p * stop_gradient(square(p))), p));
  auto const up = value_of(grad_with(square(p), vector{{10, 20, 30}}, p));
  auto const all = value_of(grad_with(square(p), 2, p));
  for (int i = 0; i < 3; ++i) {
    CHECK(g[i] == a(i) * a(i));
    CHECK(up[i] == 20 * (i + 1) * a(i));
    CHECK(all[i] == 4 * a(i));
  }
}

// ---- bad input ----
TEST_CASE("a gradient by another tensor than the loss reads is refused, not zero") {
  vector a{{1, 2, 3}}, b{{4, 5, 6}};
  CHECK_THROWS_WITH_AS(static_cast<void>(grad(sum(square(a)), b)),
                       doctest::Contains("another tensor than the one of its type"),
                       placement_error);
  CHECK_THROWS_WITH_AS(static_cast<void>(grad(sum(square(named<"p">(a))), named<"p">(b))),
                       doctest::Contains("two different values"), placement_error);
  CHECK_THROWS_WITH_AS(static_cast<void>(grad(sum(named<"p">(a) * a), named<"p">(a))),
                       doctest::Contains("by its name and without"), placement_error);
  CHECK_THROWS_WITH_AS(static_cast<void>(grad(sum(a * named<"p">(a)), a)),
                       doctest::Contains("by a name or a view"), placement_error);
  auto const part = view<CpuDevice>(a.data(), Extents<2>{});
  CHECK_THROWS_WITH_AS(static_cast<void>(grad(sum(a) * sum(part), a)),
                       doctest::Contains("by a name or a view"), placement_error);
}
TEST_CASE("an operand that stretches without its type saying so is refused") {
  Tensor<double, Dextents<2>> a(2, 3), b(1, 3);
  auto const p = named<"a">(a);
  auto const q = named<"b">(b);
  CHECK_THROWS_WITH_AS(static_cast<void>(grad(sum(p * q), q)),
                       doctest::Contains("extents [1,3] is stretched to [2,3]"), shape_error);
  CHECK_THROWS_AS(static_cast<void>(grad(sum(p * q), p)),
                  shape_error);  // 1 is narrow: q alone says how far
  CHECK_NOTHROW(static_cast<void>(grad(sum(square(p * q)), p)));
  CHECK_NOTHROW(static_cast<void>(grad(sum(p * reshape<1, -1>(q)), q)));
  CHECK_THROWS_WITH_AS(static_cast<void>(grad_with(p, b, p)),
                       doctest::Contains("upstream gradient"), shape_error);
}
namespace {
template <class X, class Y, std::size_t... K>
auto sum_of_products(X const& x, Y const* y, std::index_sequence<K...>) {
  return sum(((x * y[K]) + ...));
}
}  // namespace
TEST_CASE("the adjoint of a value that is read more often than a kernel reads values") {
  constexpr int n = 26;
  Tensor<double, Dextents<1>> x(5), y[n];
  x = iota<double>(x.extents(), 1);
  for (int k = 0; k < n; ++k) y[k] = Tensor<double, Dextents<1>>(iota<double>(x.extents(), k));
  auto const g =
      eval(grad(sum_of_products(named<"x">(x), y, std::make_index_sequence<n>()), named<"x">(x)));
  for (int i = 0; i < 5; ++i) CHECK(g.data()[i] == 325 + 26 * i);
}

TEST_CASE(
    "a gradient that is a constant number has memory of its own, where it is alone and in a view") {
  on_backends([] {
    using Number = Tensor<double, Extents<>>;
    Number b(3.), d(-1.), e(-1.);
    Tensor<double, Dextents<1>> x{1, 2, 3}, dx(3);
    auto const p = named<"b">(b);
    auto const q = named<"q">(x);
    CHECK(fetch(grad(sum(x + p), p)) == 3);
    d = grad(mean(x - p), p);
    CHECK(fetch(d) == -1);
    Number const made = eval(grad(3. * p, p));
    CHECK(fetch(made) == 3);
    run(into(d, grad(3. * p, p)), into(dx, 2. * x));
    CHECK((fetch(d) == 3 && dx(2) == 6));
    auto const both = value_and_grad(sum(x + b), b);
    run(into(d, get<0>(both)), into(e, get<1>(both)));
    CHECK((fetch(d) == 15 && fetch(e) == 3));
    dx = grad(at<0>(q, 1), q);
    CHECK((dx(0) == 0 && dx(1) == 1 && dx(2) == 0));
    dx = grad(at<0>(exp(q), 1), q);
    CHECK((dx(0) == 0 && std::abs(dx(1) - std::exp(2.)) < 1e-12 && dx(2) == 0));
    Tensor<double, Dextents<1>> const one = eval(expand_dims<0>(grad(sum(x + b), b)));
    CHECK((one.size() == 1 && fetch(sum(one)) == 3));
    CHECK(fetch(b - 0.5 * grad(sum(x + p), p)) == 1.5);
  });
}

namespace {
/// the loss of a function that takes its operand as a constant reference
template <class W>
auto variation(W const& w) {
  return sum(square(w)) + sum(square(slice<0, 1, range::to_end>(w) - slice<0, 0, -1>(w)));
}
}  // namespace

TEST_CASE("parts of a constant tensor have a gradient, or are refused: none is left out") {
  Tensor<double, Dextents<1>> w{1, 3, 2}, g(3);
  Tensor<double, Dextents<1>> const& constant = w;
  auto const p = named<"w">(w);
  auto const is = [&](double a, double b, double c) { return g(0) == a && g(1) == b && g(2) == c; };
  g = grad(variation(p), p);
  CHECK(is(-2, 12, 2));
  g = grad(sum(square(slice(constant, {1, 3}))), constant);
  CHECK(is(0, 6, 4));
  g = grad(sum(square(slice(constant, {1, 3}))), w);
  CHECK(is(0, 6, 4));
  g = grad_with(at<0>(constant, 2), 5., w);
  CHECK(is(0, 0, 5));
  // of the named tensor, and of another constant one
  CHECK_THROWS_AS((void)grad(sum(p * p) + sum(slice(constant, {1, 3})), p), placement_error);
  Tensor<double, Dextents<1>> const other{1, 2, 3};
  CHECK_THROWS_AS((void)grad(sum(square(slice(other, {1, 3}))), w), placement_error);
}

TEST_CASE("two losses of one type in one plan are refused until they have names") {
  vector a{{1, 2, 3}}, b{{4, 5, 6}}, ga, gb;
  auto const one = grad(sum(exp(square(a))), a), two = grad(sum(exp(square(b))), b);
  CHECK_THROWS_WITH_AS(run(plan(into(ga, one), into(gb, two))),
                       doctest::Contains("two losses that have the same type"), placement_error);
  run(plan(into(ga, grad(named<"1">(sum(exp(square(a)))), a)),
           into(gb, grad(named<"2">(sum(exp(square(b)))), b))));
  CHECK(gb(0) == doctest::Approx(8 * std::exp(16.0)));
}

}  // namespace grad_test
