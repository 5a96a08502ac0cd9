// SPDX-License-Identifier: Apache-2.0
// A training that is killed and starts again from its checkpoint; restarts.py does both.
//     mpi_restarts network|shards CHECKPOINT EPOCHS PAUSE DEADLINE
// network: a trainer of doubles, whose sums MPI adds; shards: a neuron of floats whose sums are those of
// four virtual shards. Each epoch ends with a checkpoint and then, on rank 0, with a line of its loss. PAUSE is
// the milliseconds that an epoch takes longer.
#include <sys/types.h>

#include <chrono>    // milliseconds
#include <iostream>  // cerr
#include <thread>    // sleep_for

#include <locus/grad/grad.hpp>
#include <locus/locus.hpp>
#include <locus/mpi.hpp>
#include <locus/ops/shards.hpp>
#include <locus/tensor/ranks.hpp>
#include <locus/training.hpp>

using namespace locus;

namespace {

using Copies = Mirrored<Ranks<CpuDevice>>;

struct job {
  std::string checkpoint;
  int epochs = 0;
  std::chrono::milliseconds pause{};
  bool starts_again() const { return access(checkpoint.c_str(), F_OK) == 0; }
  void say(int epoch, double loss) const {
    if (ranks::rank() > 0) return;
    std::printf("epoch %d loss %a\n", epoch, loss);
    std::fflush(stdout);
  }
};

struct pause_of_epoch : nn::callback {
  job const& of;
  explicit pause_of_epoch(job const& j) : of(j) {}
  void on_epoch_end(nn::training&, int epoch, nn::logs& l) override {
    of.say(epoch, l.values[0]);
    std::this_thread::sleep_for(of.pause);
  }
};

void train_network(job const& j) {
  Tensor<double, Extents<dyn, 6>> const x(uniform<double>(Extents<dyn, 6>(48), seed{1}));
  Tensor<std::int32_t, Dextents<1>> const y(
      cast<std::int32_t>(3. * uniform<double>(dextents<1>(48), seed{2})));
  auto const batches = data::from_tensors(x, y).shuffle({.seed = 7}).batch(12);
  auto trainer = nn::compile<Copies, double>(
      nn::Sequential{nn::Input<6>{}, nn::Dense<8>{nn::relu}, nn::Dropout{0.25}, nn::Dense<3>{}},
      nn::Adam{}, nn::SparseCategoricalCrossentropy{nn::from_logits});
  nn::position at;
  bool again = false;
  ranks::on_first([&] { again = j.starts_again(); });
  if (internal::some_rank_says(again)) at = nn::load_checkpoint(j.checkpoint, trainer);
  nn::ModelCheckpoint save(j.checkpoint.c_str());
  pause_of_epoch pause(j);
  trainer.fit(batches, {.epochs = j.epochs,
                        .callbacks = {&save, &pause},
                        .verbose = 0,
                        .initial_epoch = int(at.epoch)});
}

void train_shards(job const& j) {
  constexpr int rows = 24, columns = 5;
  Tensor<float, Dextents<2>, rows_over<Copies>> const x(
      uniform<float>(Dextents<2>(rows, columns), seed{1}, -1, 1));
  Tensor<float, Dextents<1>, rows_over<Copies>> const y(uniform<float>(Dextents<1>(rows), seed{2}));
  Tensor<float, Dextents<1>> start(uniform<float>(Dextents<1>(columns), seed{3}));
  Tensor<std::int64_t, Extents<>> first(zeros<std::int64_t>(Extents<>{}));
  ranks::on_first([&] {
    if (!j.starts_again()) return;
    data::npz_file const file(j.checkpoint);
    start = file.read<float, 1>("weights");
    first = file.read<std::int64_t, 0>("epoch");
  });
  Tensor<float, Dextents<1>, Copies> weights(start);  // those of rank 0
  std::int64_t epoch = fetch(Tensor<std::int64_t, Extents<>, Copies>(first));
  Tensor<float, Extents<>, Copies> loss(zeros<float>(Extents<>{}));
  auto const w = named<"w">(weights);
  for (; epoch < j.epochs; ++epoch) {
    for (int step = 0; step < 4; ++step) {
      auto const at = sum<2>(virtual_shards<4>(x) * per_shard<4>(w));
      auto const error = at / (1.f + abs(at)) - virtual_shards<4>(y);
      auto const all = value_and_grad(sum_of_shards(square(error)) / global_batch(x), w);
      run(plan<reproducible<>>(into(loss, get<0>(all)), into(weights, w - 0.2 * get<1>(all))));
    }
    Tensor<float, Dextents<1>> const now(weights);
    ranks::on_first([&] {
      data::npz_writer file(j.checkpoint);
      file.add("weights", now).add("epoch", epoch + 1).save();
    });
    j.say(int(epoch), fetch(loss));
    std::this_thread::sleep_for(j.pause);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  try {
    mpi::world const world(argc, argv);
    config::set_collective_timeout(std::atof(argv[5]));  // a busy machine starts ranks late
    message text;
    text << "rank " << world.rank() << ": process " << std::int64_t(getpid()) << "\n";
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
    job const j{argv[2], std::atoi(argv[3]), std::chrono::milliseconds(std::atoi(argv[4]))};
    std::string_view(argv[1]) == "network" ? train_network(j) : train_shards(j);
    if (world.rank() == 0) std::puts("trained");
  } catch (std::exception const& e) {
    std::cerr << e.what() << std::endl;
    return 1;
  }
}
