// SPDX-License-Identifier: Apache-2.0
// The solvers of examples/heat_conduction.hpp: on the host and in pieces on four GPUs they take as many
// iterations, and their solutions are those of the equations, computed in long double.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>

#include <locus/testing/count.hpp>
#include <message_of.hpp>
#include <string>
#include <worst_of.hpp>

#include "../../../examples/heat_conduction.hpp"

namespace conduction_test {

using namespace locus;
using heat::method, heat::settings, heat::ending;

namespace {

constexpr method methods[] = {method::conjugate_gradients, method::chebyshev, method::ppcg,
                              method::jacobi};
using Four = Sharded<0, GpuDevice<0>, GpuDevice<1>, GpuDevice<2>, GpuDevice<3>, Halo<1>>;
using wide = long double;

/// the largest element of u0 - A u over that of u0, by a loop
template <class Where>
double residual(heat::conduction<Where> const& plate, settings const& s) {
  Tensor<double, Dextents<2>> const u(plate.solution()), d(plate.density()), e(plate.energy());
  std::int64_t const n = s.cells;
  wide const h = wide(10) / wide(n), ratio = wide(s.step) / (h * h);
  wide worst = 0, most = 0;
  for (std::int64_t j = 1; j <= n; ++j)
    for (std::int64_t i = 1; i <= n; ++i) {
      wide left = wide(d(j, i)) * wide(e(j, i));
      most = std::max(most, std::fabs(left));
      left -= wide(u(j, i));
      std::int64_t const beside[4][2] = {{j, i - 1}, {j, i + 1}, {j - 1, i}, {j + 1, i}};
      for (auto const& [y, x] : beside) {
        if (x < 1 || x > n || y < 1 || y > n) continue;
        wide const a = d(j, i), b = d(y, x);
        left -= ratio * (a + b) / (2 * a * b) * (wide(u(j, i)) - wide(u(y, x)));
      }
      worst = worst_of(worst, std::fabs(left));
    }
  return double(worst / most);
}

void check_pieces(settings const& s) {
  for (method const m : methods) {
    CAPTURE(int(m));
    heat::conduction<> here(s);
    heat::conduction<Four> there(s);
    ending const one = here.solve(m);
    ending other;
    tally const done = testing::count([&] { other = there.solve(m); });
    CHECK(done.fallbacks == 0);
    CHECK(one.converged);
    CHECK(other.converged);
    CHECK(other.iterations == one.iterations);
    CHECK(other.inner == one.inner);
    // each stencil owes rows of x and of the conductivity
    int const stencils = m == method::ppcg ? other.iterations + other.inner : other.iterations;
    CHECK(done.halo_exchanges >= 2 * stencils);
    CHECK(done.halo_exchanges <= 2 * (stencils + 2));
    CHECK(residual(here, s) < 1e-7);
    CHECK(residual(there, s) < 1e-7);
    CHECK(std::fabs(there.temperature() / here.temperature() - 1) < 1e-12);
  }
}

}  // namespace

TEST_CASE("heat flows alike on the host and in pieces on four GPUs") {
  settings s;
  s.first = 8, s.inner = 3;
  for (std::int64_t const n : {13, 22}) {
    s.cells = n;
    for (backends::kind const how : {backends::kind::simulated, backends::kind::recorded})
      backends::run_on({how, 4, 6}, [&] { check_pieces(s); });
  }
}

TEST_CASE("TeaLeaf's own check holds for each method") {
  settings s;
  s.cells = 64;
  for (method const m : methods) {
    heat::conduction<> plate(s);
    CHECK(plate.step(m).converged);
    CHECK(plate.temperature() == doctest::Approx(1.084697720003111e+02).epsilon(1e-7));
  }
}

TEST_CASE("settings without a meaning are refused") {
  auto const refuses = [](auto const& change, std::string const& what) {
    settings s;
    change(s);
    CHECK(message_of<std::invalid_argument>([&] { heat::conduction<> const plate(s); }) == what);
  };
  refuses([](settings& s) { s.cells = 0; }, "heat: cells is 1 to 2^20");
  refuses([](settings& s) { s.step = -1; }, "heat: step and tolerance are above 0");
  refuses([](settings& s) { s.tolerance = std::nan(""); }, "heat: step and tolerance are above 0");
  refuses([](settings& s) { s.first = 0; }, "heat: most, first and inner are 1 or more");
}

TEST_CASE("a method that may not iterate long enough says so") {
  settings s;
  s.cells = 32, s.most = 5;
  for (method const m : methods) {
    heat::conduction<> plate(s);
    ending const end = plate.step(m);
    CHECK_FALSE(end.converged);
    CHECK(end.iterations == 5);
    CHECK(end.error > s.tolerance);
  }
}

}  // namespace conduction_test
