// SPDX-License-Identifier: Apache-2.0
// Examples over the ranks of an MPI program: 04 with another device list, and nothing else.
//     mpi_examples EPOCHS [FOLDER]: the lines of example 04, from rank 0
#include <locus/mpi.hpp>
// of main alone may be without a return
#pragma GCC diagnostic ignored "-Wreturn-type"
#define main main_of_the_example
#include "../../examples/04_mirrored_fashion_mnist.cpp"
#undef main
#include <locus/tensor/ranks.hpp>

int main(int argc, char** argv) {
  mpi::world const world(argc, argv);
  config::set_reduction_order(reduction_order::ranked);
  int const epochs = argc > 1 ? std::atoi(argv[1]) : 1;
  std::string const folder = argc > 2 ? argv[2] : find_dataset();
  if (folder.empty()) {
    if (world.rank() == 0) std::puts("no dataset");
    return 77;
  }
  if (world.rank() > 0 && !std::freopen("/dev/null", "w", stdout)) return 1;
  train<Mirrored<Ranks<AllGpus>>>(folder, world.replicas(), epochs);
}
