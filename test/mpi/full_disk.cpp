// SPDX-License-Identifier: Apache-2.0
// A disk that is full for one rank; full_disk.py makes it.
//     mpi_full_disk inside|outside CHECKPOINT CSV LINES LIMIT
// A trainer saves a checkpoint after each epoch, rank 0 writes a line of CSV, and the last rank lines of its own.
// An empty name leaves a file out. The handler of exceptions is inside the world, or outside of it.
// LIMIT: bytes that a file may have, instead of a full disk; 0: no limit.
#include <sys/resource.h>

#include <csignal>  // signal
#include <cstdio>   // fprintf

#include <locus/locus.hpp>
#include <locus/mpi.hpp>
#include <locus/tensor/ranks.hpp>
#include <locus/training.hpp>

using namespace locus;

namespace {

using Copies = Mirrored<Ranks<CpuDevice>>;

/// lines of the last rank alone
struct lines_of_last_rank : nn::callback {
  std::string path;
  std::optional<nn::csv_log> file;
  void on_train_begin(nn::training&) override {
    if (ranks::rank() == ranks::count() - 1) file.emplace(path);
  }
  void on_epoch_end(nn::training&, int epoch, nn::logs& l) override {
    if (file) file->add(epoch, l);
  }
};

void train(std::string const& checkpoint, std::string const& table, std::string const& lines) {
  Tensor<double, Extents<dyn, 64>> const x(uniform<double>(Extents<dyn, 64>(32), seed{1}));
  Tensor<std::int32_t, Dextents<1>> const y(
      cast<std::int32_t>(3. * uniform<double>(dextents<1>(32), seed{2})));
  auto trainer = nn::compile<Copies, double>(
      nn::Sequential{nn::Input<64>{}, nn::Dense<64>{nn::relu}, nn::Dense<3>{}}, nn::SGD{},
      nn::SparseCategoricalCrossentropy{nn::from_logits});
  nn::ModelCheckpoint save({.path = checkpoint});
  nn::CSVLogger log(table);
  lines_of_last_rank own;
  own.path = lines;
  std::vector<nn::callback*> all;
  if (!checkpoint.empty()) all.push_back(&save);
  if (!table.empty()) all.push_back(&log);
  if (!lines.empty()) all.push_back(&own);
  trainer.fit(data::from_tensors(x, y).batch(16), {.epochs = 400, .callbacks = all, .verbose = 0});
  std::puts("NO ERROR");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  config::set_collective_timeout(5);
  std::string_view const where = argv[1];
  try {
    mpi::world const world(argc, argv);
    if (rlim_t const limit = rlim_t(std::atoll(argv[5])); limit > 0) {  // not for the files of MPI
      std::signal(SIGXFSZ, SIG_IGN);
      rlimit const bytes{limit, limit};
      if (setrlimit(RLIMIT_FSIZE, &bytes) != 0) return 2;
    }
    if (where == "outside") {
      train(argv[2], argv[3], argv[4]);
      return 0;
    }
    try {
      train(argv[2], argv[3], argv[4]);
    } catch (error const& e) {
      message text;
      text << "rank " << world.rank() << " says: " << std::string_view(e.what()) << "\n";
      std::fputs(text.c_str(), stdout);
      std::fflush(stdout);
    }
    return 1;
  } catch (error const& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
