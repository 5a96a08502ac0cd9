// SPDX-License-Identifier: Apache-2.0
// Halos between ranks: stencils over pieces of several ranks have the bits of one device, for every
// rule at the ends; unchanged rows are not sent again; a rank whose margins are old is heard.
#include <locus/algorithms/shift.hpp>
#include <locus/locus.hpp>
#include <locus/tensor/ranks.hpp>

#include "on_ranks.hpp"

namespace halos_test {

using namespace rank_tests;

namespace {

template <class List, beyond Outside>
void stencils(doubles& out) {
  using Rows = Sharded<0, List, Halo<2, Outside>>;
  std::int64_t const n = 13, m = 5;
  Tensor<double, Dextents<2>> a(uniform<double>(dextents<2>(n, m), seed{1}));
  Tensor<double, Dextents<2>, Rows> u(a), v(a);
  for (int k = 0; k < 3; ++k) {
    v = 0.25 * (shift<0, -1, Outside>(u) + shift<0, 2, Outside>(u) + u) +
        0.1 * shift<1, 1, beyond::keep>(u);
    u = v - 0.5 * shift<0, 1, Outside>(v);
  }
  put(out, u);
  put(out, max(abs(u - shift<0, 1, Outside>(u))));
  // a plate: the rim stays
  using Plate = Tensor<double, Dextents<2>, Sharded<0, List, Halo<1>>>;
  Plate now(a), next(a);
  for (int k = 0; k < 3; ++k) {
    run(into(interior<1>(next), 0.25 * (interior<1, -1, 0>(now) + interior<1, 1, 0>(now) +
                                        interior<1, 0, -1>(now) + interior<1, 0, 1>(now))));
    swap(now, next);
  }
  put(out, now);
}

template <class List>
doubles all_stencils() {
  doubles out;
  stencils<List, beyond::wrap>(out);
  stencils<List, beyond::keep>(out);
  stencils<List, beyond::zero>(out);
  return out;
}

}  // namespace

TEST_CASE("stencils over ranks have the bits of one device") {
  auto const one = testing::on_ranks(1, all_stencils<CpuDevice>);
  REQUIRE(one[0].error == "");
  on_all_layouts(all_stencils<Ranks<AllGpus>>,
                 [&](auto const&, doubles const& got) { CHECK(got == one[0].numbers); });
  // more replicas than a halo has rows of neighbours: pieces of one row, and empty ones
  auto const ends =
      testing::on_ranks(7, all_stencils<Ranks<AllGpus>>, {.gpus = {1, 0, 3, 2, 1, 4, 0}});
  for (testing::rank_end const& e : ends) {
    REQUIRE(e.error == "");
    CHECK(e.numbers == one[0].numbers);
  }
}

TEST_CASE("rows between ranks are sent once until a rank writes the tensor") {
  auto const job = [] {
    using Rows = Tensor<double, Dextents<2>, Sharded<0, Ranks<CpuDevice>, Halo<1, beyond::wrap>>>;
    Rows u(uniform<double>(dextents<2>(12, 4), seed{1})), v(u.extents());
    doubles out;
    auto const step = [&] {
      tally const t =
          testing::count([&] { let(u, [&](auto w) { v = shift<0, 1>(w) + shift<0, -1>(w); }); });
      out.push_back(double(t.sent)), out.push_back(double(t.halo_exchanges));
    };
    step(), step();
    u = 2. * u;
    step();
    if (ranks::rank() == 1) u.data()[0] = 7;  // this rank's margins are old, and it says so
    step(), step();
    put(out, v);
    return out;
  };
  auto const ends = testing::on_ranks(3, job);
  double const rows = 2 * 4 * 8;
  for (testing::rank_end const& e : ends) {
    REQUIRE(e.error == "");
    CHECK(doubles(e.numbers.begin(), e.numbers.begin() + 10) ==
          doubles{rows, 1, 0, 1, rows, 1, rows, 1, rows, 1});
    CHECK(e.numbers == ends[0].numbers);
  }
}

}  // namespace halos_test
