// SPDX-License-Identifier: Apache-2.0
// Callbacks against Keras' counting, and what is logged in files: CSV, JSON lines, pictures.
#include <cstdlib>
#include <doctest/doctest.h>
#include <fstream>
#include <iterator>
#include <string>
#include <unistd.h>

#include <locus/locus.hpp>
#include <locus/nn/train/callbacks.hpp>
#include <locus/nn/train/plot.hpp>
#include <message_of.hpp>

#include "../locale_with_comma.hpp"

namespace callbacks_test {

using namespace locus;

namespace {

struct folder {
  char name[32] = "/tmp/locus_log_XXXXXX";
  folder() { CHECK(mkdtemp(name) != nullptr); }
  folder(folder const&) = delete;
  ~folder() { CHECK(std::system(("rm -r " + std::string(name)).c_str()) == 0); }
  std::string operator/(std::string const& file) const { return std::string(name) + "/" + file; }
};
std::string text_of(std::string const& path) {
  std::ifstream f(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(f), {}};
}

/// One weight, which is the number of the epoch while training runs.
class fake_training : public nn::training {
 public:
  std::string_view model_name() const override { return "fake"; }
  int replicas() const override { return 1; }
  double learning_rate() const override { return rate; }
  void set_learning_rate(double r) override { rate = r; }
  std::vector<nn::stored> weights() override {
    return {{"w", shape{1, {1}}, true, weight.block.get()}};
  }
  std::vector<nn::stored> optimizer_state() override { return {}; }
  std::vector<nn::counter> counters() override { return {{"iterations", &iterations}}; }
  std::uint64_t seed() const override { return 7; }

  /// an epoch for each value of "val_loss", until a callback stops
  int run(nn::callback& c, std::vector<double> const& losses,
          std::string const& name = "val_loss") {
    stopping_ = false;
    c.on_train_begin(*this);
    nn::logs l;
    int epoch = 0;
    for (double const v : losses) {
      c.on_epoch_begin(*this, epoch);
      for (int step = 0; step < 3; ++step) ++iterations, c.on_batch_end(*this, step, {});
      weight(0) = float(epoch);
      l = {};
      l.set(name, v);
      c.on_epoch_end(*this, epoch++, l);
      h.epoch.push_back(epoch - 1), h.epochs.push_back(l);
      if (stopping()) break;
    }
    c.on_train_end(*this, l);
    return epoch;
  }
  double rate = 0.5;
  Tensor<float, Dextents<1>> weight = {0.0f};
  std::int64_t iterations = 0;
  nn::history h;
};
constexpr double nan = __builtin_nan("");

nn::logs logs_of(std::initializer_list<std::pair<char const*, double>> all) {
  nn::logs l;
  for (auto const& [name, value] : all) l.set(name, value);
  return l;
}

}  // namespace

TEST_CASE("training stops early as Keras counts, and the best weights come back") {
  using options = nn::EarlyStopping::options;
  auto run = [](options const& o, std::vector<double> const& losses, int epochs, int best,
                float weight) {
    nn::EarlyStopping stop{o};
    for (int turn = 0; turn < 2; ++turn) {  // a second fit begins anew
      fake_training t;
      CHECK(t.run(stop, losses, o.monitor) == epochs);
      CHECK(stop.best_epoch() == best);
      CHECK(stop.stopped_epoch() == (epochs < int(losses.size()) ? epochs - 1 : -1));
      CHECK(t.weight(0) == weight);
    }
  };
  run({}, {3, 2, 2, 1}, 3, 1, 2);
  run({.patience = 2}, {3, 2, 2.5, 2, 1}, 4, 1, 3);
  run({.patience = 2, .restore_best = true}, {3, 2, 2.5, 2, 1}, 4, 1, 1);
  run({.patience = 2, .restore_best = true}, {3, 2, 2.5, 1}, 4, 3, 3);
  run({.min_delta = 0.5, .patience = 1}, {3, 2.6, 1}, 2, 0, 1);
  run({.monitor = "val_accuracy", .patience = 1}, {0.5, 0.6, 0.6, 0.7}, 3, 1, 2);
  run({.monitor = "val_accuracy", .mode = nn::better::smaller}, {0.5, 0.6, 0.4}, 2, 0, 1);
  run({.patience = 2, .baseline = 1}, {3, 3.5, 2, 0.5}, 2, 0, 1);
  run({.patience = 2, .baseline = 1}, {3, 2.5, 2, 0.5}, 4, 3, 3);
  run({.patience = 1, .start_from_epoch = 2}, {1, 2, 5, 4, 4, 3}, 5, 3, 4);
  run({.patience = 1, .restore_best = true}, {nan, nan, 1}, 2, 0, 0);
  run({.patience = 3}, {3, nan, 2, nan, nan, 1}, 6, 5, 5);
  fake_training t;
  nn::EarlyStopping other{options{.monitor = "val_acc"}};
  CHECK(message_of<configuration_error>([&] { t.run(other, {1}); }) ==
        "locus: nothing is logged as 'val_acc'; there is val_loss");
  CHECK(message_of<configuration_error>([] { nn::EarlyStopping{options{.monitor = "bleu"}}; }) ==
        "locus: whether a larger bleu is better cannot be seen from its name; write mode = "
        "better::larger or better::smaller");
}

TEST_CASE("checkpoints of a training: every epoch, the better ones, every so many steps") {
  folder const here;
  fake_training t;
  auto at = [&](std::string const& path) { return nn::load_checkpoint(path, t); };
  nn::ModelCheckpoint each{(here / "e{epoch}").c_str()};
  t.run(each, {3, 4, 2});
  CHECK(at(here / "e0002").epoch == 2);
  CHECK(t.weight(0) == 1);
  CHECK(t.iterations == 6);
  CHECK(at(here / "e0003").step == 9);
  CHECK(at(here / "e0003").seed == 7);

  nn::ModelCheckpoint best{
      {.path = here / "best", .save_best_only = true, .begin = {.epoch = 3, .step = 9}}};
  t.run(best, {3, 4, 2, 5});
  CHECK(at(here / "best").epoch == 3);
  CHECK(at(here / "best").step == 18);

  nn::ModelCheckpoint some{{.path = here / "s{step}-{val_loss}", .every_epochs = 2, .keep = 1}};
  t.run(some, {3, 4, 2, 1.25, 0});
  CHECK(some.last_path() == here / "s0012-1.2500");
  CHECK(access((here / "s0006-4.0000").c_str(), F_OK) != 0);
  nn::ModelCheckpoint steps{{.path = here / "steps", .every_epochs = 0, .every_steps = 4}};
  t.run(steps, {1, 1, 1});
  CHECK(at(here / "steps").step == 8);
  CHECK(at(here / "steps").epoch == 2);
  CHECK(at(here / "steps").step_of_epoch == 2);

  auto const refused = [](nn::ModelCheckpoint::options const& o) {
    return message_of<configuration_error>([&] { nn::ModelCheckpoint{o}; });
  };
  CHECK(refused({.path = "{epoch}", .save_best_only = true, .every_steps = 4}) ==
        "locus: ModelCheckpoint saves every 4 steps, which log no val_loss; leave out every_steps, "
        "or give the steps a ModelCheckpoint of their own");
  CHECK(refused({.path = "{step}{epoch}-{loss}", .every_steps = 4}).find("log no loss;") !=
        std::string::npos);

  nn::ModelCheckpoint weights{{.path = here / "w", .weights_only = true}};
  t.run(weights, {1});
  CHECK(message_of<bad_file>([&] { at(here / "w"); }).find("no state of an optimizer") !=
        std::string::npos);
  CHECK(nn::load_checkpoint(here / "w", t, nn::load::weights).epoch == 1);
}

TEST_CASE("the learning rate follows a schedule, or falls on a plateau") {
  fake_training t;
  nn::LearningRateScheduler halves{[](int epoch, double rate) { return epoch ? rate / 2 : rate; }};
  t.run(halves, {1, 1, 1});
  CHECK(t.h["learning_rate"] == std::vector<double>{0.5, 0.25, 0.125});
  nn::LearningRateScheduler wrong{[](int, double) { return nan; }};
  CHECK(message_of<configuration_error>([&] { t.run(wrong, {1}); }).find("nan for epoch 0") !=
        std::string::npos);

  fake_training p;
  p.rate = 1;
  nn::ReduceLROnPlateau plateau{{.factor = 0.5, .patience = 2, .cooldown = 1, .min_rate = 0.2}};
  p.run(plateau, {3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2});
  CHECK(p.h["learning_rate"] ==
        std::vector<double>{1, 1, 1, 1, 0.5, 0.5, 0.25, 0.25, 0.2, 0.2, 0.2, 0.2});
  CHECK(message_of<configuration_error>([] {
          nn::ReduceLROnPlateau{nn::ReduceLROnPlateau::options{.factor = 2}};
        }).find("between 0 and 1") != std::string::npos);
  nn::TerminateOnNaN stops;
  CHECK(fake_training().run(stops, {3, 1.0 / 0.0, 2}, "loss") == 2);
  CHECK(fake_training().run(stops, {3, nan, 2}, "loss") == 2);
  CHECK(fake_training().run(stops, {3, 1, 2}, "loss") == 3);
}

TEST_CASE("epochs become rows of CSV and lines of JSON, also after a crash") {
  folder const here;
  std::string const csv = here / "h.csv", json = here / "h.json";
  {
    nn::csv_log c(csv);
    nn::json_log j(json);
    CHECK(text_of(csv).empty());
    for (int e = 0; e < 2; ++e) {
      auto const l = logs_of({{"loss", 0.1 + e}, {"top \"5\", of 9", nan}});
      c.add(e, l), j.add(e, l);
    }
  }
  std::string const table = "epoch,loss,\"top \"\"5\"\", of 9\"\r\n0,0.1,nan\r\n1,1.1,nan\r\n";
  std::string const lines = "{\"epoch\":0,\"loss\":0.1,\"top \\\"5\\\", of 9\":null}\n"
                            "{\"epoch\":1,\"loss\":1.1,\"top \\\"5\\\", of 9\":null}\n";
  CHECK(text_of(csv) == table);
  CHECK(text_of(json) == lines);
  std::ofstream(csv, std::ios::app) << "2,0.";  // killed within a line
  std::ofstream(json, std::ios::app) << "{\"epoch\":2,\"lo";
  nn::csv_log c(csv, true);
  nn::json_log j(json, true);
  CHECK(text_of(csv) == table);
  CHECK(text_of(json) == lines);
  auto const l = logs_of({{"loss", 1e-300}, {"val_loss", 1.0 / 3}});
  c.add(2, l), j.add(2, l);
  CHECK(text_of(csv) ==
        "epoch,loss,\"top \"\"5\"\", of 9\",val_loss\r\n0,0.1,nan,\r\n1,1.1,nan,\r\n"
        "2,1e-300,,0.3333333333333333\r\n");
  CHECK(text_of(json) == lines + "{\"epoch\":2,\"loss\":1e-300,\"val_loss\":0.3333333333333333}\n");
  std::ofstream(csv) << "name,price\n";
  CHECK(message_of<bad_file>([&] { nn::csv_log(csv, true); }) ==
        "locus: " + csv +
            ": expected a table of epochs, found the column name; append to another "
            "file, or write a new one");
  CHECK(message_of<bad_file>([&] { nn::csv_log(here / "none/h.csv"); }).find("No such file") !=
        std::string::npos);

  fake_training t;
  nn::CSVLogger rows(csv);
  nn::JSONLogger objects(json);
  t.run(rows, {3, 2}), t.run(rows, {1});  // a second fit goes on below
  CHECK(text_of(csv) == "epoch,val_loss\r\n0,3\r\n1,2\r\n0,1\r\n");
  t.run(objects, {4});
  CHECK(text_of(json) == "{\"epoch\":0,\"val_loss\":4}\n");
  nn::save_csv(csv, t.h);
  CHECK(text_of(csv) == "epoch,val_loss\r\n0,3\r\n1,2\r\n0,1\r\n0,4\r\n");
  nn::save_json(json, t.h);
  CHECK(text_of(json).ends_with("{\"epoch\":0,\"val_loss\":4}\n"));
}

TEST_CASE("axes have round numbers that hold every value") {
  auto labels = [](double low, double high, int wanted, bool whole) {
    auto const s = nn::detail::scale::over(low, high, wanted, whole);
    CHECK(s.low <= low);
    CHECK(s.high >= high);
    std::string all;
    for (int k = 0; k < s.count; ++k) all += (k ? " " : "") + s.label(k);
    return all;
  };
  CHECK(labels(0.13, 2.34, 5, false) == "0.0 0.5 1.0 1.5 2.0 2.5");
  CHECK(labels(0.81, 0.925, 5, false) == "0.80 0.85 0.90 0.95");
  CHECK(labels(-3, 7, 5, false) == "-4 -2 0 2 4 6 8");
  CHECK(labels(0, 19, 8, true) == "0 5 10 15 20");
  CHECK(labels(0, 3, 8, true) == "0 1 2 3");
  CHECK(labels(1200, 52000, 5, false) == "0 20000 40000 60000");
  CHECK(labels(5, 5, 5, false) == "4.4 4.6 4.8 5.0 5.2 5.4 5.6");
}

TEST_CASE("a history becomes a picture with a panel for each metric") {
  nn::history h;
  for (int e = 0; e < 12; ++e) {
    h.epoch.push_back(e);
    h.epochs.push_back(logs_of({{"loss", 2.3 / (1 + e)},
                                {"accuracy <&>", 1 - 1.0 / (2 + e)},
                                {"val_loss", e == 5 ? nan : 0.4 + 2.0 / (1 + e)}}));
  }
  std::string const svg = nn::plot_svg(h);
  {
    locale_with_comma const here;  // a comma would end a number of the picture
    REQUIRE(here.was_set);
    CHECK(nn::plot_svg(h) == svg);
  }
  auto count = [&](std::string const& part) {
    int n = 0;
    for (auto i = svg.find(part); i != svg.npos; i = svg.find(part, i + 1)) ++n;
    return n;
  };
  CHECK(count(">epoch</text>") == 2);
  CHECK(count(">training</text>") == 2);
  CHECK(count(">validation</text>") == 1);
  CHECK(count(">accuracy &lt;&amp;&gt;</text>") == 1);
  CHECK(count("<circle") == 12 + 12 + 11 + 2 * 2 + 2);
  CHECK(count("nan") == 0);
  CHECK(svg.starts_with("<svg "));
  CHECK(svg.ends_with("</svg>\n"));
  folder const here;
  nn::save_plot(here / "h.svg", h);
  CHECK(text_of(here / "h.svg") == svg);
  if (char const* const path = std::getenv("LOCUS_TEST_PICTURE")) nn::save_plot(path, h);
  nn::history none;
  CHECK(nn::plot_svg(none).find("no epoch has ended") != std::string::npos);
  none.epoch.push_back(0), none.epochs.push_back(logs_of({{"loss", nan}}));
  CHECK(nn::plot_svg(none).find("no value is a number") != std::string::npos);
}

}  // namespace callbacks_test
