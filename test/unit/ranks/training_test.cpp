// SPDX-License-Identifier: Apache-2.0
// Training over ranks: losses, metrics and predictions are those of one process; a checkpoint has no
// number of ranks; rank 0 writes, and all ranks stop together.
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>

#include <locus/locus.hpp>
#include <locus/tensor/ranks.hpp>
#include <locus/training.hpp>

#include "on_ranks.hpp"

namespace training_test {

using namespace rank_tests;

namespace {

own_folder const here;
std::string const& folder = here.path;
std::string const saved = folder + "/run.npz", rows_of_epochs = folder + "/epochs.csv";

template <class Devices>
auto make_trainer() {
  config::set_reduction_order(reduction_order::ranked);
  return nn::compile<Devices, double>(
      nn::Sequential{nn::Input<6>{}, nn::Dense<8>{nn::relu}, nn::BatchNorm<nn::cross_replica>{},
                     nn::Dropout{0.25}, nn::Dense<3>{}},
      nn::Adam{}, nn::SparseCategoricalCrossentropy{nn::from_logits},
      nn::SparseCategoricalAccuracy{});
}
struct examples {
  Tensor<double, Extents<dyn, 6>> x = eval(uniform<double>(Extents<dyn, 6>(50), seed{1}));
  Tensor<std::int32_t, Dextents<1>> y =
      eval(cast<std::int32_t>(3. * uniform<double>(dextents<1>(50), seed{2})));
  auto batches() const { return data::from_tensors(x, y).shuffle({.seed = 7}).batch(16); }
};

/// ends the training after its second step, on the last rank alone
struct stop_of_last_rank : nn::callback {
  int steps = 0;
  void on_batch_end(nn::training& t, std::int64_t step, nn::logs const&) override {
    ++steps;
    if (ranks::rank() == ranks::count() - 1 && step == 1) t.stop();
  }
};

/// throws at one of its calls, on rank 1 alone
struct throws_on_rank_1 : nn::callback {
  int which = 0, calls = 0;
  explicit throws_on_rank_1(int n) : which(n) {}
  void count() {
    if (calls++ == which && ranks::rank() == 1) throw bad_file("locus: a mistake of rank 1 alone");
  }
  void on_train_begin(nn::training&) override { count(); }
  void on_epoch_begin(nn::training&, int) override { count(); }
  void on_epoch_end(nn::training&, int, nn::logs&) override { count(); }
  void on_train_end(nn::training&, nn::logs const&) override { count(); }
};

template <class Devices>
doubles train() {
  examples const e;
  auto trainer = make_trainer<Devices>();
  auto const batches = e.batches();
  doubles out = trainer.fit(batches, {.epochs = 2, .verbose = 0})["loss"];
  for (double const v : trainer.evaluate(batches).values) out.push_back(v);
  put(out, trainer.predict(e.x));
  return out;
}
/// four epochs; in one go, or two, a checkpoint, and two more
doubles undisturbed() {
  auto trainer = make_trainer<Mirrored<CpuDevice>>();
  return trainer.fit(examples{}.batches(), {.epochs = 4, .verbose = 0})["loss"];
}
doubles until_checkpoint() {
  auto trainer = make_trainer<Mirrored<Ranks<AllGpus>>>();
  nn::ModelCheckpoint save(saved.c_str());
  nn::CSVLogger log(rows_of_epochs);
  return trainer.fit(examples{}.batches(),
                     {.epochs = 2, .callbacks = {&save, &log}, .verbose = 0})["loss"];
}
doubles from_checkpoint() {
  auto trainer = make_trainer<Mirrored<Ranks<AllGpus>>>();
  nn::position const at = nn::load_checkpoint(saved, trainer);
  return trainer.fit(examples{}.batches(),
                     {.epochs = 4, .verbose = 0, .initial_epoch = int(at.epoch)})["loss"];
}
void check_close(doubles const& got, doubles const& want, double within) {
  REQUIRE(got.size() == want.size());
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(std::abs(got[i] - want[i]) < within);
}

}  // namespace

TEST_CASE("fit, evaluate and predict over ranks: the numbers of one process") {
  auto const one = testing::on_ranks(1, train<Mirrored<CpuDevice>>);
  REQUIRE(one[0].error == "");
  on_all_layouts(train<Mirrored<Ranks<AllGpus>>>,
                 [&](auto const&, doubles const& got) { check_close(got, one[0].numbers, 1e-12); });
}

namespace {
template <class Devices>
doubles train_weighted() {
  examples const e;
  Tensor<double, Dextents<1>> const w(uniform<double>(dextents<1>(50), seed{3}));
  nn::class_weights const classes{{0.5, 2, 4}};
  auto trainer = make_trainer<Devices>();
  auto const batches = data::from_tensors(e.x, e.y, w).shuffle({.seed = 7}).batch(16);
  doubles out = trainer.fit(batches, classes, {.epochs = 2, .verbose = 0})["loss"];
  for (double const v : trainer.evaluate(batches, classes).values) out.push_back(v);
  for (double const v : trainer.evaluate(e.x, e.y, w, classes).values) out.push_back(v);
  put(out, trainer.predict(e.x));
  return out;
}
}  // namespace

TEST_CASE("weights of rows and of classes over ranks: the numbers of one process") {
  auto const one = testing::on_ranks(1, train_weighted<Mirrored<CpuDevice>>);
  REQUIRE(one[0].error == "");
  auto const plain = testing::on_ranks(1, train<Mirrored<CpuDevice>>);
  CHECK(std::abs(one[0].numbers[0] - plain[0].numbers[0]) > 0.01);
  on_all_layouts(train_weighted<Mirrored<Ranks<AllGpus>>>,
                 [&](auto const&, doubles const& got) { check_close(got, one[0].numbers, 1e-12); });
}

TEST_CASE("training over ranks has the bits of one process with as many replicas") {
  auto const one = testing::on_ranks(1, train<Mirrored<AllGpus>>, {.gpus = {4}});
  for (auto const& layout : {std::vector<int>{3, 1}, {2, 2}, {1, 1, 2}, {0, 0, 0, 0}})
    for (testing::rank_end const& e :
         testing::on_ranks(int(layout.size()), train<Mirrored<Ranks<AllGpus>>>, {.gpus = layout})) {
      INFO(written(layout));
      REQUIRE(e.error == "");
      CHECK(e.numbers == one[0].numbers);
    }
}

TEST_CASE("rank 0 alone writes the plans of a model") {
  auto const ends = testing::on_ranks(2, [] {
    auto trainer = make_trainer<Mirrored<Ranks<CpuDevice>>>();
    std::ostringstream step, forward;
    nn::explain(step, trainer), nn::explain(forward, trainer.network());
    return doubles{double(step.str().empty()), double(forward.str().empty())};
  });
  for (testing::rank_end const& e : ends) CHECK(e.error == "");
  CHECK(ends[0].numbers == doubles{0, 0});
  CHECK(ends[1].numbers == doubles{1, 1});
}

TEST_CASE("a checkpoint of three ranks goes on with any number of ranks") {
  auto const whole = testing::on_ranks(1, undisturbed);
  REQUIRE(whole[0].error == "");
  doubles const first(whole[0].numbers.begin(), whole[0].numbers.begin() + 2),
      second(whole[0].numbers.begin() + 2, whole[0].numbers.end());
  for (testing::rank_end const& e : testing::on_ranks(3, until_checkpoint)) {
    REQUIRE(e.error == "");
    check_close(e.numbers, first, 1e-12);
  }
  std::ifstream log(rows_of_epochs);
  int lines = 0;
  for (std::string line; std::getline(log, line);) ++lines;
  CHECK(lines == 3);  // a title and two epochs, by one rank
  on_all_layouts(from_checkpoint,
                 [&](auto const&, doubles const& got) { check_close(got, second, 1e-12); });
}

TEST_CASE("one rank stops the training: all stop after the same step") {
  auto const ends = testing::on_ranks(3, [] {
    auto trainer = make_trainer<Mirrored<Ranks<CpuDevice>>>();
    stop_of_last_rank stop;
    auto const h =
        trainer.fit(examples{}.batches(), {.epochs = 5, .callbacks = {&stop}, .verbose = 0});
    return doubles{double(stop.steps), double(h.epochs.size())};
  });
  for (testing::rank_end const& e : ends) {
    CHECK(e.error == "");
    CHECK(e.numbers == doubles{2, 1});
  }
}

TEST_CASE("one rank stops the training at an epoch, or before it: all stop there") {
  struct stops_between : nn::callback {
    bool at_begin;
    explicit stops_between(bool b) : at_begin(b) {}
    void on_train_begin(nn::training& t) override {
      if (at_begin && ranks::rank() == 1) t.stop();
    }
    void on_epoch_end(nn::training& t, int, nn::logs&) override {
      if (!at_begin && ranks::rank() == 1) t.stop();
    }
  };
  for (bool const at_begin : {false, true}) {
    auto const ends = testing::on_ranks(2, [&] {
      auto trainer = make_trainer<Mirrored<Ranks<CpuDevice>>>();
      stops_between stop(at_begin);
      auto const h =
          trainer.fit(examples{}.batches(), {.epochs = 3, .callbacks = {&stop}, .verbose = 0});
      return doubles{double(h.epochs.size())};
    });
    for (testing::rank_end const& e : ends) {
      CHECK(e.error == "");
      CHECK(e.numbers == doubles{double(!at_begin)});
    }
  }
}

TEST_CASE("a callback throws on one rank: fit throws on all, and the ranks stay in step") {
  auto const ends = testing::on_ranks(3, [] {
    doubles out;
    for (int call = 0; call < 4; ++call) {
      auto trainer = make_trainer<Mirrored<Ranks<CpuDevice>>>();
      throws_on_rank_1 mistake(call);
      std::string said;
      try {
        trainer.fit(examples{}.batches(), {.epochs = 1, .callbacks = {&mistake}, .verbose = 0});
      } catch (error const& e) {
        said = e.what();
      }
      out.push_back(said == (ranks::rank() == 1
                                 ? "locus: a mistake of rank 1 alone"
                                 : "locus: another rank failed at what all ranks do; its own line "
                                   "says why"));
    }
    return out;
  });
  for (testing::rank_end const& e : ends) {
    CHECK(e.error == "");
    CHECK(e.numbers == doubles{1, 1, 1, 1});
  }
}

TEST_CASE("files that rank 0 cannot read or write: all ranks say so and stay in step") {
  auto const ends = testing::on_ranks(2, [] {
    auto trainer = make_trainer<Mirrored<Ranks<CpuDevice>>>();
    std::string said;
    try {
      nn::load_checkpoint(folder + "/none.npz", trainer);
    } catch (error const& e) {
      said = e.what();
    }
    bool const read = said.find("none.npz: expected a readable file") != said.npos;
    try {
      nn::save_checkpoint("/nowhere/none.npz", trainer);
    } catch (error const& e) {
      said = e.what();
    }
    bool const wrote = said.find("/nowhere/none.npz: it cannot be written") != said.npos;
    auto const h = trainer.fit(examples{}.batches(), {.epochs = 1, .verbose = 0});
    return doubles{double(read), double(wrote), double(h.epochs.size())};
  });
  for (testing::rank_end const& e : ends) {
    CHECK(e.error == "");
    CHECK(e.numbers == doubles{1, 1, 1});
  }
}

TEST_CASE("ranks with other batches, datasets and models: all say so, and none goes on") {
  auto const expect = [](auto const& f, std::string_view part) {
    for (testing::rank_end const& e : testing::on_ranks(3, [&] {
           config::set_collective_timeout(5);
           f();
           return doubles{};
         })) {
      INFO(e.error);
      CHECK(e.error.starts_with("locus: the ranks of this program differ: rank "));
      CHECK(e.error.find(part) != e.error.npos);
    }
  };
  auto const fit = [](std::int64_t rows, std::int64_t batch) {
    auto trainer = make_trainer<Mirrored<Ranks<CpuDevice>>>();
    examples const e;
    auto const some = data::from_tensors(e.x, e.y).take(rows);
    trainer.fit(some.batch(batch), {.epochs = 2, .verbose = 0});
  };
  expect([&] { fit(48, ranks::rank() == 1 ? 8 : 16); }, "another plan or other extents");
  expect([&] { fit(ranks::rank() == 2 ? 44 : 48, 16); }, "another plan or other extents");
  expect([&] { fit(ranks::rank() == 2 ? 32 : 48, 16); },
         "rank 2 on this computer begins collective");
  expect([&] { fit(ranks::rank() == 2 ? 32 : 48, 16); }, ", end of an epoch");
  std::string const path = folder + "/other.npz";
  auto const of_units = [](auto units) {
    return nn::compile<Mirrored<Ranks<CpuDevice>>, double>(
        nn::Sequential{nn::Input<6>{}, nn::Dense<units()>{}}, nn::SGD{}, nn::MeanSquaredError{});
  };
  std::integral_constant<int, 3> const three;
  std::integral_constant<int, 4> const four;
  expect(
      [&] {
        auto model = of_units(three);
        auto other = of_units(four);
        nn::save_checkpoint(path, model);
        ranks::rank() == 1 ? nn::load_checkpoint(path, other) : nn::load_checkpoint(path, model);
      },
      "load_checkpoint of 192 bytes");
  auto const ends = testing::on_ranks(3, [&] {
    auto other = of_units(four);
    std::string said;
    try {
      nn::load_checkpoint(path, other);
    } catch (error const& e) {
      said = e.what();
    }
    bool const named = said.find("other.npz is of another model") != said.npos;
    return doubles{double(named),
                   double(fetch(sum(Tensor<double, Dextents<1>, Mirrored<Ranks<CpuDevice>>>(
                       zeros<double>(dextents<1>(3))))))};
  });
  for (testing::rank_end const& e : ends) {
    CHECK(e.error == "");
    CHECK(e.numbers == doubles{1, 0});
  }
}

TEST_CASE("weights that differ between ranks are not saved") {
  if (!checked_build) return;
  auto const ends = testing::on_ranks(2, [] {
    auto trainer = make_trainer<Mirrored<Ranks<CpuDevice>>>();
    if (ranks::rank() == 1) {
      nn::stored const w = trainer.weights("dense/kernel");
      doubles const other(std::size_t(w.extents.size()), 0.5);
      nn::write_values(w, other.data());
    }
    nn::save_checkpoint(saved, trainer);
    return doubles{};
  });
  for (testing::rank_end const& e : ends)
    CHECK(e.error.starts_with("locus: the ranks have different values of 'dense/kernel'"));
}

TEST_CASE("a batch with fewer rows than replicas of all ranks is refused") {
  auto const ends = testing::on_ranks(2,
                                      [] {
                                        auto trainer = make_trainer<Mirrored<Ranks<AllGpus>>>();
                                        examples const e;
                                        trainer.fit(data::from_tensors(e.x, e.y).batch(3),
                                                    {.epochs = 1, .verbose = 0});
                                        return doubles{};
                                      },
                                      {.gpus = {2, 2}});
  for (testing::rank_end const& e : ends) {
    INFO(e.error);
    CHECK(e.error.find("4") != std::string::npos);
  }
}

}  // namespace training_test
