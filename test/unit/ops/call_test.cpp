// SPDX-License-Identifier: Apache-2.0
// Called operations: roles of operands and results over replicas, several results of one kernel, what
// has gaps, empty pieces, operations without a GPU's body.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <message_of.hpp>
#include <on_backends.hpp>
#include <replicas.hpp>

#include <sstream>
#include <vector>

namespace call_test {

using namespace locus;

namespace {

using Matrix = Tensor<float, Dextents<2>>;
using Vector = Tensor<float, Dextents<1>>;

/// y = by x w[0], each row by itself
struct scale_op {
  using enum call_role;
  static constexpr call_rule rule{
      .name = "scale", .operands = {rows, whole}, .results = {rows}, .fixed_bits = true};
  float by = 1;
  static constexpr shape infer(int, shape x, shape) { return x; }
  static constexpr std::int64_t operations(shape y, shape, shape) { return 2 * y.size(); }
  void host(call_context const&, tile<float> y, tile<float const> x, tile<float const> w) const {
    for (std::int64_t i = 0; i < x.size(); ++i) y[i] = by * x[i] * w[0];
  }
  template <int Result, class T>
  LOCUS_HOST_DEVICE T element(std::int64_t i, call_context const&, tile<T>, tile<T const> x,
                              tile<T const> w) const {
    return by * x[i] * w[0];
  }
};

/// the sum over all rows, weighted by the number of the row; no body for whole pieces
struct weighted_sums_op {
  static constexpr call_rule rule{
      .name = "weighted_sums", .operands = {call_role::rows}, .results = {call_role::terms}};
  static constexpr shape infer(int, shape x) { return {1, {x.extent[1]}}; }
  template <int Result, class T>
  LOCUS_HOST_DEVICE T element(std::int64_t i, call_context const& here, tile<T>,
                              tile<T const> x) const {
    T s = 0;
    for (std::int64_t r = 0; r < x.extent[0]; ++r)
      s += T(here.first_row + r + 1) / T(here.rows) * x[r * x.extent[1] + i];
    return s;
  }
};

/// dx = w dy, dw = sum of x dy over rows and columns, and how many rows there are at all; its extents
/// depend on a member
struct backward_op {
  static constexpr call_rule rule{.name = "backward",
                                  .operands = {call_role::rows, call_role::rows, call_role::whole},
                                  .results = {call_role::rows, call_role::terms, call_role::whole}};
  std::int64_t slots = 1;
  template <int Result, class... T>
  using result = std::conditional_t<Result == 2, std::int64_t, float>;
  constexpr shape infer(int r, shape x, shape dy, shape) const {
    if (x.rank != 2 || !(x == dy)) return no_shape;
    return r == 0 ? x : r == 1 ? shape{1, {slots}} : shape{};
  }
  template <int Result, class T>
  LOCUS_HOST_DEVICE auto element(std::int64_t i, call_context const& here, auto, tile<T const> x,
                                 tile<T const> dy, tile<T const> w) const {
    if constexpr (Result == 0)
      return w[0] * dy[i];
    else if constexpr (Result == 1) {
      T s = 0;
      for (std::int64_t k = i; k < x.size(); k += slots) s += x[k] * dy[k];
      return s;
    } else
      return here.rows;
  }
};

/// two results with memory, whoever reads them
struct halves_op {
  static constexpr call_rule rule{.name = "halves",
                                  .operands = {call_role::rows},
                                  .results = {call_role::rows, call_role::rows},
                                  .stores_all = true};
  static constexpr shape infer(int, shape x) { return x; }
  void host(call_context const&, tile<float> low, tile<float> high, tile<float const> x) const {
    for (std::int64_t i = 0; i < x.size(); ++i) low[i] = x[i] / 2, high[i] = x[i] - low[i];
  }
};

/// only on a CPU
struct reversed_op {
  static constexpr call_rule rule{
      .name = "reversed", .operands = {call_role::whole}, .results = {call_role::whole}};
  static constexpr shape infer(int, shape x) { return x; }
  template <class T>
  void host(call_context const&, tile<T> y, tile<T const> x) const {
    for (std::int64_t i = 0; i < x.size(); ++i) y[i] = x[x.size() - 1 - i];
  }
};

Matrix counted(std::int64_t n, std::int64_t m, float factor = 1) {
  Matrix x(n, m);
  for (std::int64_t i = 0; i < n * m; ++i) x.data()[i] = factor * float(i % 13 - 5);
  return x;
}

template <class M>
void check_replicas() {
  using Rows = rows_over<M>;
  for (std::int64_t const n : {11, 4, 3, 1, 0}) {
    INFO(M::value.local_count(), " replicas, ", n, " rows");
    Matrix const hx = counted(n, 3), hd = counted(n, 3, .5f);
    Vector hw(1);
    hw.data()[0] = 3;
    Tensor<float, Dextents<2>, Rows> const x(hx), dy(hd);
    Tensor<float, Dextents<2>, Rows> y(n, 3), dx(n, 3);
    Tensor<float, Dextents<1>, M> const w(hw);
    Tensor<float, Dextents<1>, M> s(3), dw(6);

    y = call(scale_op{2}, x, w);
    Matrix const got = to<CpuDevice>(y);
    bool same = true;
    for (std::int64_t i = 0; i < 3 * n; ++i) same = same && got.data()[i] == 6 * hx.data()[i];
    CHECK(same);

    s = call(weighted_sums_op{}, call(scale_op{1}, x, w)) + 1.f;
    double want[3] = {1, 1, 1};
    for (std::int64_t i = 0; i < 3 * n; ++i)
      want[i % 3] += double(i / 3 + 1) / double(n) * 3 * double(hx.data()[i]);
    for (auto const& part : replicas::parts_of(s))
      for (std::size_t i = 0; i < 3; ++i) CHECK(part[i] == doctest::Approx(want[i]).epsilon(1e-5));

    Tensor<std::int64_t, Extents<>, M> rows;
    auto const [a, b, c] = call(backward_op{6}, x, dy, w);
    run(plan(into(dx, a), into(dw, b), into(rows, c)));
    Matrix const got_dx = to<CpuDevice>(dx);
    same = true;
    for (std::int64_t i = 0; i < 3 * n; ++i) same = same && got_dx.data()[i] == 3 * hd.data()[i];
    CHECK(same);
    // a piece begins anew with slot 0: what the sum over slots is does not depend on the cut
    for (auto const& part : replicas::parts_of(dw)) {
      double all = 0, expected = 0;
      for (float const v : part) all += double(v);
      for (std::int64_t i = 0; i < 3 * n; ++i)
        expected += double(hx.data()[i]) * double(hd.data()[i]);
      CHECK(all == doctest::Approx(expected).epsilon(1e-5));
    }
    for (auto const& part : replicas::parts_of(rows)) CHECK(part[0] == n);
  }
}

}  // namespace

TEST_CASE("a call computes on one device, alone and among other steps") {
  on_few_backends([] {
    Matrix const x = counted(5, 3);
    Vector w(1);
    w = full<float>(Extents<1>{}, 3.f);
    Matrix y(5, 3);
    y = call(scale_op{4}, x, w);
    CHECK(y.data()[7] == x.data()[7] * 12);
    auto const on_gpu = eval(on<GpuDevice<0>>(exp(call(scale_op{1}, x * 2.f, w) * 0.f)));
    CHECK(fetch(sum(on_gpu)) == 15);
    Tensor<float, Dextents<2>, GpuDevice<1>> const there(x);
    CHECK(fetch(call(scale_op{1}, there, w))(2, 1) == 3 * x(2, 1));
  });
}

TEST_CASE("an operand of a call that has gaps is copied, a part of whole rows is not") {
  on_few_backends([] {
    Matrix const x = counted(4, 3);
    Vector const w{2.f};
    auto const turned = fetch(call(scale_op{1}, transpose(x), w));
    CHECK(turned(2, 1) == 2 * x(1, 2));
    auto const inner = fetch(call(scale_op{1}, slice(x, all_of, {1, 3}), w));
    CHECK(inner(3, 0) == 2 * x(3, 1));
    auto const outer = fetch(call(scale_op{1}, slice(x, {1, 3}), w));
    CHECK(outer(0, 2) == 2 * x(1, 2));
  });
  using X = Tensor<float, Extents<4, 3>>;
  using W = Tensor<float, Extents<1>>;
  using Turned = decltype(call(scale_op{}, transpose(std::declval<X&>()), std::declval<W&>()));
  using Rows = decltype(call(scale_op{}, slice(std::declval<X&>(), {1, 3}), std::declval<W&>()));
  static_assert(plan_of<Turned>.launches() == 2);
  static_assert(plan_of<Rows>.launches() == 1);
}

TEST_CASE("what a call makes over replicas follows from its roles") {
  using M = Mirrored<GpuDevice<0>, GpuDevice<1>, GpuDevice<2>>;
  using X = Tensor<float, Extents<12, 3>, rows_over<M>>;
  using W = Tensor<float, Extents<1>, M>;
  using S = Tensor<float, Extents<3>>;
  using Y = decltype(call(scale_op{}, std::declval<X&>(), std::declval<W&>()));
  static_assert(plan_of<Y>.result() == rows_over<M>::value);
  static_assert(plan_of<Y>.all_reduces() == 0 && plan_of<Y>.launches() == 1);
  static_assert(plan_of<Y>.flops() == 2 * 36);
  using Sums = decltype(call(weighted_sums_op{}, std::declval<Y>()));
  static_assert(plan_of<Sums, M>.all_reduces() == 1 && plan_of<Sums, M>.bytes_reduced() == 12);
  // scaling waits for the sum, and a mirrored batch needs none
  static_assert(plan_of<decltype(2.f * std::declval<Sums>()), M>.all_reduces() == 1);
  using Whole =
      decltype(call(weighted_sums_op{}, std::declval<Tensor<float, Extents<12, 3>, M>&>()));
  static_assert(plan_of<Whole, M>.all_reduces() == 0 && plan_of<Whole>.result() == M::value);
  // what lies on one device is brought: in pieces, or whole
  using Mixed = decltype(call(backward_op{}, std::declval<X&>(),
                              std::declval<Tensor<float, Extents<12, 3>>&>(), std::declval<S&>()));
  static_assert(plan_of<decltype(result<0>(std::declval<Mixed>()))>.copies() == 6);
  CHECK(plan_of<Sums, M>.explain().view().find("weighted_sums(#2)") != std::string_view::npos);
  CHECK(plan_of<Sums>.why("scale").view() ==
        "scale (#2) runs on sharded<0>(/GPU:0 /GPU:1 /GPU:2): its operands are distributed over "
        "these devices\n");
}

TEST_CASE(
    "replicas of a call agree with one device, with fewer rows than replicas, and with none") {
  on_backends([](backends::machine const& m) {
    if (m.gpus > 0 && m.gpus < 4) return;
    check_replicas<Mirrored<GpuDevice<0>>>();
    check_replicas<Mirrored<GpuDevice<0>, GpuDevice<1>>>();
    check_replicas<Mirrored<GpuDevice<0>, GpuDevice<1>, GpuDevice<2>, GpuDevice<3>>>();
  });
}

TEST_CASE("the results of a call are made by one kernel, and stored where somebody reads them") {
  using X = Tensor<float, Extents<12, 3>>;
  using C = decltype(call(backward_op{}, std::declval<X&>(), std::declval<X&>(),
                          std::declval<Tensor<float, Extents<1>>&>()));
  using First = decltype(result<0>(std::declval<C>()));
  using Second = decltype(result<1>(std::declval<C>()));
  using Both = decltype(result<0>(std::declval<C>()) * result<1>(std::declval<C>()));
  static_assert(plan_of<First>.launches() == 1 && plan_of<Second>.launches() == 1);
  static_assert(plan_of<Both>.launches() == 2);
  static_assert(std::is_same_v<decltype(result<2>(std::declval<C>()))::value_type, std::int64_t>);
  on_few_backends([] {
    Matrix const x = counted(4, 3);
    Vector const w{2.f};
    auto const dw = fetch(result<1>(call(backward_op{1}, x, x, w)));
    CHECK(dw(0) == fetch(sum(square(x))));
    auto const a = call_as<"a">(backward_op{1}, x, x, w);
    auto const b = call_as<"b">(backward_op{1}, x, 2.f * x, w);
    CHECK(fetch(result<1>(a) + result<1>(b))(0) == 3 * dw(0));
    CHECK(fetch(result<0>(a))(1, 1) == 2 * x(1, 1));
    CHECK(fetch(result<1>(call(halves_op{}, x)))(1, 1) == x(1, 1) / 2);
    // a name and a let keep all results
    auto const [dx, dv, rows] = named<"named">(call(backward_op{1}, x, x, w));
    CHECK(fetch(dx)(1, 1) == 2 * x(1, 1));
    CHECK(fetch(dv)(0) == dw(0));
    CHECK(fetch(let(call(backward_op{1}, x, x, w), [](auto const& c) { return result<1>(c); }))(
              0) == dw(0));
  });
}

TEST_CASE("a call without a GPU's body runs on the CPU, visibly") {
  using M = Mirrored<GpuDevice<0>, GpuDevice<1>>;
  using G = Tensor<float, Extents<6>, GpuDevice<0>>;
  using E = decltype(call(reversed_op{}, std::declval<G&>()));
  static_assert(plan_of<E>.fallbacks() == 1 && plan_of<E>.copies() == 1);
  CHECK(plan_of<E>.why("reversed").view() ==
        "reversed (#1) runs on /CPU:0: it has no GPU kernel for its element types\n");
  on_few_backends([] {
    Vector x(6);
    x = cast<float>(iota<std::int64_t>(Extents<6>{}));
    Tensor<float, Dextents<1>, GpuDevice<0>> const there(x);
    CHECK(fetch(call(reversed_op{}, there))(0) == 5);
    Tensor<float, Dextents<1>, M> const both(x);
    CHECK(fetch(call(reversed_op{}, both))(5) == 0);
  });
}

TEST_CASE("a call says which extents do not fit, and which bits it promises") {
  Matrix const x = counted(4, 3), y = counted(4, 2);
  Vector const w{2.f};
  CHECK(message_of<shape_error>([&] { (void)eval(result<1>(call(backward_op{}, x, y, w))); }) ==
        "locus: the shapes of the operands of 'backward' (step 3) do not fit: [4,3] and [4,2] and "
        "[1]; reshape or slice one of them");
  using Y = decltype(call(scale_op{}, x, w));
  static_assert(plan_of<Y, nowhere, reproducible<>>.launches() == 1);
}

}  // namespace call_test
