// SPDX-License-Identifier: Apache-2.0
// Heat in a plate over the processes of an MPI program, on all their GPUs or CPUs: example 14 with
// Ranks in the type of the plate. Without mpirun it is one process; the numbers are the same.
//     mpirun -n 4 17_heat_over_ranks [rows] [steps]
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <locus/locus.hpp>
#include <locus/mpi.hpp>
#include <locus/tensor/ranks.hpp>
#include <locus/testing/count.hpp>

using namespace locus;

// [example: ranks]
using Plate = Tensor<double, Dextents<2>, Sharded<0, Ranks<AllGpus>, Halo<1>>>;

/// next = the mean of the four neighbours of each inner element     returns: the largest change
double advance(Plate const& now, Plate& next) {
  let(now, [&](auto u) {
    auto one = plan(into(interior<1>(next), 0.25 * (interior<1, -1, 0>(u) + interior<1, 1, 0>(u) +
                                                    interior<1, 0, -1>(u) + interior<1, 0, 1>(u))));
    static_assert(one.launches() == 1 && one.halo_exchanges() == 1);  // on 1 rank or on 1,000
    run(one);
  });
  return fetch(max(abs(next - now)));  // the same bits on every rank
}

int main(int argc, char** argv) {
  mpi::world const world(argc, argv);
  std::int64_t const n = argc > 1 ? std::atoll(argv[1]) : 200;
  int const steps = argc > 2 ? std::atoi(argv[2]) : 50;
  Plate now(zeros<double>(dextents<2>(n, n)));
  slice<1, 0, 1>(now) = 100.;  // the hot edge
  Plate next(now);
  double change = 0;
  for (int k = 0; k < steps; ++k) {
    change = advance(now, next);
    swap(now, next);
  }
  // [end]
  ranks::on_first([&] {
    std::cout << "after " << steps << " steps: largest change " << std::round(change * 1e6) / 1e6
              << "\n";
  });
  double const heat = fetch(sum(now));  // every rank asks, rank 0 prints
  ranks::on_first([&] { std::cout << "heat " << std::round(heat * 1e3) / 1e3 << "\n"; });
  // prints:
  // after 50 steps: largest change 0.484743
  // heat 88450.7
}
