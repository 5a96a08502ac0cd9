// SPDX-License-Identifier: Apache-2.0
// Whole solvers over ranks: equal iterations, and the bits of one process with as many replicas.
#include <locus/locus.hpp>

#include "../../../examples/heat_conduction.hpp"
#include "on_ranks.hpp"

namespace programs_test {

using namespace rank_tests;

namespace {

/// one implicit step of heat conduction by each of its four methods
template <class List>
doubles solve() {
  config::set_reduction_order(reduction_order::ranked);
  doubles out;
  heat::settings s;
  s.cells = 64;
  for (heat::method const m : {heat::method::conjugate_gradients, heat::method::chebyshev,
                               heat::method::ppcg, heat::method::jacobi}) {
    heat::conduction<Sharded<0, List, Halo<1>>> plate(s);
    heat::ending const end = plate.step(m);
    out.push_back(end.iterations), out.push_back(end.converged);
    out.push_back(plate.temperature());
  }
  return out;
}

}  // namespace

TEST_CASE("CG, Chebyshev, PPCG and Jacobi over ranks have the bits of one process") {
  auto const one = testing::on_ranks(1, solve<AllGpus>, {.gpus = {4}});
  REQUIRE(one[0].error == "");
  for (std::size_t k = 0; k < one[0].numbers.size(); k += 3) {
    CHECK(one[0].numbers[k] > 20);
    CHECK(one[0].numbers[k + 1] == 1);
    CHECK(one[0].numbers[k + 2] == doctest::Approx(108.4697720003111).epsilon(1e-5));
  }
  for (auto const& layout : {std::vector<int>{2, 2}, {1, 1, 1, 1}, {3, 1}, {0, 0, 0, 0}})
    for (testing::rank_end const& e :
         testing::on_ranks(int(layout.size()), solve<Ranks<AllGpus>>, {.gpus = layout})) {
      INFO(written(layout));
      REQUIRE(e.error == "");
      CHECK(e.numbers == one[0].numbers);
    }
}

}  // namespace programs_test
