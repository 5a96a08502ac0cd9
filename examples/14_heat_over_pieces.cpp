// SPDX-License-Identifier: Apache-2.0
// Heat in a plate by Jacobi's method, on one device and over pieces on all GPUs: the type of the
// plate is all that differs, and the bits are the same. It runs on four simulated cards, so that it
// prints the same everywhere: on a real node leave the line with simulated_gpus out.
#include <cmath>
#include <iostream>
#include <locus/cuda.cuh>
#include <locus/testing/count.hpp>
#include <locus/testing/simulated_gpus.hpp>

using namespace locus;

// [example: stencil]
/// next = the mean of the four neighbours of each inner element     returns: the largest change
template <class Plate>
double advance(Plate const& now, Plate& next) {
  let(now, [&](auto u) {
    auto one = plan(into(interior<1>(next), 0.25 * (interior<1, -1, 0>(u) + interior<1, 1, 0>(u) +
                                                    interior<1, 0, -1>(u) + interior<1, 0, 1>(u))));
    static_assert(one.launches() == 1);
    static_assert(one.halo_exchanges() == int(Plate::where.is_sharded()));
    run(one);
  });
  return fetch(max(abs(next - now)));
}
// [end]

template <class Plate>
Tensor<double, Dextents<2>> heat(std::int64_t n, int steps) {
  Plate now(zeros<double>(dextents<2>(n, n)));
  slice<1, 0, 1>(now) = 100.;  // the hot edge
  Plate next(now);
  double change = 0;
  tally const done = testing::count([&] {
    for (int k = 0; k < steps; ++k) {
      change = advance(now, next);
      swap(now, next);
    }
  });
  std::cout << "after " << steps << " steps on " << Plate::where << ": largest change "
            << std::round(change * 1e6) / 1e6 << "; " << done.halo_exchanges << " exchanges, "
            << done.copies << " copies, " << done.bytes_moved << " bytes\n";
  return Tensor<double, Dextents<2>>(now);
}

int main() {
  testing::simulated_gpus const node{4};
  using One = Tensor<double, Dextents<2>>;
  using Pieces = Tensor<double, Dextents<2>, Sharded<0, AllGpus, Halo<1>>>;
  auto const a = heat<One>(200, 50), b = heat<Pieces>(200, 50);
  std::cout << "the bits are " << (fetch(all(a == b)) ? "the same" : "OTHERS") << "\n";
  // prints:
  // after 50 steps on /CPU:0: largest change 0.484743; 0 exchanges, 0 copies, 0 bytes
  // after 50 steps on sharded<0>(all GPUs): largest change 0.484743; 50 exchanges, 300 copies, 480000 bytes
  // the bits are the same
}
