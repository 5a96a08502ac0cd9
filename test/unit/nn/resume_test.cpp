// SPDX-License-Identifier: Apache-2.0
// How a training goes on: from a checkpoint, in a second fit, past epochs without validation, and
// the weights with which it ends.
#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <unistd.h>

#include <locus/locus.hpp>
#include <locus/nn/nn.hpp>
#include <locus/nn/train/towers.hpp>
#include <message_of.hpp>

#include "distance.hpp"

namespace resume_test {

using namespace locus;

namespace {

constexpr std::int64_t rows = 19;  // five batches of 4
struct arrays {
  Tensor<double, Dextents<2>> x{Dextents<2>(rows, 3)}, y{Dextents<2>(rows, 1)};
  arrays() {
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < 3; ++j) x(i, j) = std::sin(1.3 * double(i) + double(j));
      y(i, 0) = 3 * std::cos(0.4 * double(i));
    }
  }
};
template <class Optimizer = nn::Adam>
auto trainer_of(Optimizer const& o = {.learning_rate = 0.02}) {
  return nn::compile<CpuDevice, double>(
      nn::Sequential{nn::Input<3>{}, nn::Dense<4>{nn::tanh}, nn::Dropout{0.3}, nn::Dense<1>{}}, o,
      nn::MeanSquaredError{});
}
using trainer_type = decltype(trainer_of());
using options = trainer_type::fit_options;
using fit_function = std::function<nn::history(trainer_type&, options)>;

struct file {
  std::string const path = "/tmp/locus_resume_" + std::to_string(getpid());
  ~file() { unlink(path.c_str()); }
};

fit_function over_arrays() {
  return [d = std::make_shared<arrays>()](trainer_type& t, options o) {
    o.batch_size = 4, o.verbose = 0;
    return t.fit(d->x, d->y, o);
  };
}
/// each fit gets a new dataset, as another process does
template <class Make>
fit_function over(Make make) {
  return [make](trainer_type& t, options o) {
    o.verbose = 0;
    return t.fit(make(), o);
  };
}
auto shuffled() {
  arrays const d;
  return data::from_tensors(d.x, d.y).shuffle({.seed = 3});
}
auto of_unknown_size() {
  arrays const d;
  return data::from_generator([d](std::uint64_t) {
           return [d, i = std::int64_t(0)]() mutable {
             using row = std::tuple<std::array<double, 3>, std::array<double, 1>>;
             if (i == rows) return std::optional<row>();
             std::int64_t const k = i++;
             return std::optional<row>(row{{d.x(k, 0), d.x(k, 1), d.x(k, 2)}, {d.y(k, 0)}});
           };
         })
      .shuffle({.seed = 3})
      .batch(4);
}
std::vector<fit_function> all_kinds() {
  return {over_arrays(), over([] { return shuffled().batch(4).prefetch(2); }),
          over([] { return shuffled().repeat(2).batch(4); }), over(of_unknown_size),
          over([] { return shuffled().repeat().batch(4); })};
}

}  // namespace

TEST_CASE("epochs of any number of steps go on from a checkpoint as if they had never stopped") {
  file const here;
  std::vector<fit_function> const kinds = all_kinds();
  for (fit_function const& fit : kinds)
    for (std::int64_t const steps : {-1, 3, 5, 7}) {
      if (steps < 0 && &fit == &kinds.back()) continue;  // a dataset without an end needs steps
      auto whole = trainer_of(), first = trainer_of(), rest = trainer_of();
      std::vector<double> const expected =
          fit(whole, {.epochs = 4, .steps_per_epoch = steps})["loss"];
      nn::ModelCheckpoint keeps{here.path.c_str()};
      static_cast<void>(fit(first, {.epochs = 2, .callbacks = {&keeps}, .steps_per_epoch = steps}));
      nn::position const at = nn::load_checkpoint(here.path, rest);
      CHECK(at.epoch == 2);
      auto const losses = fit(
          rest, {.epochs = 4, .initial_epoch = int(at.epoch), .steps_per_epoch = steps})["loss"];
      CHECK(losses == std::vector<double>(expected.begin() + 2, expected.end()));
      CHECK(values_of(rest.weights()) == values_of(whole.weights()));
    }
}

TEST_CASE("a training goes on inside of an epoch, and behind its last batch with the next one") {
  file const here;
  for (fit_function const& fit : all_kinds())
    for (std::int64_t const steps : {3, 5, 7}) {
      auto whole = trainer_of();
      static_cast<void>(fit(whole, {.epochs = 3, .steps_per_epoch = steps}));
      for (std::int64_t stop = 1; stop <= steps + 2; ++stop) {
        auto first = trainer_of(), rest = trainer_of();
        nn::ModelCheckpoint keeps{{.path = here.path, .every_epochs = 0, .every_steps = stop}};
        static_cast<void>(fit(
            first,
            {.epochs = 1 + int(stop > steps), .callbacks = {&keeps}, .steps_per_epoch = steps}));
        nn::position const at = nn::load_checkpoint(here.path, rest);
        CHECK(at.epoch == at.step / steps);
        CHECK(at.step_of_epoch == at.step % steps);
        nn::history const h = fit(rest, {.epochs = 3,
                                         .initial_epoch = int(at.epoch),
                                         .initial_step = at.step_of_epoch,
                                         .steps_per_epoch = steps});
        CHECK(h.epoch.front() == at.epoch);
        CHECK(values_of(rest.weights()) == values_of(whole.weights()));
      }
    }
}

TEST_CASE("without a number of steps, an epoch is a pass, and its last batch ends it") {
  file const here;
  fit_function const unknown = over(of_unknown_size);
  for (fit_function const& fit :
       {over_arrays(), over([] { return shuffled().batch(4); }), unknown}) {
    auto whole = trainer_of();
    static_cast<void>(fit(whole, {.epochs = 3}));
    for (std::int64_t stop = 2; stop <= 5; ++stop) {
      auto first = trainer_of(), rest = trainer_of();
      nn::ModelCheckpoint keeps{{.path = here.path, .every_epochs = 0, .every_steps = stop}};
      static_cast<void>(fit(first, {.callbacks = {&keeps}}));
      nn::position const at = nn::load_checkpoint(here.path, rest);
      static_cast<void>(fit(
          rest, {.epochs = 3, .initial_epoch = int(at.epoch), .initial_step = at.step_of_epoch}));
      CHECK(values_of(rest.weights()) == values_of(whole.weights()));
    }
  }
  auto t = trainer_of();
  auto const says = [&](fit_function const& fit, std::int64_t step, std::int64_t steps = -1) {
    return message_of<configuration_error>([&] {
      static_cast<void>(fit(t, {.epochs = 2, .initial_step = step, .steps_per_epoch = steps}));
    });
  };
  std::string const remedy = "; give the number of its batches that are done";
  CHECK(says(over_arrays(), 5) ==
        "locus: .initial_step of fit is 5, and an epoch has 5 steps" + remedy);
  CHECK(says(unknown, 6) == "locus: .initial_step of fit is 6, and an epoch has 5 steps" + remedy);
  CHECK(says(unknown, 3, 3) ==
        "locus: .initial_step of fit is 3, and an epoch has 3 steps" + remedy);
  CHECK(says(unknown, -1) == "locus: .initial_step of fit is -1" + remedy);
  CHECK(t.iterations() == 0);
}

TEST_CASE("a second fit over arrays goes on with other orders") {
  fit_function const fit = over_arrays();
  auto once = trainer_of(), twice = trainer_of(), other = trainer_of();
  auto const losses = fit(once, {.epochs = 2})["loss"];
  CHECK(fit(twice, {})["loss"][0] == losses[0]);
  CHECK(fit(twice, {})["loss"][0] == losses[1]);
  static_cast<void>(fit(other, {}));
  CHECK(fit(other, {.epochs = 2, .initial_epoch = 1})["loss"][0] == losses[1]);
}

TEST_CASE("callbacks on a value of validation leave out epochs without validation") {
  file const here;
  arrays const d;
  auto const fit = [&](nn::callback& c, int epochs, int every) {
    auto t = trainer_of();
    return t.fit(d.x, d.y,
                 {.epochs = epochs,
                  .validation = {d.x, d.y},
                  .callbacks = {&c},
                  .verbose = 0,
                  .validation_freq = every,
                  .batch_size = 4});
  };
  nn::EarlyStopping stops{{.min_delta = 1e9, .patience = 2}};
  CHECK(fit(stops, 20, 3).epochs.size() == 9);  // the second and the third value are not better
  CHECK(stops.best_epoch() == 2);
  nn::ReduceLROnPlateau reduces{{.factor = 0.5, .patience = 1, .min_delta = 1e9}};
  CHECK(fit(reduces, 6, 2)["learning_rate"] ==
        std::vector<double>{0.02, 0.02, 0.02, 0.02, 0.01, 0.01});
  nn::ModelCheckpoint best{{.path = here.path, .save_best_only = true}};
  static_cast<void>(fit(best, 3, 2));
  auto t = trainer_of();
  CHECK(nn::load_checkpoint(here.path, t).epoch == 2);
  nn::ModelCheckpoint named{(here.path + "{epoch}-{val_loss}").c_str()};
  static_cast<void>(fit(named, 3, 2));
  CHECK(named.last_path().starts_with(here.path + "0002-"));
  unlink(named.last_path().c_str());

  // a value that no epoch logs is named
  CHECK(message_of<configuration_error>([&] {
          fit(stops, 2, 3);
        }).starts_with("locus: nothing is logged as 'val_loss'"));
  nn::EarlyStopping other{{.monitor = "val_mse"}}, training{{.monitor = "mse"}};
  CHECK(message_of<configuration_error>([&] {
          fit(other, 2, 2);
        }).starts_with("locus: nothing is logged as 'val_mse'"));
  CHECK(message_of<configuration_error>([&] {
          fit(training, 2, 2);
        }).starts_with("locus: nothing is logged as 'mse'"));
}

namespace {

/// the first epoch is the best; keeps its weights
struct judge : nn::callback {
  std::vector<double> best;
  void on_epoch_end(nn::training& t, int epoch, nn::logs& l) override {
    if (epoch == 0) best = values_of(t.weights());
    l.set("val_loss", epoch + 1.);
  }
};

}  // namespace

TEST_CASE("the best weights come back wherever the callback of averages stands") {
  arrays const d;
  judge first;
  nn::EarlyStopping early{{.patience = 9, .restore_best = true}};
  auto const fit = [&](auto& t, std::vector<nn::callback*> const& all) {
    t.fit(d.x, d.y, {.epochs = 3, .callbacks = all, .verbose = 0, .batch_size = 4});
    CHECK(values_of(t.weights()) == first.best);
  };
  for (bool const early_first : {true, false}) {
    auto const in_order = [&](nn::callback& averages) {
      return early_first ? std::vector<nn::callback*>{&first, &early, &averages}
                         : std::vector<nn::callback*>{&first, &averages, &early};
    };
    auto a = trainer_of(nn::MovingAverage{nn::Adam{.learning_rate = 0.02}, 0.9});
    nn::SwapEMAWeights swaps;
    fit(a, in_order(swaps));
    auto b = trainer_of();
    nn::AverageWeights averages(b, 0.5);
    fit(b, in_order(averages));
  }
}

TEST_CASE("a second fit goes on from the averages of the first") {
  arrays const d;
  auto t = trainer_of();
  nn::AverageWeights averages(t, 0.5, false);
  auto const fit = [&] {
    t.fit(d.x, d.y, {.callbacks = {&averages}, .verbose = 0, .batch_size = 4});
    return values_of(t.weights());
  };
  auto const before = fit();
  t.set_learning_rate(0);
  CHECK(fit() == before);
}

TEST_CASE("Nadam's product of momenta is not formed anew for each batch of a sum") {
  nn::updater<decltype(nn::Accumulate{4, nn::Nadam{}}), double, Mirrored<CpuDevice>> steps{
      nn::Accumulate{4, nn::Nadam{}}};
  *steps.counters()[0].value = 3'000'000;
  auto const seconds_of = [&](int batches) {
    auto const begin = std::chrono::steady_clock::now();
    for (int k = 0; k < batches; ++k) steps.begin_step(), steps.end_step();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  double const first = seconds_of(1);
  CHECK(seconds_of(8) < first / 2);
  CHECK(steps.iterations() == 3'000'002);
}

}  // namespace resume_test
