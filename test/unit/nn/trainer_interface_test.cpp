// SPDX-License-Identifier: Apache-2.0
// What is done with a trainer: it is moved, asked for weights by name and for averages, and says what
// it cannot learn from.
#include <cmath>
#include <doctest/doctest.h>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include <locus/data/dataset.hpp>
#include <locus/locus.hpp>
#include <locus/nn/nn.hpp>
#include <locus/nn/optimizers/own_loop.hpp>
#include <locus/nn/train/callbacks.hpp>
#include <locus/nn/train/checkpoint.hpp>
#include <locus/tensor/column_major.hpp>
#include <message_of.hpp>

namespace trainer_interface_test {

using namespace locus;

namespace {

using Matrix = Tensor<double, Dextents<2>>;
auto line_trainer(auto optimizer) {
  return nn::compile<CpuDevice, double>(
      nn::Sequential{nn::Input<1>{}, nn::Dense<1>{}.without_bias(), nn::Dense<1>{}.without_bias()},
      optimizer, nn::MeanSquaredError{});
}
template <class Trainer>
double weight_of(Trainer& t, std::string_view name = "dense/kernel") {
  double w;
  nn::read_values(t.weights(name), &w);
  return w;
}
struct lines {  // what the log says meanwhile
  std::vector<std::string> all;
  lines() {
    debugging::set_log_sink([](log_event const&, std::string_view line,
                               void* to) { static_cast<lines*>(to)->all.emplace_back(line); },
                            this);
  }
  ~lines() { debugging::set_log_sink(nullptr); }
};

}  // namespace

TEST_CASE("a trainer is moved: into vectors, members and shared pointers, between two steps") {
  Matrix const x{{1}, {2}}, y{{2}, {3}};
  auto stays = line_trainer(nn::Adam{});
  auto goes = line_trainer(nn::Adam{});
  stays.train_on_batch(x, y), goes.train_on_batch(x, y);
  using Trainer = decltype(goes);
  std::vector<Trainer> all;
  all.push_back(std::move(goes));
  all.push_back(line_trainer(nn::Adam{}));
  auto const shared = std::make_shared<Trainer>(std::move(all[0]));
  for (int k = 0; k < 3; ++k)
    CHECK(shared->train_on_batch(x, y)["loss"] == stays.train_on_batch(x, y)["loss"]);
  CHECK(weight_of(*shared) == weight_of(stays));
  all[0] = std::move(*shared);
  stays.fit(x, y, {.verbose = 0}), all[0].fit(x, y, {.verbose = 0});
  CHECK(weight_of(all[0]) == weight_of(stays));
}

TEST_CASE("weights are found by their names") {
  auto t = line_trainer(nn::SGD{});
  CHECK(t.weights("dense_1/kernel").name == "dense_1/kernel");
  auto const text = message_of<configuration_error>([&] { t.weights("kernel"); });
  CHECK(text ==
        "locus: several weights are called 'kernel'; there are dense/kernel dense_1/kernel");
  CHECK(message_of<configuration_error>([&] {
          t.weights("ernel");
        }).starts_with("locus: no weight is called 'ernel'"));
}

TEST_CASE("averages are taken, swapped, and judged by validation") {
  Matrix const x{{1}, {2}}, y{{2}, {3}};
  auto t = line_trainer(nn::MovingAverage{nn::SGD{}, 0.75});
  double average = 0;
  std::vector<double> seen;
  for (int k = 0; k < 4; ++k) {
    t.train_on_batch(x, y);
    average = k == 0 ? weight_of(t) : 0.75 * average + 0.25 * weight_of(t);
  }
  double const last = weight_of(t);
  t.swap_averages();
  CHECK(weight_of(t) == doctest::Approx(average));
  CHECK(average != doctest::Approx(last));
  t.swap_averages();
  CHECK(weight_of(t) == last);
  t.take_averages();
  CHECK(weight_of(t) == doctest::Approx(average));
  t.take_averages();
  CHECK(weight_of(t) == doctest::Approx(average));

  struct spy : nn::callback {
    std::vector<double> tested, ended;
    static double of(nn::training& t) {
      double w;
      nn::read_values(t.weights()[0], &w);
      return w;
    }
    void on_test_begin(nn::training& t) override { tested.push_back(of(t)); }
    void on_epoch_end(nn::training& t, int, nn::logs&) override { ended.push_back(of(t)); }
  } look;
  auto plain = line_trainer(nn::MovingAverage{nn::SGD{}, 0.75});
  auto swapped = line_trainer(nn::MovingAverage{nn::SGD{}, 0.75});
  nn::SwapEMAWeights averages;
  plain.fit(x, y, {.epochs = 3, .verbose = 0, .shuffle = false});
  auto const h = swapped.fit(x, y,
                             {.epochs = 3,
                              .validation = {x, y},
                              .callbacks = {&averages, &look},
                              .verbose = 0,
                              .shuffle = false});
  CHECK(look.ended[2] == weight_of(plain));  // training went on with the weights
  CHECK(look.tested[2] != look.ended[2]);    // validation saw the averages
  plain.take_averages();
  CHECK(weight_of(swapped) == weight_of(plain));
  CHECK(h["val_loss"][2] == doctest::Approx(plain.evaluate(x, y)["loss"]));
  nn::SwapEMAWeights for_files(true);
  auto again = line_trainer(nn::MovingAverage{nn::SGD{}, 0.75});
  spy last_of;
  again.fit(x, y,
            {.epochs = 3, .callbacks = {&for_files, &last_of}, .verbose = 0, .shuffle = false});
  CHECK(last_of.ended[2] == weight_of(plain));
  CHECK(weight_of(again) == weight_of(plain));

  auto none = line_trainer(nn::SGD{});
  CHECK(message_of<configuration_error>([&] {
          none.take_averages();
        }).find("keeps no averages of weights") != std::string::npos);
  CHECK(message_of<configuration_error>([&] {
          none.fit(x, y, {.callbacks = {&averages}, .verbose = 0});
        }).find("keeps no averages of weights") != std::string::npos);
}

TEST_CASE("before the first step averages are the weights, also those of a file") {
  Matrix const x{{1}, {2}}, y{{2}, {3}};
  std::string const path = "/tmp/locus_averages_" + std::to_string(getpid()) + ".npz";
  auto const how = nn::MovingAverage{nn::SGD{}, 0.75};
  auto trained = line_trainer(how);
  trained.fit(x, y, {.epochs = 3, .verbose = 0});
  nn::save_checkpoint(path, trained);
  auto t = line_trainer(how);
  nn::load_checkpoint(path, t, nn::load::weights);
  CHECK(weight_of(t) == weight_of(trained));
  t.take_averages();
  CHECK(weight_of(t) == weight_of(trained));
  t.swap_averages();
  CHECK(weight_of(t) == weight_of(trained));
  nn::SwapEMAWeights averages;
  t.fit(x, y, {.epochs = 3, .callbacks = {&averages}, .verbose = 0, .initial_epoch = 3});
  CHECK(weight_of(t) == weight_of(trained));
  t.train_on_batch(x, y);
  double const first = weight_of(t);
  CHECK(first != weight_of(trained));
  t.take_averages();
  CHECK(weight_of(t) == first);
  unlink(path.c_str());
}

TEST_CASE("a training that a callback ends by an exception keeps weights and averages") {
  Matrix const x{{1}, {2}}, y{{2}, {3}};
  enum class call { test_begin, test_end, epoch_end, next_epoch };
  struct thrower : nn::callback {
    call when;
    explicit thrower(call w) : when(w) {}
    void fail(call now) const {
      if (now == when) throw std::runtime_error("disk full");
    }
    void on_test_begin(nn::training&) override { fail(call::test_begin); }
    void on_test_end(nn::training&) override { fail(call::test_end); }
    void on_epoch_end(nn::training&, int, nn::logs&) override { fail(call::epoch_end); }
    void on_epoch_begin(nn::training&, int epoch) override {
      if (epoch == 3) fail(call::next_epoch);
    }
  };
  auto const fit = [&](auto& t, int from, int to, std::vector<nn::callback*> callbacks) {
    t.fit(x, y,
          {.epochs = to,
           .validation = {x, y},
           .callbacks = std::move(callbacks),
           .verbose = 0,
           .initial_epoch = from});
  };
  for (call const when : {call::test_begin, call::test_end, call::epoch_end, call::next_epoch})
    for (bool const on_epoch : {false, true}) {
      CAPTURE(int(when));
      CAPTURE(on_epoch);
      auto t = line_trainer(nn::MovingAverage{nn::SGD{}, 0.75});
      auto want = line_trainer(nn::MovingAverage{nn::SGD{}, 0.75});
      nn::SwapEMAWeights averages(on_epoch);
      thrower bad(when);
      bool const before = when == call::test_end || when == call::next_epoch;
      fit(want, 0, 3, {});
      fit(t, 0, 2, {});
      CHECK_THROWS_AS(fit(t, 2, 4,
                          before ? std::vector<nn::callback*>{&bad, &averages}
                                 : std::vector<nn::callback*>{&averages, &bad}),
                      std::runtime_error);
      CHECK(weight_of(t) == weight_of(want));
      t.swap_averages(), want.swap_averages();
      CHECK(weight_of(t) == weight_of(want));
      t.swap_averages(), want.swap_averages();
      fit(t, 3, 4, {&averages});
      nn::SwapEMAWeights fresh;
      fit(want, 3, 4, {&fresh});
      CHECK(weight_of(t) == weight_of(want));
    }
}

TEST_CASE("a learning rate that a training has set goes on from a checkpoint") {
  Matrix const x{{1}, {2}}, y{{2}, {3}};
  std::string const path = "/tmp/locus_rate_" + std::to_string(getpid()) + ".npz";
  auto const how = [](nn::rate r) { return nn::MovingAverage{nn::SGD{.learning_rate = r}, 0.9}; };
  auto saved = line_trainer(how(0.1));
  saved.train_on_batch(x, y);
  saved.set_learning_rate(0.001);
  nn::save_checkpoint(path, saved);

  auto t = line_trainer(how(0.1));
  nn::load_checkpoint(path, t, nn::load::weights);
  CHECK(t.learning_rate() == 0.1);
  nn::load_checkpoint(path, t);
  CHECK(t.learning_rate() == 0.001);
  saved.train_on_batch(x, y), t.train_on_batch(x, y);
  CHECK(weight_of(t) == weight_of(saved));
  auto scheduled = line_trainer(how(nn::ExponentialDecay{0.5, 1, 0.5}));
  nn::load_checkpoint(path, scheduled);
  CHECK(scheduled.learning_rate() == 0.25);  // the schedule, at the file's step
  auto without = line_trainer(how(0.1));     // reads as before there were settings
  nn::load_checkpoint(path, without.weights(), without.optimizer_state(), without.counters());
  CHECK(without.learning_rate() == 0.1);
  CHECK(without.iterations() == 1);

  nn::save_checkpoint(path, scheduled);
  nn::load_checkpoint(path, t);
  CHECK(t.learning_rate() == 0.001);
  t.set_learning_rate(0.01);
  nn::save_checkpoint(path, t.weights(), t.optimizer_state(), t.counters(), {});  // an older file
  nn::load_checkpoint(path, saved);
  CHECK(saved.learning_rate() == 0.001);

  Tensor<double, Dextents<1>> w{1, 2};
  nn::optimizer a{nn::SGD{.learning_rate = 0.5}, w}, b{nn::SGD{}, w};
  nn::save_checkpoint(path, a);
  nn::load_checkpoint(path, b);
  CHECK(b.learning_rate() == 0.5);
  unlink(path.c_str());
}

TEST_CASE("a number of steps ends a prediction, and 0 of them are refused") {
  Matrix const x{{1}, {2}, {3}, {4}, {5}}, y{{2}, {3}, {4}, {5}, {6}};
  auto t = line_trainer(nn::SGD{});
  auto const all = t.predict(x);
  auto const set = data::from_tensors(x, y).batch(2);
  auto const rows = [&](auto const& p, std::int64_t n) {
    REQUIRE(p.extent(0) == n);
    for (std::int64_t i = 0; i < n; ++i) CHECK(p(i, 0) == all(i, 0));
  };
  rows(t.predict(x, {.batch_size = 2, .steps = 1}), 2);
  rows(t.predict(x, {.batch_size = 2, .steps = 2}), 4);
  rows(t.predict(x, {.batch_size = 2, .steps = 3}), 5);
  rows(t.predict(x, {.batch_size = 2, .steps = std::numeric_limits<std::int64_t>::max()}), 5);
  rows(t.predict(set, {.steps = 2}), 4);
  rows(t.predict(set, {.steps = 9}), 5);
  auto const says = [](auto const& f) { return message_of<configuration_error>(f); };
  std::string const remedy = " is 0; give a number of batches, or -1 for all of them";
  CHECK(says([&] { t.predict(x, {.steps = 0}); }) == "locus: .steps of predict" + remedy);
  CHECK(says([&] { t.predict(set, {.steps = 0}); }) == "locus: .steps of predict" + remedy);
  CHECK(says([&] { t.evaluate(x, y, {.steps = 0}); }) == "locus: .steps of evaluate" + remedy);
  double const before = weight_of(t);
  CHECK(says([&] { t.fit(x, y, {.validation = {x, y}, .verbose = 0, .validation_steps = 0}); }) ==
        "locus: .validation_steps of fit" + remedy);
  CHECK(weight_of(t) == before);
}

TEST_CASE("a batch without rows is refused, and a loss that is no number is said once") {
  Tensor<double, Extents<dyn, 1>> const none(0);
  auto t = line_trainer(nn::SGD{});
  CHECK(message_of<shape_error>([&] {
          t.train_on_batch(none, none);
        }).find("a batch has no rows") != std::string::npos);
  Matrix const x{{1}, {std::numeric_limits<double>::quiet_NaN()}}, y{{1}, {1}};
  {
    lines said;
    CHECK(std::isnan(t.fit(x, y, {.epochs = 3, .verbose = 0})["loss"][2]));
    int count = 0;
    for (auto const& l : said.all) count += l.find("the loss of epoch 1 is no finite") != l.npos;
    CHECK(count == 1);
    CHECK(said.all.size() == 1);
  }
  {
    lines said;
    auto single = line_trainer(nn::SGD{});
    single.train_on_batch(Matrix{{1}}, Matrix{{1}});
    CHECK(said.all.empty());
    single.train_on_batch(x, y), single.train_on_batch(x, y);
    CHECK(said.all.size() == 1);
  }
  // validation of temporaries lives as long as the options
  auto fresh = line_trainer(nn::SGD{});
  decltype(fresh)::fit_options o{.verbose = 0};
  o.validation = {Matrix{{1}, {2}}, Matrix{{2}, {3}}};
  auto const h = fresh.fit(Matrix{{1}}, Matrix{{1}}, o);
  CHECK(h["val_loss"][0] ==
        doctest::Approx(fresh.evaluate(Matrix{{1}, {2}}, Matrix{{2}, {3}})["loss"]));
  o.validation = data::from_tensors(Matrix{{1}, {2}}, Matrix{{2}, {3}}).batch(1);
  CHECK(fresh.fit(Matrix{{1}}, Matrix{{1}}, o)["val_loss"].size() == 1);
}

TEST_CASE("validation data: temporary ones are kept, those with names are read where they lie") {
  Matrix const x{{1}, {2}}, y{{2}, {3}};
  Matrix named{{2}, {3}};
  struct change : nn::callback {
    Matrix& of;
    explicit change(Matrix& m) : of(m) {}
    void on_epoch_end(nn::training&, int epoch, nn::logs&) override {
      if (epoch == 0) of = Matrix{{20}, {30}};
    }
  } between(named);
  auto t = line_trainer(nn::SGD{.learning_rate = 0});  // nothing is learnt: the data alone change
  auto const expected = [&](Matrix const& targets) { return t.evaluate(x, targets)["loss"]; };
  auto const first = expected(y), second = expected(Matrix{{20}, {30}});
  REQUIRE(first != second);
  auto const h =
      t.fit(x, y, {.epochs = 2, .validation = {x, named}, .callbacks = {&between}, .verbose = 0});
  CHECK(h["val_loss"] == std::vector<double>{first, second});
  using options = decltype(t)::fit_options;
  auto const kept = [&]() -> options {
    return {.epochs = 2, .validation = {Matrix(x), Matrix(y)}, .verbose = 0};
  }();
  CHECK(t.fit(x, y, kept)["val_loss"] == std::vector<double>{first, first});
}

TEST_CASE(
    "arrays of any order in memory: views with strides and ColumnMajor arrays give the same rows") {
  std::int64_t const rows = 7;
  Matrix x(rows, 2), y(rows, 1);
  Tensor<double, Dextents<1>> w(rows);
  std::vector<double> columns(14), backwards(14), spread(14, 1e6), weights(14, 1e6);
  std::vector<float> narrow(14);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < 2; ++j) {
      double const v = double((5 * i + 3 * j) % 11) - 4.5;
      x(i, j) = v, columns[std::size_t(j * rows + i)] = v;
      backwards[std::size_t((rows - 1 - i) * 2 + j)] = v;
      narrow[std::size_t(j * rows + i)] = float(v);
    }
    y(i, 0) = spread[std::size_t(2 * i)] = double(i * i) - 3;
    w(i) = weights[std::size_t(2 * i)] = 1 + double(i % 3);
  }
  auto const by_columns = view<CpuDevice>(columns.data(), dextents<2>{rows, 2}, layout_left{});
  auto const of_floats = view<CpuDevice>(narrow.data(), dextents<2>{rows, 2}, layout_left{});
  auto const last_first =
      view<CpuDevice>(backwards.data() + 12, dextents<2>{rows, 2}, layout_stride{{-2, 1}});
  auto const dense = view<CpuDevice>(x.data(), dextents<2>{rows, 2});
  auto const targets = view<CpuDevice>(spread.data(), dextents<2>{rows, 1}, layout_stride{{2, 1}});
  auto const each = view<CpuDevice>(weights.data(), dextents<1>{rows}, layout_stride{{2}});
  ColumnMajor<double, Dextents<2>> const fortran(x);

  auto t = nn::compile<Mirrored<CpuDevice>, double>(nn::Sequential{nn::Input<2>{}, nn::Dense<1>{}},
                                                    nn::SGD{.01}, nn::MeanSquaredError{});
  auto const predicted = t.predict(x, {.batch_size = 3});
  double const loss = t.evaluate(x, y)["loss"], weighted = t.evaluate(x, y, w)["loss"];
  REQUIRE(loss != weighted);
  auto const same = [&](auto const& of) {
    auto const p = t.predict(of, {.batch_size = 3});
    REQUIRE(p.extent(0) == rows);
    for (std::int64_t i = 0; i < rows; ++i) CHECK(p(i, 0) == predicted(i, 0));
    CHECK(t.evaluate(of, y, {.batch_size = 3})["loss"] == doctest::Approx(loss));
    CHECK(t.evaluate(of, targets)["loss"] == doctest::Approx(loss));
    CHECK(t.evaluate(of, targets, each)["loss"] == doctest::Approx(weighted));
  };
  same(by_columns), same(last_first), same(dense), same(fortran), same(of_floats);

  // a step, and an epoch: the losses are those of the dense arrays
  auto const first = [&](auto const& of, auto const& wanted) {
    auto fresh = nn::compile<Mirrored<CpuDevice>, double>(
        nn::Sequential{nn::Input<2>{}, nn::Dense<1>{}}, nn::SGD{.01}, nn::MeanSquaredError{});
    double const step = fresh.train_on_batch(of, wanted)["loss"];
    auto const h = fresh.fit(of, wanted, {.epochs = 2, .verbose = 0, .batch_size = 2});
    return std::vector<double>{step, h["loss"][0], h["loss"][1]};
  };
  auto const by_rows = first(x, y);
  CHECK(first(by_columns, targets) == by_rows);
  CHECK(first(last_first, y) == by_rows);
  CHECK(first(fortran, targets) == by_rows);
  CHECK(first(dense, y) == by_rows);
  CHECK(first(of_floats, targets) == by_rows);
}

TEST_CASE("labels of a view with strides are checked where they lie") {
  std::int32_t const labels[] = {0, 99, 1, 99, 2, 99};  // every second one is a label
  auto const y = view<CpuDevice>(labels, dextents<1>{3}, layout_stride{{2}});
  Matrix const x{{1}, {2}, {3}};
  auto t = nn::compile<CpuDevice, double>(
      nn::Sequential{nn::Input<1>{}, nn::Dense<3, nn::activation::softmax>{}}, nn::SGD{.01},
      nn::SparseCategoricalCrossentropy{});
  Tensor<std::int32_t, Dextents<1>> const dense{0, 1, 2};
  double const loss = t.evaluate(x, dense)["loss"];
  CHECK(t.evaluate(x, y)["loss"] == doctest::Approx(loss));
  CHECK(t.train_on_batch(x, y)["loss"] == doctest::Approx(loss));
}

}  // namespace trainer_interface_test
