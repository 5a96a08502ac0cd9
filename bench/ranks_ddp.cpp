// SPDX-License-Identifier: Apache-2.0
// Steps of training over ranks, to be timed beside PyTorch's DistributedDataParallel: bench/ranks_ddp.py
// starts both and says to each when to run.
//     mpirun -n N ranks_ddp FOLDER ROWS     ROWS: of each rank
// FOLDER/NAME.x.npy, NAME.y.npy, NAME.npz get the rows of all ranks and the first weights of each network.
// Then each rank reads lines "NAME STEPS" from its pipe FOLDER/locus.RANK, in which it waits without a
// processor; rank 0 answers with the seconds of a step of the slowest rank, and the loss of each step.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <locus/files/npz.hpp>
#include <locus/mpi.hpp>
#include <locus/tensor/ranks.hpp>

#include "networks.hpp"
#include "rank_clock.hpp"

namespace {

using namespace locus;
using Over = Mirrored<Ranks<CpuDevice>>;

/// A network with its rows; step: trains, returns the loss before
struct job {
  virtual ~job() = default;
  virtual double step() = 0;
};
template <class Trainer>
struct job_of final : job {
  Trainer trainer;
  Tensor<float, Extents<dyn, 784>, rows_over<Over>> x;
  Tensor<std::uint8_t, Dextents<1>, rows_over<Over>> y;
  job_of(Trainer t, std::int64_t rows)
      : trainer(std::move(t)), x(networks::images<Over, 784>(rows)),
        y(networks::labels<Over>(rows)) {}
  double step() override { return trainer.train_on_batch(x, y).values[0]; }
};
std::map<std::string, std::unique_ptr<job>> jobs;

template <class Model, class Optimizer>
void add(std::string const& folder, std::string const& name, std::int64_t rows, Model const& model,
         Optimizer const& optimizer) {
  auto trainer = nn::compile<Over>(model, optimizer, networks::cross_entropy);
  auto made =
      std::make_unique<job_of<decltype(trainer)>>(std::move(trainer), rows * ranks::count());
  std::string const stem = folder + "/" + name;
  data::write_npy(stem + ".x.npy", made->x), data::write_npy(stem + ".y.npy", made->y);
  nn::export_weights(stem + ".npz", made->trainer.weights());
  jobs[name] = std::move(made);
}

void add_all(std::string const& folder, std::int64_t rows) {
  nn::Sequential const of_example_04{nn::Input<784>{}, nn::Dense<128>{nn::relu}, nn::Dense<10>{}};
  nn::Sequential const wide{nn::Input<784>{}, nn::Dense<1024>{nn::relu}, nn::Dense<1024>{nn::relu},
                            nn::Dense<10>{}};
  add(folder, "04-SGD", rows, of_example_04, nn::SGD{});
  add(folder, "04-Adam", rows, of_example_04, nn::Adam{});
  add(folder, "wide-SGD", rows, wide, nn::SGD{});
  add(folder, "wide-Adam", rows, wide, nn::Adam{});
}

/// units: seconds of a step of the slowest rank, between two meetings of all
void run_block(std::string const& name, int count) {
  job& of = *jobs.at(name);
  std::vector<double> losses;
  MPI_Barrier(MPI_COMM_WORLD);
  auto const begin = wall::now();
  for (int k = 0; k < count; ++k) losses.push_back(of.step());
  double const own = since(begin);
  double slowest = 0;
  MPI_Allreduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  if (ranks::rank() > 0) return;
  std::printf("%.9g", slowest / count);
  for (double const loss : losses) std::printf(" %.9g", loss);
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) try {
  mpi::world const world(argc, argv);
  if (argc < 3) return std::fprintf(stderr, "ranks_ddp FOLDER ROWS\n"), 2;
  std::string const folder = argv[1];
  add_all(folder, std::atoll(argv[2]));
  if (world.rank() == 0) std::printf("ready\n"), std::fflush(stdout);
  std::ifstream orders(folder + "/locus." + std::to_string(world.rank()));
  std::string name;
  for (int count = 0; orders >> name >> count;) run_block(name, count);
} catch (locus::error const& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
