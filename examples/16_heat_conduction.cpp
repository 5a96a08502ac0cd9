// SPDX-License-Identifier: Apache-2.0
// The mini-application TeaLeaf: heat flows through a plate of two materials, by implicit steps in time, each solved by
// one of four methods (heat_conduction.hpp). Then the same program runs with the field in pieces on four GPUs, which
// are simulated here so that it prints the same everywhere; the type of the field is all that differs.
//     16_heat_conduction [cells on a side] [steps] [cg | chebyshev | ppcg | jacobi]
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <optional>
#include <unistd.h>

#include "heat_conduction.hpp"
#include <locus/testing/count.hpp>
#include <locus/testing/simulated_gpus.hpp>

using heat::method;

struct choice {
  char const* name;
  method value;
};
constexpr choice methods[] = {{"cg", method::conjugate_gradients},
                              {"chebyshev", method::chebyshev},
                              {"ppcg", method::ppcg},
                              {"jacobi", method::jacobi}};

/// TeaLeaf's own check: the temperature that its table of problems gives
struct problem {
  std::int64_t cells;
  int steps;
  double temperature;
};
constexpr problem table[] = {{10, 10, 1.5755084183279294e+02},
                             {64, 1, 1.084697720003111e+02},
                             {250, 10, 1.0627221178646569e+02},
                             {512, 20, 1.034697091898282e+02},
                             {1000, 2, 9.161051549004094e+01}};
bool agrees(heat::settings const& s, int steps, double temperature) {
  for (problem const& p : table)
    if (p.cells == s.cells && p.steps == steps)
      return std::fabs(temperature / p.temperature - 1) < 1e-5;
  return true;  // not in the table
}

/// means: the steps on the devices of Where     returns: the temperature; nothing, where a step did not converge
template <class Where>
std::optional<double> run(heat::settings const& s, int steps, choice const& by) {
  heat::conduction<Where> plate(s);
  int iterations = 0;
  bool converged = true;
  locus::tally const done = locus::testing::count([&] {
    for (int k = 0; k < steps; ++k) {
      heat::ending const end = plate.step(by.value);
      iterations += end.iterations;
      converged = converged && end.converged;
      if (isatty(STDOUT_FILENO))
        std::printf("\r%s: step %d of %d   ", by.name, k + 1, steps), std::fflush(stdout);
    }
  });
  double const temperature = plate.temperature();
  std::cout.precision(7);
  std::cout << (isatty(STDOUT_FILENO) ? "\r" : "") << by.name << " on " << heat::field<Where>::where
            << ": " << (converged ? "converged" : "DID NOT CONVERGE") << " after " << iterations
            << " iterations, " << done.launches << " launches, temperature "
            << std::round(temperature * 1e4) / 1e4 << std::endl;
  if (!converged) return std::nullopt;
  return temperature;
}

int main(int arguments, char** values) {
  heat::settings s;
  s.cells =
      arguments > 1 ? std::atoll(values[1]) : 64;  // one step of 64^2 cells is in TeaLeaf's table
  int const steps = arguments > 2 ? std::atoi(values[2]) : 1;
  if (s.cells < 4 || s.cells > 16384 || steps < 1) {
    std::fprintf(
        stderr,
        "usage: 16_heat_conduction [cells, 4 to 16384] [steps] [cg | chebyshev | ppcg | jacobi]\n");
    return 2;
  }
  bool right = true, known = arguments <= 3;
  for (choice const& m : methods) {
    if (arguments > 3 && std::strcmp(values[3], m.name) != 0) continue;
    known = true;
    auto const one = run<locus::CpuDevice>(s, steps, m);
    right = right && one && agrees(s, steps, *one);
  }
  if (!known) {
    std::fprintf(stderr, "no method %s: write cg, chebyshev, ppcg or jacobi\n", values[3]);
    return 2;
  }
  std::cout << "TeaLeaf's check: " << (right ? "passed" : "FAILED") << std::endl;
  if (arguments <= 3) {
    using namespace locus;
    testing::simulated_gpus const node{4};
    using Four = Sharded<0, GpuDevice<0>, GpuDevice<1>, GpuDevice<2>, GpuDevice<3>, Halo<1>>;
    auto const four = run<Four>(s, steps, methods[0]);
    right = right && four && agrees(s, steps, *four);
  }
  return right ? 0 : 1;
  // prints:
  // cg on /CPU:0: converged after <#> iterations, <#> launches, temperature 108.4698
  // chebyshev on /CPU:0: converged after <#> iterations, <#> launches, temperature 108.4698
  // ppcg on /CPU:0: converged after <#> iterations, <#> launches, temperature 108.4698
  // jacobi on /CPU:0: converged after <#> iterations, <#> launches, temperature 108.4698
  // TeaLeaf's check: passed
  // cg on sharded<0>(/GPU:0 /GPU:1 /GPU:2 /GPU:3): converged after <#> iterations, <#> launches, temperature 108.4698
}
