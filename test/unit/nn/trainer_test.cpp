// SPDX-License-Identifier: Apache-2.0
#include <worst_of.hpp>

#include <locus/nn/train/trainer.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include <unistd.h>

#include "message_of.hpp"

#include <locus/data/dataset.hpp>
#include <locus/locus.hpp>
#include <locus/nn/layers/batch_norm.hpp>
#include <locus/nn/layers/conv.hpp>
#include <locus/nn/layers/embedding.hpp>
#include <locus/nn/layers/frozen.hpp>
#include <locus/nn/layers/residual.hpp>
#include <locus/nn/layers/shared.hpp>
#include <locus/nn/train/callbacks.hpp>
#include <locus/testing/simulated_gpus.hpp>

namespace trainer_test {

using namespace locus;

namespace {

// One kind of replicas for all numbers of them: a kind of its own would compile every plan again.
using Gpus = Mirrored<AllGpus>;
using Cpus = Mirrored<Cpu<0>, Cpu<1>, Cpu<2>>;

template <class T>
struct data_of {
  Tensor<T, Extents<dyn, 2, 3>, CpuDevice> x;
  Tensor<std::uint8_t, Dextents<1>, CpuDevice> y;
  explicit data_of(std::int64_t n, std::uint64_t seed = 3)
      : x(cast<T>(uniform<double>(Extents<dyn, 2, 3>(n), locus::seed{seed}, -1, 1))),
        y(Dextents<1>(n)) {
    for (std::int64_t i = 0; i < n; ++i) {
      T const* const v = x.data() + 6 * i;
      y.data()[i] = std::uint8_t((v[0] + v[5] > 0 ? 1 : 0) + (v[1] > v[4] ? 2 : 0));
    }
  }
};

/// every kind of layer that has no window
auto all_layers() {
  auto const twice = nn::shared(nn::Dense<8>{nn::relu});
  return nn::Sequential{nn::Input<2, 3>{},
                        nn::Reshape<3, 2>{},
                        nn::Flatten{},
                        nn::Dense<8>{nn::relu},
                        twice,
                        nn::Dropout{0.2},
                        twice,
                        nn::Residual{nn::Dense<5, nn::tanh>{}, nn::Dense<8>{}},
                        nn::Residual{nn::Dense<7>{nn::elu}}.branch(nn::Dense<7>{}),
                        nn::Activation{nn::sigmoid},
                        nn::Dense<4>{}};
}

auto small() {
  return nn::Sequential{nn::Input<2, 3>{}, nn::Flatten{}, nn::Dense<8>{nn::relu}, nn::Dense<4>{}};
}

template <class Replicas, class T, class Model = decltype(all_layers())>
auto trainer_of(Model const& model = all_layers()) {
  return nn::compile<Replicas, T>(model, nn::Adam{0.01},
                                  nn::SparseCategoricalCrossentropy{nn::from_logits},
                                  nn::SparseCategoricalAccuracy{});
}

/// the loss of each of n steps over batches of 13, 13 and 7 rows
template <class Replicas, class T, class Model = decltype(all_layers())>
std::vector<double> losses(int n, nn::weighting weights = nn::weighting::global_batch,
                           Model const& model = all_layers()) {
  data_of<T> const d(33);
  auto trainer = trainer_of<Replicas, T>(model);
  struct each_step : nn::callback {
    std::vector<double> sums;  // of the epoch so far
    bool wants_batch_logs() const override { return true; }
    void on_batch_end(nn::training&, std::int64_t, nn::logs const& l) override {
      sums.push_back(l["loss"]);
    }
  } each;
  trainer.fit(d.x, d.y,
              {.epochs = (n + 2) / 3,
               .callbacks = {&each},
               .verbose = 0,
               .batch_size = 13,
               .weights = weights});
  each.sums.push_back(trainer.evaluate(d.x, d.y, {.batch_size = 10})["loss"]);
  return each.sums;
}
double largest_difference(std::vector<double> const& a, std::vector<double> const& b) {
  REQUIRE(a.size() == b.size());
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = worst_of(most, std::fabs(a[i] - b[i]));
  return most;
}

}  // namespace

TEST_CASE("losses of 200 steps in double are those of one replica for any number of replicas") {
  std::vector<double> const one = losses<Gpus, double>(200);  // no GPU: one CPU
  CHECK(one.size() >= 200);
  CHECK(one.back() < 0.4);
  for (int n = 1; n <= 4; ++n) {
    testing::simulated_gpus const gpus{n, {.seed = unsigned(n)}};
    CAPTURE(n);
    CHECK(largest_difference(one, losses<Gpus, double>(200)) < 1e-9);
  }
}

TEST_CASE("replicas on logical CPUs are as good as one") {
  auto const all = nn::weighting::global_batch;
  CHECK(largest_difference(losses<Gpus, double>(200, all, small()),
                           losses<Cpus, double>(200, all, small())) < 1e-9);
}

TEST_CASE("losses of 20 steps in float are those of one replica for any number of replicas") {
  auto const all = nn::weighting::global_batch;
  std::vector<double> const one = losses<Gpus, float>(20, all, small());
  CHECK(largest_difference(one, losses<Gpus, double>(20, all, small())) < 1e-3);
  for (int n = 2; n <= 4; ++n) {
    testing::simulated_gpus const gpus{n};
    CAPTURE(n);
    CHECK(largest_difference(one, losses<Gpus, float>(20, all, small())) < 1e-5);
  }
}

TEST_CASE("TensorFlow's weights of uneven pieces are another gradient, on request") {
  testing::simulated_gpus const gpus{3};
  CHECK(largest_difference(losses<Gpus, double>(20),
                           losses<Gpus, double>(20, nn::weighting::per_replica)) > 1e-6);
}

TEST_CASE("gradients are the central differences of the loss, through shared layers and branches") {
  testing::simulated_gpus const gpus{2};
  data_of<double> const d(11);
  nn::Network<decltype(all_layers()), double, Gpus> net(all_layers());
  decltype(net)::kept_type kept{};
  nn::pass const p{true, 5, 9};
  auto const x = net.batch_of_examples(d.x);
  auto const loss = [&] {
    auto const y = net.state().forward(x, kept, p);
    return fetch(sum(y * y * y));
  };
  {
    auto const y = net.state().forward(x, kept, p);
    auto dx = net.state().backward(x, y, kept, decltype(net)::out_batch(3.0 * (y * y)), true);
    CHECK(dx.extents() == x.extents());
  }
  double worst = 0, largest = 0;
  for (auto* const w : net.parameters()) {
    auto const g = to<CpuDevice>(w->gradient);
    nn::stored const cell{"", w->extents, true, w->value.block.get()};
    std::vector<double> values(std::size_t(w->size()));
    nn::read_values(cell, values.data());
    for (std::size_t i = 0; i < values.size(); i += 5) {
      double const v = values[i], h = 1e-6;
      values[i] = v + h, nn::write_values(cell, values.data());
      double const above = loss();
      values[i] = v - h, nn::write_values(cell, values.data());
      double const below = loss();
      values[i] = v, nn::write_values(cell, values.data());
      worst = worst_of(worst, std::fabs((above - below) / (2 * h) - g.data()[i]));
      largest = std::max(largest, std::fabs(g.data()[i]));
    }
  }
  CHECK(net.parameters().size() == 14);
  CHECK(largest > 0.1);
  CHECK(worst < 1e-7 * largest);
}

TEST_CASE("a small problem is learned, and predictions come in the order of their rows") {
  testing::simulated_gpus const gpus{3};
  data_of<double> const train(600), test(200, 77);
  auto trainer = trainer_of<Gpus, double>();
  auto const h =
      trainer.fit(train.x, train.y, {.epochs = 30, .validation = {test.x, test.y}, .verbose = 0});
  CHECK(h["loss"].size() == 30);
  CHECK(h["loss"].back() < h["loss"].front() / 2);
  CHECK(h["val_sparse_categorical_accuracy"].back() > 0.9);
  auto const p = trainer.predict(test.x, {.batch_size = 7});  // 200 = 28 * 7 + 4
  CHECK(p.extents() == Dextents<2>(200, 4));
  std::int64_t hits = 0;
  for (std::int64_t i = 0; i < 200; ++i) {
    double const* const row = p.data() + 4 * i;
    hits += std::max_element(row, row + 4) - row == test.y.data()[i];
  }
  CHECK(double(hits) / 200 == doctest::Approx(h["val_sparse_categorical_accuracy"].back()));
  auto const on_host = nn::to<CpuDevice>(trainer);
  CHECK(all_close(on_host->predict(test.x), p, 1e-12));
}

TEST_CASE("summary is Keras' table") {
  std::ostringstream out;
  nn::summary(out, nn::Sequential{nn::Input<2, 3>{}, nn::Flatten{}, nn::Dense<1000>{nn::relu},
                                  nn::Dropout{}, nn::Dense<4, nn::softmax>{}}
                       .named("small"));
  CHECK(out.str() == R"(Model: "small"
┏━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━┓
┃ Layer (type)                    ┃ Output Shape           ┃       Param # ┃
┡━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━┩
│ flatten (Flatten)               │ (None, 6)              │             0 │
├─────────────────────────────────┼────────────────────────┼───────────────┤
│ dense (Dense)                   │ (None, 1000)           │         7,000 │
├─────────────────────────────────┼────────────────────────┼───────────────┤
│ dropout (Dropout)               │ (None, 1000)           │             0 │
├─────────────────────────────────┼────────────────────────┼───────────────┤
│ dense_1 (Dense)                 │ (None, 4)              │         4,004 │
└─────────────────────────────────┴────────────────────────┴───────────────┘
 Total params: 11,004 (42.98 KB)
 Trainable params: 11,004 (42.98 KB)
 Non-trainable params: 0 (0.00 B)
)");
}

TEST_CASE("explain shows one bucket for each layer, the last one first, and changes nothing") {
  testing::simulated_gpus const gpus{2};
  data_of<double> const d(20);
  auto trainer = trainer_of<Gpus, double>();
  trainer.fit(d.x, d.y, {.epochs = 2, .verbose = 0});
  double const before = trainer.evaluate(d.x, d.y)["loss"];
  std::ostringstream out;
  explain(out, trainer, 6);
  std::string const text = out.str();
  auto const at = [&](std::string const& part, std::size_t from = 0) {
    std::size_t const found = text.find(part, from);
    CHECK_MESSAGE(found != text.npos, part);
    return found;
  };
  std::size_t const forward = at("dense, forward"), judge = at("loss and metrics"),
                    last = at("dense_7, pullback"), first = at("dense, pullback"),
                    update = at("updates that waited for others");
  CHECK(forward < judge);
  CHECK(judge < last);
  CHECK(last < first);
  CHECK(first < update);
  CHECK(at("1 all-reduce (", last) < first);
  CHECK(trainer.evaluate(d.x, d.y)["loss"] == before);
  CHECK(trainer.iterations() == 2);
}

TEST_CASE("what fit cannot do is said") {
  data_of<double> const d(20);
  auto trainer = trainer_of<Gpus, double>();
  auto const says = [](auto&& f) { return message_of<error>(f); };
  Tensor<std::int32_t, Dextents<1>, CpuDevice> labels(Dextents<1>(20));
  for (int i = 0; i < 20; ++i) labels.data()[i] = i == 17 ? 4 : 1;
  CHECK(
      says([&] { trainer.fit(d.x, labels, {.verbose = 0, .batch_size = 20, .shuffle = false}); }) ==
      "locus: the label of row 17 of a batch is 4, outside [0, 4), the classes that the model "
      "predicts; drop the record or give the last layer more units");
  {  // labels of pixels, wider than those that a loss reads: the row is that of the image
    auto pixels = nn::compile<CpuDevice, double>(
        nn::Sequential{nn::Input<2, 2, 1>{}, nn::Conv2D<3, 1, 1>{}}, nn::SGD{},
        nn::SparseCategoricalCrossentropy{nn::from_logits});
    Tensor<double, Dextents<4>> const x(zeros<double>(dextents<4>(3, 2, 2, 1)));
    Tensor<std::int64_t, Dextents<3>> wide(full<std::int64_t>(dextents<3>(3, 2, 2), 2));
    CHECK(says([&] { pixels.train_on_batch(x, wide); }) == nothing_thrown);
    wide.data()[6] = (std::int64_t(1) << 32) + 1;
    CHECK(
        says([&] { pixels.train_on_batch(x, wide); }) ==
        "locus: the label of row 1 of a batch is 4294967297, outside [0, 3), the classes that the "
        "model predicts; drop the record or give the last layer more units");
  }
  {  // of a dataset, they are at their devices when they become narrower
    Tensor<std::int64_t, Dextents<1>> wide(full<std::int64_t>(dextents<1>(20), 1));
    auto const fit = [&] {
      return says([&] { trainer.fit(data::from_tensors(d.x, wide).batch(10), {.verbose = 0}); });
    };
    CHECK(fit() == nothing_thrown);
    wide.data()[14] = (std::int64_t(1) << 32) + 1;
    CHECK(fit().starts_with("locus: the label of row 4 of a batch is 2147483647, outside [0, 4)"));
    wide.data()[14] = -(std::int64_t(1) << 32) + 1;
    CHECK(fit().starts_with("locus: the label of row 4 of a batch is -2147483648, outside"));
  }
  Tensor<double, Extents<dyn, 2, 3>, CpuDevice> const none(Extents<dyn, 2, 3>(0));
  Tensor<std::uint8_t, Dextents<1>, CpuDevice> const no_labels(Dextents<1>(0));
  CHECK(says([&] { trainer.fit(none, no_labels, {.verbose = 0}); }) ==
        "locus: fit got a dataset without batches; look at what it reads, and at drop_remainder");
  CHECK(says([&] { trainer.fit(d.x, no_labels, {.verbose = 0}); }) ==
        "locus: 20 examples come with 0 targets; each example needs one");
  CHECK(says([&] { trainer.fit(d.x, d.y, {.verbose = 0, .batch_size = 0}); }) ==
        "locus: the batch size is 0; write a positive number");
  Tensor<double, Extents<dyn, 3, 2>, CpuDevice> const turned(zeros<double>(Extents<dyn, 3, 2>(20)));
  CHECK(says([&] { trainer.fit(turned, d.y, {.verbose = 0}); }) ==
        "locus: a batch with extents [20,3,2] holds examples of [3,2], and the model takes [2,3]; "
        "reshape the data, or name its extents in nn::Input");
}

TEST_CASE("tokens of any type are those of 32 bits, or are refused") {
  auto trainer = nn::compile<Gpus, double>(
      nn::Sequential{nn::Embedding<2, 2>{5}, nn::Flatten{}, nn::Dense<1>{}}, nn::SGD{},
      nn::MeanSquaredError{});
  auto const look = [&]<class T>(std::type_identity<T>, T bad, std::string const& on_host,
                                 std::string const& at_devices) {
    Tensor<T, Dextents<2>> tokens{{T(1), T(2)}, {T(4), T(0)}};
    Tensor<double, Dextents<2>> const y{{0}, {0}};
    Tensor<std::int32_t, Dextents<2>> const narrow{{1, 2}, {4, 0}};
    auto const of_batches = [&] { return trainer.predict(data::from_tensors(tokens).batch(2)); };
    auto const expected = trainer.predict(narrow), one = trainer.predict(tokens),
               other = of_batches();
    for (std::int64_t i = 0; i < 2; ++i) {
      CHECK(one.data()[i] == expected.data()[i]);
      CHECK(other.data()[i] == expected.data()[i]);
    }
    tokens(1, 0) = bad;
    CHECK(message_of<shape_error>([&] { trainer.predict(tokens); }) ==
          "locus: row 1 of a batch holds " + on_host +
              ", and the model reads whole numbers of 32 bits; drop the record, or map it to such "
              "numbers");
    CHECK(message_of<shape_error>(of_batches).find("token " + at_devices + " at position 0 of") !=
          std::string::npos);
  };
  constexpr std::int64_t above = (std::int64_t(1) << 32) + 1;
  look(std::type_identity<std::int64_t>{}, above, "4294967297", "2147483647");
  look(std::type_identity<std::int64_t>{}, -above, "-4294967297", "-2147483648");
  look(std::type_identity<std::uint64_t>{}, ~std::uint64_t(0), "18446744073709551615",
       "2147483647");
  look(std::type_identity<float>{}, 1.5f, "1.5", "-1");
  look(std::type_identity<float>{}, NAN, "nan", "-1");
  look(std::type_identity<double>{}, double(above), "4294967297", "-1");
}

TEST_CASE("a first batch with fewer rows than replicas is refused") {
  testing::simulated_gpus const gpus{4};
  data_of<double> const d(20);
  auto on_four = trainer_of<Gpus, double>();
  CHECK(message_of<shape_error>([&] { on_four.fit(d.x, d.y, {.verbose = 0, .batch_size = 3}); }) ==
        "locus: a batch of 3 rows over 4 replicas leaves replicas without work; give each batch at "
        "least 4 rows, or take fewer replicas");
}

TEST_CASE("a loss that is NaN stops with its step and the layer") {
  data_of<double> d(20);
  auto trainer = trainer_of<Gpus, double>();
  trainer.fit(d.x, d.y, {.epochs = 3, .verbose = 0, .batch_size = 10});
  auto const run = [&] {
    trainer.fit(d.x, d.y, {.epochs = 1, .verbose = 0, .batch_size = 10, .stop_on_nan = true});
  };
  auto const weights = trainer.weights();
  REQUIRE(weights[2].name == "dense_1/kernel");
  std::vector<double> values(std::size_t(weights[2].extents.size())), broken;
  nn::read_values(weights[2], values.data());
  broken = values, broken[3] = NAN;
  nn::write_values(weights[2], broken.data());
  CHECK(message_of<nn::not_finite>(run) ==
        "locus: the loss is no finite number in step 6 (epoch 1, batch 1): the first layer that "
        "makes NaN or infinity is 'dense_1', and 'dense_1/kernel' holds some already; lower the "
        "learning rate, or clip");
  nn::write_values(weights[2], values.data());
  CHECK(message_of<nn::not_finite>(run) == nothing_thrown);  // the step before was not made
  d.x.data()[5] = INFINITY;
  CHECK(message_of<nn::not_finite>(run).find("the batch itself holds NaN or infinity") !=
        std::string::npos);
}

namespace {
/// means: the text of a fit with stop_on_nan, which leaves all weights as they are
template <class Trainer, class... Data>
std::string stopped_by(Trainer& trainer, Data const&... data) {
  auto const values = [&] {
    std::vector<std::vector<double>> all;
    for (nn::stored const& w : trainer.weights()) {
      all.emplace_back(std::size_t(w.extents.size()));
      nn::read_values(w, all.back().data());
    }
    return all;
  };
  auto const before = values();
  std::string const text = message_of<nn::not_finite>(
      [&] { trainer.fit(data..., {.verbose = 0, .stop_on_nan = true}); });
  CHECK(values() == before);
  return text;
}
}  // namespace

TEST_CASE("numbers of any floating type are looked at") {
  auto const look = [](auto type) {
    using T = decltype(type);
    Tensor<T, Extents<3>> x;
    for (int i = 0; i < 3; ++i) x.data()[i] = T(float(i));
    CHECK_FALSE(nn::detail::is_not_finite(*x.block.get()));
    x.data()[2] = T(__builtin_inff());
    CHECK(nn::detail::is_not_finite(*x.block.get()));
    x.data()[2] = T(__builtin_nanf(""));
    CHECK(nn::detail::is_not_finite(*x.block.get()));
  };
  look(0.f), look(0.), look(half(0)), look(bfloat16(0));
}

TEST_CASE("a step in front of which a fit stops moves no statistics") {
  auto const look = [](auto norm) {
    Tensor<double, Dextents<2>> const x(uniform<double>(Dextents<2>(10, 3), seed{1})),
        y(uniform<double>(Dextents<2>(10, 1), seed{2}));
    auto trainer = nn::compile<Gpus, double>(
        nn::Sequential{nn::Input<3>{}, nn::Dense<3>{}, nn::Residual{nn::Dense<3>{}, norm},
                       nn::frozen(nn::BatchNorm{}), nn::Dense<1>{}},
        nn::SGD{0.01}, nn::MeanSquaredError{});
    trainer.fit(x, y, {.verbose = 0, .stop_on_nan = true});
    std::array<double, 3> means{};
    nn::read_values(trainer.weights("batch_normalization/moving_mean"), means.data());
    CHECK(means[0] != 0);  // a step that is made moves them
    auto const loss = trainer.evaluate(x, y)["loss"];
    Tensor<double, Dextents<2>> bad = x;
    bad.data()[4] = NAN;
    CHECK(stopped_by(trainer, bad, y).find("the batch itself holds NaN") != std::string::npos);
    for (std::int64_t i = 0; i < bad.size(); ++i) bad.data()[i] = 1e308;  // in any order of rows
    std::string const text = stopped_by(trainer, bad, y);
    CHECK(text.find("the first layer that makes NaN or infinity is '") != std::string::npos);
    CHECK(text.find("whose weights are finite") != std::string::npos);
    CHECK(trainer.evaluate(x, y)["loss"] == loss);
  };
  look(nn::BatchNorm{});
  look(nn::BatchNorm<nn::cross_replica>{});
  testing::simulated_gpus const two{2};
  look(nn::BatchNorm{});
}

TEST_CASE("targets and weights that are no numbers are named") {
  Tensor<double, Dextents<2>> const x{{1}, {2}, {3}}, y{{1}, {2}, {3}};
  Tensor<double, Dextents<1>> rows{1, 1, 1};
  auto trainer = nn::compile<Gpus, double>(nn::Sequential{nn::Input<1>{}, nn::Dense<1>{}},
                                           nn::SGD{}, nn::MeanSquaredError{});
  auto bad = y;
  bad(1, 0) = INFINITY;
  CHECK(
      stopped_by(trainer, x, bad)
          .ends_with(": the targets of the batch hold NaN or infinity; look at the data, or write "
                     ".require_finite() behind the dataset"));
  rows(2) = NAN;
  CHECK(stopped_by(trainer, x, y, rows)
            .find(": the weights of its losses hold NaN or infinity; look at the data") !=
        std::string::npos);
  bad(1, 0) = 1e300;
  CHECK(stopped_by(trainer, x, bad)
            .ends_with(": all layers, targets and weights are finite, so it is the loss: a label "
                       "that is no class, "
                       "a logarithm of 0, or a number that is too large"));
}

TEST_CASE("callbacks hear of epochs and steps, stop a training, and set its learning rate") {
  struct log : nn::callback {
    std::string heard;
    void on_train_begin(nn::training& t) override {
      heard += "begin" + std::to_string(t.epochs()) + "," + std::to_string(t.steps()) + " ";
    }
    void on_epoch_begin(nn::training& t, int epoch) override {
      heard += "e" + std::to_string(epoch) + " ";
      t.set_learning_rate(0.25);
    }
    void on_batch_end(nn::training&, std::int64_t step, nn::logs const&) override {
      heard += std::to_string(step);
    }
    void on_epoch_end(nn::training& t, int epoch, nn::logs& l) override {
      l.set("rate", t.learning_rate());
      if (epoch == 3) t.stop();
      heard += " ";
    }
    void on_train_end(nn::training&, nn::logs const& l) override {
      heard += l.has("loss") ? "end" : "?";
    }
  } seen;
  data_of<double> const d(20);
  auto trainer = trainer_of<Gpus, double>();
  auto const h = trainer.fit(
      d.x, d.y,
      {.epochs = 9, .callbacks = {&seen}, .verbose = 0, .initial_epoch = 2, .batch_size = 8});
  CHECK(seen.heard == "begin9,3 e2 012 e3 012 end");
  CHECK(h.stopped);
  CHECK(h.epoch == std::vector<int>{2, 3});
  CHECK(h["rate"] == std::vector<double>{0.25, 0.25});
  auto const few = trainer.fit(
      d.x, d.y,
      {.epochs = 3, .verbose = 0, .steps_per_epoch = 2, .batch_size = 8});  // 6 steps: two passes
  CHECK(few.epochs.size() == 3);
  CHECK(trainer.iterations() == 12);
}

TEST_CASE(
    "fit goes on through the epochs of a dataset; evaluate and predict leave it where it is") {
  using Order = std::vector<std::int64_t>;
  Order seen;
  auto const rows_in_order = [&seen] {
    return data::range(6)
        .shuffle({.seed = 3})
        .map([&seen](std::int64_t i) {
          seen.push_back(i);
          return std::tuple(std::array<double, 1>{double(i)}, std::array<double, 1>{0.});
        })
        .batch(2);
  };
  auto const orders_of = [&](auto&& f) {  // of the passes that f makes
    seen.clear(), f();
    std::vector<Order> all;
    for (auto at = seen.begin(); at != seen.end();
         at += std::min<std::ptrdiff_t>(6, seen.end() - at))
      all.emplace_back(at, at + std::min<std::ptrdiff_t>(6, seen.end() - at));
    return all;
  };
  std::vector<Order> const expected = orders_of([set = rows_in_order()]() mutable {
    for (int e = 0; e < 9; ++e)
      for (auto&& [x, y] : set) CHECK(x.extent(0) == y.extent(0));
  });
  REQUIRE(expected.size() == 9);
  auto const from = [&](std::size_t e, std::size_t n = 1) {
    return std::vector<Order>(expected.begin() + std::ptrdiff_t(e),
                              expected.begin() + std::ptrdiff_t(e + n));
  };
  auto trainer = nn::compile<CpuDevice, double>(nn::Sequential{nn::Input<1>{}, nn::Dense<1>{}},
                                                nn::SGD{0.}, nn::MeanSquaredError{});
  auto const fit = [&](auto& data, int epochs = 1, int initial = 0, std::int64_t steps = -1) {
    return orders_of([&] {
      trainer.fit(
          data,
          {.epochs = epochs, .verbose = 0, .initial_epoch = initial, .steps_per_epoch = steps});
    });
  };
  auto const look = [&](auto set) {
    auto const evaluate = [&] { return orders_of([&] { trainer.evaluate(set); }); };
    CHECK(evaluate() == from(0));
    CHECK(fit(set, 2) == from(0, 2));
    CHECK(set.epoch() == 1);
    CHECK(fit(set) == from(2));
    CHECK(evaluate() == from(2));
    CHECK(evaluate() == from(2));
    CHECK(orders_of([&] { trainer.predict(set); }) == from(2));
    CHECK(fit(set) == from(3));
    CHECK(orders_of([&] {
            for (auto&& batch : set) CHECK(std::get<0>(batch).extent(0) == 2);
          }) == from(4));
    CHECK(fit(set, 3, 0, 2) == from(5, 2));  // three epochs of two batches
    CHECK(fit(set, 4, 4).empty());
    set.seek_epoch(1);
    CHECK(fit(set) == from(1));
    CHECK(fit(set, 6, 5) == from(5));  // goes on from a checkpoint
    CHECK(fit(set) == from(6));
    auto const constant = set;
    CHECK(fit(constant, 2) == from(6, 2));
    CHECK(fit(constant) == from(6));
    CHECK(fit(constant, 2, 1) == from(1));
    struct : nn::callback {
      void on_batch_end(nn::training&, std::int64_t, nn::logs const&) override {
        throw std::runtime_error("the disk is full");
      }
    } breaks;
    CHECK(message_of<std::runtime_error>([&] {
            trainer.fit(set, {.callbacks = {&breaks}, .verbose = 0});
          }) == "the disk is full");
    CHECK(set.epoch() == 7);
    CHECK(fit(set) == from(8));
  };
  look(rows_in_order());
  look(rows_in_order().distribute<Mirrored<CpuDevice>>());
}

TEST_CASE("the values of two metrics of one name are logged beside one another") {
  Tensor<double, Dextents<2>> const x{{1}, {2}, {3}, {4}}, y{{1}, {1}, {0}, {1}};
  auto trainer = nn::compile<CpuDevice, double>(nn::Sequential{nn::Input<1>{}, nn::Dense<1>{}},
                                                nn::SGD{0.}, nn::MeanSquaredError{},
                                                nn::BinaryAccuracy{-1e9}, nn::BinaryAccuracy{1e9});
  auto const h = trainer.fit(x, y, {.validation = {x, y}, .verbose = 0});
  for (std::string const of : {"", "val_"}) {  // all are above the one threshold, none the other
    CHECK(h[of + "binary_accuracy"] == std::vector<double>{0.75});
    CHECK(h[of + "binary_accuracy_1"] == std::vector<double>{0.25});
  }
  CHECK(h.epochs[0].names.size() == 6);
}

TEST_CASE("a dataset without an end is read for as many steps as are said, and otherwise refused") {
  Tensor<double, Dextents<2>> const x{{1}, {2}, {3}}, y{{1}, {2}, {3}};
  auto trainer = nn::compile<CpuDevice, double>(nn::Sequential{nn::Input<1>{}, nn::Dense<1>{}},
                                                nn::SGD{}, nn::MeanSquaredError{});
  auto set = data::from_tensors(x, y).repeat().batch(2);
  auto const says = [](auto&& f) { return message_of<configuration_error>(f); };
  std::string const such = " got a dataset without an end, as repeat() makes one; give ";
  CHECK(says([&] { trainer.fit(set, {.epochs = 2, .verbose = 0}); }) ==
        "locus: fit" + such + ".steps_per_epoch");
  CHECK(says([&] { trainer.evaluate(set); }) ==
        "locus: evaluate" + such + ".steps, and to fit .validation_steps");
  CHECK(says([&] { trainer.fit(x, y, {.validation = set, .verbose = 0}); }) ==
        "locus: evaluate" + such + ".steps, and to fit .validation_steps");
  CHECK(says([&] { trainer.predict(set); }) == "locus: predict" + such + ".steps");
  CHECK(trainer.fit(set, {.epochs = 2, .verbose = 0, .steps_per_epoch = 4}).epochs.size() == 2);
  CHECK(trainer.iterations() == 1 + 8);
  auto const all = trainer.predict(x), some = trainer.predict(set, {.steps = 2});
  REQUIRE(some.extent(0) == 4);
  for (std::int64_t i = 0; i < 4; ++i) CHECK(some(i, 0) == all(i % 3, 0));
  CHECK(trainer.evaluate(set, {.steps = 3})["loss"] ==
        doctest::Approx(trainer.evaluate(x, y)["loss"]));
  for (std::int64_t steps = 1; steps < 4; ++steps) {  // of arrays as well
    auto const first = trainer.predict(x, {.batch_size = 2, .steps = steps});
    REQUIRE(first.extent(0) == std::min<std::int64_t>(2 * steps, 3));
    for (std::int64_t i = 0; i < first.extent(0); ++i) CHECK(first(i, 0) == all(i, 0));
  }
}

TEST_CASE("activations are their formulas, and their gradients central differences of these") {
  using nn::activation;
  using state = nn::activation_state<double, 2, Gpus, false>;
  Tensor<double, Extents<7, 9>, CpuDevice> const host(
      uniform<double>(Extents<7, 9>{}, seed{2}, -7, 7));
  auto const x = nn::batch_as<double, 2, Gpus>(host);
  nn::batch_of<double, 2, Gpus> const ones(full<double>(Dextents<2>(7, 9), 1.0));
  auto const formula = [](activation a, double v) {
    switch (a) {
    case activation::relu: return std::max(v, 0.0);
    case activation::relu6: return std::min(std::max(v, 0.0), 6.0);
    case activation::leaky_relu: return v < 0 ? 0.2 * v : v;
    case activation::elu: return v < 0 ? std::exp(v) - 1 : v;
    case activation::softplus: return std::log(1 + std::exp(v));
    case activation::tanh: return std::tanh(v);
    case activation::sigmoid: return 1 / (1 + std::exp(-v));
    default: return v;
    }
  };
  for (int k = 0; k < int(activation::softmax); ++k) {
    auto const a = static_cast<activation>(k);
    CAPTURE(nn::name_of(a));
    state s{a, {1, {9}}};
    state::kept kept;
    auto const y = s.forward(x, kept, {});
    auto const dx = s.backward(x, y, kept, decltype(y)(ones), true);
    auto const made = to<CpuDevice>(y), slope = to<CpuDevice>(dx);
    double worst = 0, worst_slope = 0;
    for (std::int64_t i = 0; i < host.size(); ++i) {
      double const v = host.data()[i], h = 1e-5;
      worst = worst_of(worst, std::fabs(made.data()[i] - formula(a, v)));
      double const difference = (formula(a, v + h) - formula(a, v - h)) / (2 * h);
      worst_slope = worst_of(worst_slope, std::fabs(slope.data()[i] - difference));
      CHECK(nn::activate_fn{a}(v) == doctest::Approx(made.data()[i]).epsilon(1e-15));
      CHECK(nn::activate_gradient_fn{a}(made.data()[i], 1.0) ==
            doctest::Approx(slope.data()[i]).epsilon(1e-14));
    }
    CHECK(worst < 1e-14);
    CHECK(worst_slope < 1e-8);
  }
}

TEST_CASE("a model that ends in softmax learns as one whose loss reads logits") {
  data_of<double> const d(40);
  nn::Sequential const logits{nn::Input<2, 3>{}, nn::Flatten{}, nn::Dense<4>{}};
  nn::Sequential const rows{nn::Input<2, 3>{}, nn::Flatten{}, nn::Dense<4, nn::softmax>{}};
  auto a = nn::compile<Gpus, double>(logits, nn::SGD{0.5},
                                     nn::SparseCategoricalCrossentropy{nn::from_logits});
  auto b = nn::compile<Gpus, double>(rows, nn::SGD{0.5}, nn::SparseCategoricalCrossentropy{});
  auto const of_a = a.fit(d.x, d.y, {.epochs = 20, .verbose = 0})["loss"],
             of_b = b.fit(d.x, d.y, {.epochs = 20, .verbose = 0})["loss"];
  CHECK(of_a.back() < of_a.front());
  CHECK(largest_difference(of_a, of_b) < 1e-6);
}

TEST_CASE("a training that goes on from a checkpoint is the one that was never stopped") {
  std::string const path = "/tmp/locus_trainer_" + std::to_string(getpid());
  auto fit = [](auto& trainer, int from, int to, std::vector<nn::callback*> callbacks) {
    data_of<double> const d(33);
    return trainer.fit(d.x, d.y,
                       {.epochs = to,
                        .callbacks = std::move(callbacks),
                        .verbose = 0,
                        .initial_epoch = from,
                        .batch_size = 13})["loss"];
  };
  {
    testing::simulated_gpus const two{2};
    auto first = trainer_of<Gpus, double>();
    nn::ModelCheckpoint keeps{path.c_str()};
    fit(first, 0, 3, {&keeps});
  }
  auto whole = trainer_of<Gpus, double>();
  auto const expected = fit(whole, 0, 6, {});
  auto again = [&](auto& trainer, double within) {
    fit(trainer, 0, 1, {});  // other weights, slots and counters, which all go
    nn::position const at = nn::load_checkpoint(path, trainer);
    CHECK(at.epoch == 3);
    CHECK(at.step == 9);
    CHECK(at.seed == 1);
    CHECK(trainer.iterations() == 9);
    auto const rest = fit(trainer, int(at.epoch), 6, {});
    for (std::size_t k = 0; k < 3; ++k) CHECK(std::fabs(rest[k] - expected[k + 3]) <= within);
  };
  auto one = trainer_of<Gpus, double>();
  again(one, 1e-9);
  nn::ModelCheckpoint keeps{path.c_str()};
  auto same = trainer_of<Gpus, double>();
  fit(same, 0, 3, {&keeps});
  auto exact = trainer_of<Gpus, double>();
  again(exact, 0);
  unlink(path.c_str());
}

}  // namespace trainer_test
