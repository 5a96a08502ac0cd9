// SPDX-License-Identifier: Apache-2.0
// Weights of rows and of classes: in fit, evaluate and train_on_batch, as Keras weights them.
#include <cmath>
#include <doctest/doctest.h>
#include <vector>

#include <locus/locus.hpp>
#include <locus/nn/nn.hpp>
#include <message_of.hpp>

namespace row_weights_test {

using namespace locus;

namespace {

using Matrix = Tensor<double, Dextents<2>>;
using Row = Tensor<double, Dextents<1>>;
using Labels = Tensor<std::int32_t, Dextents<1>>;
nn::SGD const plain{.learning_rate = 0.5};
using Two = Mirrored<Cpu<0>, Cpu<1>>;

/// y = w x with mean squared error: loss = sum of weight (w x - y)^2 / rows, and w behind one step
struct line {
  double loss = 0, w;
};
line expected(double w, Matrix const& x, Matrix const& y, Row const& weights) {
  line e{0, w};
  std::int64_t const n = x.extent(0);
  for (std::int64_t r = 0; r < n; ++r) {
    double const d = w * x(r, 0) - y(r, 0);
    e.loss += weights(r) * d * d / double(n);
    e.w -= 0.5 * 2 * weights(r) * d * x(r, 0) / double(n);
  }
  return e;
}
template <class Replicas>
auto trainer_of(double w) {
  auto t =
      nn::compile<Replicas, double>(nn::Sequential{nn::Input<1>{}, nn::Dense<1>{}.without_bias()},
                                    plain, nn::MeanSquaredError{}, nn::MeanAbsoluteError{});
  nn::write_values(t.weights("kernel"), &w);
  return t;
}
template <class Trainer>
double weight_of(Trainer& t) {
  double w;
  nn::read_values(t.weights("kernel"), &w);
  return w;
}

}  // namespace

TEST_CASE("a weight for each row: in a batch, in arrays, in a dataset, on one and two devices") {
  auto const same = []<class Replicas>(std::type_identity<Replicas>) {
    Matrix const x{{1}, {2}, {-1}, {0.5}, {3}}, y{{2}, {1}, {0}, {1}, {5}};
    Row const w{1, 0, 2, 0.5, 3};
    line const e = expected(0.25, x, y, w);
    auto t = trainer_of<Replicas>(0.25);
    auto const judged = t.evaluate(x, y, w);
    CHECK(judged["loss"] == doctest::Approx(e.loss));
    double mae = 0;  // metrics do not see weights
    for (int r = 0; r < 5; ++r) mae += std::fabs(0.25 * x(r, 0) - y(r, 0)) / 5;
    CHECK(judged["mean_absolute_error"] == doctest::Approx(mae));
    CHECK(t.train_on_batch(x, y, w)["loss"] == doctest::Approx(e.loss));
    CHECK(weight_of(t) == doctest::Approx(e.w));

    auto fitted = trainer_of<Replicas>(0.25);
    auto const h = fitted.fit(x, y, w, {.validation = {x, y, w}, .verbose = 0, .batch_size = 5});
    CHECK(h["loss"][0] == doctest::Approx(e.loss));
    CHECK(weight_of(fitted) == doctest::Approx(e.w));
    CHECK(h["val_loss"][0] == doctest::Approx(expected(e.w, x, y, w).loss));

    auto const rows = data::from_tensors(x, y, w).batch(5);
    auto by_data = trainer_of<Replicas>(0.25);
    CHECK(by_data.evaluate(rows)["loss"] == doctest::Approx(e.loss));
    CHECK(by_data.fit(rows, {.verbose = 0})["loss"][0] == doctest::Approx(e.loss));
    CHECK(weight_of(by_data) == doctest::Approx(e.w));

    CHECK(message_of<shape_error>([&] {
            t.train_on_batch(x, y, Row{1, 2});
          }).find("give one number for each row of the batch") != std::string::npos);
    CHECK(message_of<shape_error>([&] {
            t.fit(x, y, Row{1, 2}, {.verbose = 0});
          }).find("5 examples come with 2 weights") != std::string::npos);
  };
  same(std::type_identity<CpuDevice>{});
  same(std::type_identity<Two>{});
}

TEST_CASE("a weight for each class is that of its rows: labels and one-hot targets") {
  Matrix const x{{1, 0}, {0, 1}, {1, 1}, {2, -1}}, hot{{1, 0}, {0, 1}, {0, 1}, {1, 0}};
  Labels const labels{0, 1, 1, 0};
  nn::class_weights const classes{{0.5, 4}};
  Row const rows{0.5, 4, 4, 0.5};
  nn::Sequential const m{nn::Input<2>{}, nn::Dense<2>{}};
  auto make = [&](auto loss) { return nn::compile<Two, double>(m, plain, loss); };
  auto a = make(nn::SparseCategoricalCrossentropy{nn::from_logits});
  auto b = make(nn::SparseCategoricalCrossentropy{nn::from_logits});
  auto c = make(nn::CategoricalCrossentropy{nn::from_logits});
  double const loss = a.train_on_batch(x, labels, rows)["loss"];
  CHECK(b.train_on_batch(x, labels, classes)["loss"] == doctest::Approx(loss));
  CHECK(c.train_on_batch(x, hot, classes)["loss"] == doctest::Approx(loss));
  double of[3][4];
  nn::read_values(a.weights("kernel"), of[0]), nn::read_values(b.weights("kernel"), of[1]);
  nn::read_values(c.weights("kernel"), of[2]);
  for (int k = 0; k < 4; ++k) {
    CHECK(of[1][k] == doctest::Approx(of[0][k]));
    CHECK(of[2][k] == doctest::Approx(of[0][k]));
  }
  double const again = a.fit(x, labels, rows, {.verbose = 0, .batch_size = 4})["loss"][0];
  CHECK(b.fit(x, labels, classes, {.verbose = 0, .batch_size = 4})["loss"][0] ==
        doctest::Approx(again));
  CHECK(c.fit(data::from_tensors(x, hot).batch(4), classes, {.verbose = 0})["loss"][0] ==
        doctest::Approx(again));
  CHECK(b.evaluate(x, labels, classes)["loss"] ==
        doctest::Approx(a.evaluate(x, labels, rows)["loss"]));
  auto refused = [&](std::vector<double> const& w) {
    return message_of<configuration_error>(
        [&] { b.train_on_batch(x, labels, nn::class_weights{w}); });
  };
  CHECK(refused({1}) == "locus: 1 weights of classes are given and the model predicts 2 classes; "
                        "write one for each");
  CHECK(refused({1, std::nan("")}).find("no finite number") != std::string::npos);
}

TEST_CASE("a model with one output has the classes 0 and 1") {
  Matrix const x{{1, 0}, {0, 1}, {1, 1}, {2, -1}, {-1, 3}}, y{{0}, {1}, {1}, {0}, {1}};
  nn::class_weights const classes{{0.5, 8}};
  Row const rows{0.5, 8, 8, 0.5, 8};
  auto const same = [&]<class Replicas>(std::type_identity<Replicas>) {
    auto const check = [&](auto const& model, auto loss) {
      auto a = nn::compile<Replicas, double>(model, plain, loss, nn::BinaryAccuracy{});
      auto b = nn::compile<Replicas, double>(model, plain, loss, nn::BinaryAccuracy{});
      CHECK(b.evaluate(x, y, classes)["loss"] == doctest::Approx(a.evaluate(x, y, rows)["loss"]));
      CHECK(b.fit(x, y, classes, {.epochs = 2, .verbose = 0, .batch_size = 4})["loss"][1] ==
            doctest::Approx(
                a.fit(x, y, rows, {.epochs = 2, .verbose = 0, .batch_size = 4})["loss"][1]));
      double k[2][2];
      nn::read_values(a.weights("kernel"), k[0]), nn::read_values(b.weights("kernel"), k[1]);
      for (int i = 0; i < 2; ++i) CHECK(k[1][i] == doctest::Approx(k[0][i]));
      for (std::vector<double> const& w : {std::vector<double>{1}, {1, 2, 3}})
        CHECK(message_of<configuration_error>([&] {
                b.train_on_batch(x, y, nn::class_weights{w});
              }) == "locus: " + std::to_string(w.size()) +
                        " weights of classes are given and the model has one output, whose classes "
                        "are the labels 0 and 1; write one for each");
    };
    check(nn::Sequential{nn::Input<2>{}, nn::Dense<1, nn::sigmoid>{}}, nn::BinaryCrossentropy{});
    check(nn::Sequential{nn::Input<2>{}, nn::Dense<1>{}},
          nn::BinaryCrossentropy{nn::from_logits, 0.2});
  };
  same(std::type_identity<CpuDevice>{});
  same(std::type_identity<Two>{});
}

TEST_CASE(
    "weights of rows and of classes multiply: arrays, batches, datasets, labels and one-hot") {
  Matrix const x{{1, 0}, {0, 1}, {1, 1}, {2, -1}, {-1, 3}};
  Matrix const hot{{1, 0}, {0, 1}, {0, 1}, {1, 0}, {0, 1}};
  Labels const labels{0, 1, 1, 0, 1};
  nn::class_weights const classes{{0.5, 4}};
  Row const rows{1, 0.25, 2, 3, 0}, product{0.5, 1, 8, 1.5, 0};
  nn::Sequential const m{nn::Input<2>{}, nn::Dense<2, nn::softmax>{}};
  auto const same = [&]<class Replicas>(std::type_identity<Replicas>) {
    auto make = [&](auto loss, auto metric) {
      return nn::compile<Replicas, double>(m, plain, loss, metric);
    };
    auto const of_labels = [&] {
      return make(nn::SparseCategoricalCrossentropy{}, nn::SparseCategoricalAccuracy{});
    };
    auto const check = [](auto& got, auto& want) {
      double k[2][4];
      nn::read_values(got.weights("kernel"), k[0]), nn::read_values(want.weights("kernel"), k[1]);
      for (int i = 0; i < 4; ++i) CHECK(k[0][i] == doctest::Approx(k[1][i]));
    };
    auto want = of_labels(), a = of_labels(), b = of_labels(), c = of_labels();
    auto d = make(nn::CategoricalCrossentropy{}, nn::CategoricalAccuracy{});
    auto const loss = doctest::Approx(want.evaluate(x, labels, product)["loss"]);
    CHECK(a.evaluate(x, labels, rows, classes)["loss"] == loss);
    auto const with_rows = data::from_tensors(x, labels, rows).batch(5);
    CHECK(a.evaluate(with_rows, classes)["loss"] == loss);
    CHECK(a.evaluate(x, labels, rows, classes)["sparse_categorical_accuracy"] ==
          a.evaluate(x, labels)["sparse_categorical_accuracy"]);
    CHECK(want.train_on_batch(x, labels, product)["loss"] == loss);
    CHECK(a.train_on_batch(x, labels, rows, classes)["loss"] == loss);
    CHECK(b.fit(x, labels, rows, classes, {.verbose = 0, .batch_size = 5})["loss"][0] == loss);
    CHECK(c.fit(with_rows, classes, {.verbose = 0})["loss"][0] == loss);
    CHECK(d.fit(data::from_tensors(x, hot, rows).batch(5), classes, {.verbose = 0})["loss"][0] ==
          loss);
    check(a, want), check(b, want), check(c, want), check(d, want);
  };
  same(std::type_identity<CpuDevice>{});
  same(std::type_identity<Two>{});
}

}  // namespace row_weights_test
