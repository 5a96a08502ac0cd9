// SPDX-License-Identifier: Apache-2.0
// A training whose sums of gradients cross between ranks of MPI while these compute, or do not
// (LOCUS_OVERLAP_RANKS): several large layers, and ranks of which another one is late in each step.
// Writes the losses as bits. Arguments: the order of sums, fast or ranked.
#include <cstdio>
#include <string_view>

#include <unistd.h>

#include <locus/locus.hpp>
#include <locus/mpi.hpp>
#include <locus/training.hpp>

using namespace locus;

namespace {

struct late_by_turns : nn::callback {
  void on_batch_end(nn::training&, std::int64_t step, nn::logs const&) override {
    if (step % ranks::count() == ranks::rank()) usleep(3000);
  }
};

}  // namespace

int main(int argc, char** argv) {
  mpi::world const world(argc, argv);
  config::set_collective_timeout(20);
  bool const ranked = argc > 1 && std::string_view(argv[1]) == "ranked";
  config::set_reduction_order(ranked ? reduction_order::ranked : reduction_order::fast);
  auto trainer = nn::compile<Mirrored<Ranks<CpuDevice>>, double>(
      nn::Sequential{nn::Input<64>{}, nn::Dense<256>{nn::relu}, nn::Dense<64>{nn::relu},
                     nn::Dense<256>{nn::relu}, nn::Dense<8>{nn::relu}, nn::Dense<1024>{nn::relu},
                     nn::Dense<1>{}},
      nn::Adam{}, nn::MeanSquaredError{});
  Tensor<double, Extents<dyn, 64>> const x = uniform<double>(Extents<dyn, 64>(240), seed{1});
  Tensor<double, Extents<dyn, 1>> const y = uniform<double>(Extents<dyn, 1>(240), seed{2});
  late_by_turns late;
  auto const losses = trainer.fit(
      x, y, {.epochs = 3, .callbacks = {&late}, .verbose = 0, .batch_size = 12})["loss"];
  if (world.rank() == 0) {
    std::printf("bits");
    for (double const loss : losses) std::printf(" %a", loss);
    std::printf("\n");
  }
}
