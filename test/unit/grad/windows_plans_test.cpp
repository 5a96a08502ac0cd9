// SPDX-License-Identifier: Apache-2.0
// Gradients through stencils over pieces, in programs: descent in place, lists in any order, plans whose
// counts are constants, other ranks, second derivatives.
#define LOCUS_CUDA_KERNELS 1
#include <on_backends.hpp>

#include "stencils.hpp"

namespace windows_plans_test {

using namespace locus;
using namespace stencils;

namespace {

/// a functor of a program, with a derivative that reads its operand
struct cubed {
  LOCUS_OPERATION("cubed", on_both)
  template <class T>
  LOCUS_HOST_DEVICE T operator()(T v) const {
    return v * v * v;
  }
  template <class Y, class X>
  auto derivative(Y const&, X const& x) const {
    return typename X::value_type(3) * square(x);
  }
};
/// means: slope(u) over pieces has the bits of slope(u) on the host, or is as near as that
template <class Pieces, class T, class E, class Slope>
void compare_slopes(Tensor<T, E> const& u, Slope const& slope, double near = 0) {
  Tensor<T, E> const one = let(u, slope);
  Pieces const a(u);
  Pieces out(u);
  let(a, [&](auto v) { out = slope(v); });
  Tensor<T, E> const all(out);
  REQUIRE(all.size() == one.size());
  for (std::int64_t i = 0; i < one.size(); ++i)
    REQUIRE(std::abs(double(all.data()[i]) - double(one.data()[i])) <= near);
}

template <class T, std::int64_t N, std::int64_t M, class... Devices>
using Fixed = Tensor<T, Extents<N, M>, Sharded<0, Devices...>>;

/// means: one step of gradient descent in the memory of u, and the loss before
template <class Program, class U, class T>
double descend(U& u, T const& t) {
  double before = 0;
  let(u, [&](auto v) {
    auto const [loss, slope] = value_and_grad(Program::loss(v, t), v);
    before = double(fetch(loss));
    u = v - typename U::value_type(0.0625) * slope;
  });
  return before;
}
template <class Program, class Cut>
void descend_on(std::int64_t n, std::int64_t m, unsigned seed) {
  using T = typename Cut::value_type;
  Grid<T> u = draw<T>(n, m, seed), t = draw<T>(n, m, seed + 1);
  Cut a, b;
  if constexpr (!Cut::extents_type::pattern.is_static()) a = Cut(n, m), b = Cut(n, m);
  a = u, b = t;
  for (int k = 0; k < 3; ++k) {
    double const one = descend<Program>(u, t), all = descend<Program>(a, b);
    CHECK(std::abs(one - all) < 1e-5 * (1 + std::abs(one)));
    CHECK(same_bits(Grid<T>(a), u));
  }
}

}  // namespace

TEST_CASE("descent in place, over lists in any order, balanced pieces, static extents") {
  testing::simulated_gpus const gpus(4);
  using rule = Halo<2, beyond::zero>;
  using Three =
      Tensor<double, Dextents<2>, Sharded<0, GpuDevice<2>, GpuDevice<0>, GpuDevice<1>, rule>>;
  using Even = Tensor<float, Dextents<2>,
                      Sharded<0, Balanced, GpuDevice<0>, GpuDevice<3>, GpuDevice<1>, rule>>;
  for (std::int64_t n : {2, 5, 7, 10}) {
    descend_on<second_difference, Three>(n, 5, unsigned(n));
    descend_on<five_points, Three>(n, 6, unsigned(n));
    descend_on<five_points, Even>(n, 3, unsigned(n));
  }
  descend_on<second_difference, Fixed<float, 9, 4, GpuDevice<0>, GpuDevice<1>, rule>>(9, 4, 1);
  descend_on<five_points, Fixed<double, 10, 5, GpuDevice<3>, GpuDevice<1>, rule>>(10, 5, 2);
}

TEST_CASE("constants: one kernel, one exchange for each tensor with a name") {
  testing::simulated_gpus const gpus(2);
  using Small = Fixed<float, 8, 4, GpuDevice<0>, GpuDevice<1>, Halo<2, beyond::zero>>;
  Small x, y, out;
  x = uniform<float>(Extents<8, 4>{}, seed{1}), y = uniform<float>(Extents<8, 4>{}, seed{2});
  auto const u = named<"u">(x);
  auto const t = named<"t">(y);
  auto const step =
      plan(into(out, grad(sum(square(shift<0, 1>(u) + shift<0, -1>(u) - 2.f * u - t)), u)));
  static_assert(step.launches() == 1 && step.halo_exchanges() == 2 && step.fallbacks() == 0);
  static_assert(step.copies() == 4 && step.bytes_moved() == (2 + 2 + 1 + 1) * 4 * 4);
  static_assert(step.all_reduces() == 0);
  tally const done = testing::count([&] { run(step); });
  CHECK(done.halo_exchanges == 2);
  CHECK(done.launches == 1);
  // what the margins of u hold is not brought again
  CHECK(testing::count([&] { run(step); }).reused == 4);

  // of one window the adjoint is read once: no row of u travels
  auto const linear = plan(into(out, grad_with(shift<0, 1>(u) * 3.f, y, u)));
  static_assert(linear.launches() == 1 && linear.halo_exchanges() == 1 && linear.copies() == 1);
}

TEST_CASE("an adjoint in a tensor of its own needs margins as wide as the stencil") {
  for (int const gpus : {1, 3}) {
    testing::simulated_gpus const machine(gpus);
    using Rows = Tensor<double, Dextents<2>, Sharded<0, AllGpus, Halo<1>>>;
    auto const stencil = [](auto const& v) {
      return interior<1, 1, 0>(v) + 3. * interior<1, -1, 0>(v) - 2. * interior<1>(v);
    };
    auto const from = draw<double>(11, 4, 1), target = draw<double>(11, 4, 2);
    auto const slope = [&](auto const& u, auto const& t, auto& g, auto& out) {
      let(u, [&](auto v) {
        run(into(interior<1>(g), 2. * (stencil(v) - interior<1>(t))));
        let(g, [&](auto h) { out = grad_with(stencil(v), interior<1>(h), v); });
      });
    };
    Grid<double> g(target), out(target);
    Rows const a(from), b(target);
    Rows adjoint(target), all(target);
    slope(from, target, g, out);
    slope(a, b, adjoint, all);
    CHECK(same_bits(Grid<double>(all), out));
  }
}

TEST_CASE("gradients by the other tensors of a stencil, in pieces and mirrored") {
  testing::simulated_gpus const machine(3);
  using Rows = Tensor<double, Dextents<2>, Sharded<0, AllGpus, Halo<2, beyond::zero>>>;
  auto const from = draw<double>(10, 4, 1), target = draw<double>(10, 4, 2);
  Tensor<double, Dextents<1>> const weight(uniform<double>(dextents<1>{4}, seed{3}));
  auto const slopes = [](auto const& u, auto const& t, auto const& w, auto& by_u, auto& by_t,
                         auto& by_w) {
    auto const x = named<"x">(u);
    auto const y = named<"y">(t);
    auto const loss = sum(square(shift<0, 1, beyond::zero>(x) * w - shift<0, -1, beyond::zero>(y)));
    auto const [gx, gy, gw] = grad(loss, x, y, w);
    run(into(by_u, gx), into(by_t, gy), into(by_w, gw));
  };
  Grid<double> one(from), two(from);
  Tensor<double, Dextents<1>> three(weight);
  slopes(from, target, weight, one, two, three);
  Rows const a(from), b(target);
  Rows by_a(from), by_b(from);
  Tensor<double, Dextents<1>, Mirrored<AllGpus>> const w(weight);
  Tensor<double, Dextents<1>, Mirrored<AllGpus>> by_w(weight);
  slopes(a, b, w, by_a, by_b, by_w);
  CHECK(same_bits(Grid<double>(by_a), one));
  CHECK(same_bits(Grid<double>(by_b), two));
  Tensor<double, Dextents<1>> const got(by_w);
  for (int j = 0; j < 4; ++j) CHECK(std::abs(got(j) - three(j)) < 1e-13 * (1 + std::abs(three(j))));
}

TEST_CASE("vectors, volumes, lets, functors, narrow adjoints, second derivatives") {
  testing::simulated_gpus const machine(3);
  using zero = Sharded<0, AllGpus, Halo<4, beyond::zero>>;
  Tensor<double, Dextents<1>> const line(uniform<double>(dextents<1>{13}, seed{1}));
  auto const next = [](auto const& v) { return shift<0, 1, beyond::zero>(v); };
  auto const on_line = [&](auto const& slope) {
    compare_slopes<Tensor<double, Dextents<1>, zero>>(line, slope);
  };
  on_line([&](auto v) { return grad(sum(next(v)), v); });
  on_line([&](auto v) { return grad(mean(slice<0, 2, range::to_end>(v)), v); });
  on_line([&](auto v) { return grad(sum(map(cubed{}, next(v) - v)), v); });
  on_line(
      [&](auto v) { return grad(let(next(v) * v, [](auto d) { return sum(exp(d) * d); }), v); });
  // a second derivative adds its terms in another order
  auto const second = [&](auto v) {
    return grad(sum(square(grad(sum(map(cubed{}, next(v) - v)), v))), v);
  };
  compare_slopes<Tensor<double, Dextents<1>, zero>>(line, second, 1e-13);
  using Bare = Tensor<double, Dextents<1>, Sharded<0, AllGpus>>;  // no row is read at a distance
  compare_slopes<Bare>(line, [](auto v) { return grad(sum(square(slice<0, 1, -1>(v))), v); });

  Tensor<float, Extents<7, 4, 5>> const volume(uniform<float>(Extents<7, 4, 5>{}, seed{2}));
  using Volume = Tensor<float, Extents<7, 4, 5>, Sharded<0, AllGpus, Halo<2>>>;
  compare_slopes<Volume>(volume, [](auto v) {
    auto const around =
        interior<1, 1, 0, 0>(v) + interior<1, 0, -1, 0>(v) + interior<1, 0, 0, 1>(v);
    return grad(sum(square(around - 3.f * interior<1>(v))), v);
  });
  compare_slopes<Volume>(volume, [](auto v) {
    auto const rows = sum<2>(interior<1, 1, 0, 0>(v) * interior<1, -1, 0, 0>(v));
    return grad(sum(square(rows)), v);
  });
}

}  // namespace windows_plans_test
