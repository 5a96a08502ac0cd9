// SPDX-License-Identifier: Apache-2.0
// Stencils over pieces on four cards, and parts of arrays with one axis less: the kernels read the margins that copies between cards filled, and the bits are
// those of one device. The machine reports each access to memory that a copy has not written yet.
#include <locus/cuda.cuh>

#include <doctest/doctest.h>

#include <cstring>

#include <locus/algorithms/shift.hpp>
#include <locus/grad/grad.hpp>
#include <locus/tensor/column_major.hpp>
#include <locus/testing/count.hpp>

using namespace locus;

namespace {

template <class T, class Where = CpuDevice>
using Grid = Tensor<T, Dextents<2>, Where>;
template <class... More>
using Four = Sharded<0, GpuDevice<0>, GpuDevice<1>, GpuDevice<2>, GpuDevice<3>, More...>;

template <class T>
Grid<T> draw(std::int64_t rows, std::int64_t columns, unsigned seed) {
  return Grid<T>(uniform<T>(dextents<2>{rows, columns}, locus::seed{seed}, T(-1), T(1)));
}
template <class A, class B>
bool same_bits(A const& a, B const& b) {
  auto const x = to<CpuDevice>(a), y = to<CpuDevice>(b);
  return x.size() == y.size() &&
         std::memcmp(x.data(), y.data(), std::size_t(x.size()) * sizeof(*x.data())) == 0;
}
template <class X>
tally jacobi(X const& x, X& next) {
  using T = typename X::value_type;
  return testing::count([&] {
    let(x, [&](auto u) {
      run(into(interior<1>(next), T(0.25) * (interior<1, -1, 0>(u) + interior<1, 1, 0>(u) +
                                             interior<1, 0, -1>(u) + interior<1, 0, 1>(u))));
    });
  });
}

/// means: the gradient of a squared stencil of windows, whose ends no rule fills
struct slope_by_windows {
  template <class X>
  void operator()(X const& x, X& slope) const {
    using T = typename X::value_type;
    let(x, [&](auto u) {
      auto const inside = interior<1, -1, 0>(u) + interior<1, 1, 0>(u) - T(2) * interior<1>(u);
      slope = grad(sum(square(inside)), u);
    });
  }
};
/// means: that of shifts
struct slope_by_shifts {
  template <class X>
  void operator()(X const& x, X& slope) const {
    let(x, [&](auto u) {
      auto const whole = shift<0, 1, beyond::zero>(u) - shift<0, -1, beyond::zero>(u);
      slope = grad(sum(square(whole - u)), u);
    });
  }
};
template <class Halo, class Slope>
void compare_slopes(Slope const& slope) {
  for (auto const& [rows, columns] : {std::pair{32, 9}, std::pair{13, 4}, std::pair{6, 5}}) {
    auto const from = draw<float>(rows, columns, 3);
    Grid<float> a(from);
    Grid<float, GpuDevice<0>> const one(from);
    Grid<float, GpuDevice<0>> b(from);
    Grid<float, Four<Halo>> const four(from);
    Grid<float, Four<Halo>> c(from);
    slope(from, a), slope(one, b), slope(four, c);
    CHECK(same_bits(a, b));
    CHECK(same_bits(a, c));
  }
}

}  // namespace

TEST_CASE_TEMPLATE("Jacobi on four cards has the bits of one card and of the host", T, float,
                   double) {
  REQUIRE(config::list_logical_devices("GPU").size() == 4);
  for (auto const& [rows, columns] : {std::pair{64, 33}, std::pair{13, 256}, std::pair{6, 5}}) {
    auto const from = draw<T>(rows, columns, 1);
    Grid<T> a(from), b(from);
    Grid<T, GpuDevice<0>> c(from), d(from);
    Grid<T, Four<Halo<1>>> x(from), y(from);
    for (int k = 0; k < 6; ++k) {
      jacobi(a, b), jacobi(c, d);
      tally const done = jacobi(x, y);
      CHECK(done.launches == 1);
      CHECK(done.fallbacks == 0);
      CHECK(done.halo_exchanges == 1);
      if (rows == 64) CHECK(done.copies == 6);
      if (rows == 64) CHECK(done.bytes_moved == std::int64_t(6 * 33 * sizeof(T)));
      swap(a, b), swap(c, d), swap(x, y);
    }
    CHECK(same_bits(x, a));
    CHECK(same_bits(c, a));
  }
}

TEST_CASE("a wave of two tensors, a fold behind a stencil, rings") {
  REQUIRE(config::list_logical_devices("GPU").size() == 4);
  auto const from = draw<float>(37, 20, 2), before = draw<float>(37, 20, 3);
  auto const wave = [](auto const& x, auto const& was, auto& next) {
    let(x, [&](auto u) {
      auto const around = interior<2, -2, 0>(u) + interior<2, 2, 0>(u) + interior<2, 0, -1>(u) +
                          interior<2, 0, 1>(u) - 4.f * interior<2>(u);
      run(into(interior<2>(next), 2.f * interior<2>(u) - interior<2>(was) + 0.1f * around));
    });
  };
  Grid<float, GpuDevice<0>> a(from), b(before), c(from);  // a card may fuse products into sums
  Grid<float, Four<Halo<2>>> x(from), y(before), z(from);
  for (int k = 0; k < 4; ++k) {
    wave(a, b, c), wave(x, y, z);
    swap(b, c), swap(a, b), swap(y, z), swap(x, y);
  }
  CHECK(same_bits(x, a));
  float const here = fetch(max(abs(interior<1, 1, 0>(a) - interior<1, -1, 0>(a)))),
              there = fetch(max(abs(interior<1, 1, 0>(x) - interior<1, -1, 0>(x))));
  CHECK(here == there);

  Grid<float, Four<Halo<2, beyond::wrap>>> ring(from), to(from);
  Grid<float> line(from);
  to = shift<0, 1>(ring) - shift<0, -2>(ring);
  line = shift<0, 1, beyond::wrap>(from) - shift<0, -2, beyond::wrap>(from);
  CHECK(same_bits(to, line));
  Grid<float, Four<Halo<1, beyond::zero>>> plate(from), next(from);
  next = shift<0, 1>(plate) + shift<0, -1>(plate);
  line = shift<0, 1, beyond::zero>(from) + shift<0, -1, beyond::zero>(from);
  CHECK(same_bits(next, line));
}

TEST_CASE("margins that are valid travel no more") {
  auto const from = draw<float>(40, 8, 4);
  Grid<float> a(from), b(from);
  Grid<float, Four<Halo<1>>> x(from), y(from);
  jacobi(a, b);
  CHECK(jacobi(x, y).copies == 6);
  tally const again = jacobi(x, y);
  CHECK(again.copies == 0);
  CHECK(again.reused == 6);
  CHECK(same_bits(y, b));
  x = from * 1.f;
  CHECK(jacobi(x, y).copies == 6);
  CHECK(same_bits(y, b));
}

TEST_CASE("rows, columns and arrays stored columns first have the bits of the host") {
  auto const from = draw<float>(45, 70, 5);
  auto const work = [](auto& m, auto& c) {  // statements of rows and columns, read and written
    row_at(m, 3) = row_at(m, -1) * 2.f + row_at(m, 0);
    column_at(m, 69) = column_at(m, 0) - column_at(m, 7);
    c = c * 2.f - m;
    row_at(c, 44) = row_at(m, 1);
  };
  Grid<float> m(from);
  Grid<float, GpuDevice<0>> on_card(from);
  ColumnMajor<float, Dextents<2>> c(from);
  ColumnMajor<float, Dextents<2>, GpuDevice<0>> c_on_card(from);
  work(m, c);
  tally const done = testing::count([&] { work(on_card, c_on_card); });
  CHECK(done.fallbacks == 0);
  CHECK(done.copies == 0);
  CHECK(same_bits(on_card, m));
  CHECK(same_bits(c_on_card, c));
  CHECK(fetch(max(row_at(c_on_card, 2))) == fetch(max(row_at(c, 2))));
  Grid<float, Four<>> pieces(from);
  column_at(pieces, 2) = column_at(pieces, 3) + 1.f;
  Grid<float> whole(from);
  column_at(whole, 2) = column_at(whole, 3) + 1.f;
  CHECK(same_bits(pieces, whole));
}

TEST_CASE("a wave in three axes has the same bits on one card and on four") {
  Dextents<3> const e(17, 9, 40);
  Tensor<double, Dextents<3>> u = uniform<double>(e, locus::seed{5}, -1., 1.),
                              before = uniform<double>(e, locus::seed{6}, -1., 1.), v(u);
  Tensor<double, Dextents<3>, GpuDevice<0>> const a(u), b(before);
  Tensor<double, Dextents<3>, GpuDevice<0>> c(u);
  Tensor<double, Dextents<3>, Four<Halo<1>>> const x(u), y(before);
  Tensor<double, Dextents<3>, Four<Halo<1>>> z(u);
  auto const step = [](auto const& now, auto const& was, auto& next) {
    run(into(interior<1>(next), 2. * interior<1>(now) - interior<1>(was) +
                                    .1 * (interior<1, -1, 0, 0>(now) + interior<1, 1, 0, 0>(now) +
                                          interior<1, 0, -1, 0>(now) + interior<1, 0, 1, 0>(now) +
                                          interior<1, 0, 0, -1>(now) + interior<1, 0, 0, 1>(now) -
                                          6. * interior<1>(now))));
  };
  step(u, before, v);
  for (tally const& done :
       {testing::count([&] { step(a, b, c); }), testing::count([&] { step(x, y, z); })}) {
    CHECK(done.launches == 1);
    CHECK(done.fallbacks == 0);
  }
  // the card multiplies and adds in one step
  CHECK(all_close(v, Tensor<double, Dextents<3>>(c), 1e-14, 1e-14));
  CHECK(same_bits(c, z));
}

TEST_CASE("gradients of stencils on four cards have the bits of one card and of the host") {
  compare_slopes<Halo<2>>(slope_by_windows{});
  compare_slopes<Halo<2, beyond::zero>>(slope_by_shifts{});
}
