// SPDX-License-Identifier: Apache-2.0
// A model that ends in softmax or sigmoid under the loss of its probabilities: the loss is taken of
// the logits, so that a saturated wrong row learns; predictions and metrics stay probabilities.
#include <cmath>
#include <doctest/doctest.h>
#include <vector>

#include <locus/locus.hpp>
#include <locus/nn/nn.hpp>
#include <locus/testing/simulated_gpus.hpp>
#include <message_of.hpp>

namespace last_activation_test {

using namespace locus;

namespace {

using Matrix = Tensor<double, Dextents<2>>;
using Labels = Tensor<std::int32_t, Dextents<1>>;
using real = long double;

struct random_numbers {
  std::uint64_t state;
  double next(double low, double high) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * double(state >> 11) / 9007199254740992.0;
  }
  Matrix matrix(std::int64_t rows, std::int64_t columns, double low, double high) {
    Matrix m(rows, columns);
    for (std::int64_t i = 0; i < m.size(); ++i) m.data()[i] = next(low, high);
    return m;
  }
};
/// one step of SGD(1) of a layer x W: the mean loss of the batch, and W behind it
struct step {
  real loss = 0;
  std::vector<real> kernel;
};
/// targets(row, class); a softmax over the classes, or a sigmoid of each, whose loss is a mean
template <class Targets>
step expected(Matrix const& x, std::vector<double> const& w, std::int64_t n, bool softmax,
              Targets const& targets) {
  std::int64_t const rows = x.extent(0), inputs = x.extent(1);
  step s;
  s.kernel.assign(w.begin(), w.end());
  for (std::int64_t r = 0; r < rows; ++r) {
    std::vector<real> z(std::size_t(n), 0);
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < inputs; ++i)
        z[std::size_t(j)] += real(x(r, i)) * real(w[std::size_t(i * n + j)]);
    real top = z[0], sum = 0, total = 0;
    for (real v : z) top = std::max(top, v);
    for (real v : z) sum += std::exp(v - top);
    for (std::int64_t j = 0; j < n; ++j) total += targets(r, j);
    for (std::int64_t j = 0; j < n; ++j) {
      real const v = z[std::size_t(j)], t = targets(r, j);
      real slope;
      if (softmax) {
        s.loss += t * (top - v + std::log(sum)) / real(rows);
        slope = total * std::exp(v - top) / sum - t;
      } else {
        s.loss +=
            (std::max(v, real(0)) - v * t + std::log1p(std::exp(-std::fabs(v)))) / real(n * rows);
        slope = (1 / (1 + std::exp(-v)) - t) / real(n);
      }
      for (std::int64_t i = 0; i < inputs; ++i)
        s.kernel[std::size_t(i * n + j)] -= slope * real(x(r, i)) / real(rows);
    }
  }
  return s;
}
template <class Trainer, class Y, class Targets>
void compare(Trainer t, Matrix const& x, Y const& y, std::int64_t n, bool softmax,
             std::vector<double> w, Targets const& targets) {
  nn::write_values(t.weights("kernel"), w.data());
  step const e = expected(x, w, n, softmax, targets);
  // evaluation before the step, predictions are probabilities
  CHECK(t.evaluate(x, y)["loss"] == doctest::Approx(double(e.loss)).epsilon(1e-12));
  auto const p = t.predict(x);
  for (std::int64_t r = 0; r < p.extent(0); ++r) {
    double sum = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      CHECK((p(r, j) >= 0 && p(r, j) <= 1));
      sum += p(r, j);
    }
    if (softmax) CHECK(sum == doctest::Approx(1));
  }
  CHECK(t.train_on_batch(x, y)["loss"] == doctest::Approx(double(e.loss)).epsilon(1e-12));
  nn::read_values(t.weights("kernel"), w.data());
  for (std::size_t k = 0; k < w.size(); ++k)
    CHECK(w[k] == doctest::Approx(double(e.kernel[k])).epsilon(1e-11));
}
/// one step of two trainers with the same kernel: one that ends in an activation under the loss of its
/// probabilities, and one without it under that of logits
template <class Chances, class Logits, class X, class Y>
void same_step(Chances a, Logits b, X const& x, Y const& y, std::vector<double> w) {
  nn::write_values(a.weights("kernel"), w.data());
  nn::write_values(b.weights("kernel"), w.data());
  auto const p = a.predict(x);
  for (std::int64_t i = 0; i < p.size(); ++i) CHECK((p.data()[i] >= 0 && p.data()[i] <= 1));
  double const loss = b.evaluate(x, y)["loss"];
  CHECK(std::isfinite(loss));
  CHECK(a.evaluate(x, y)["loss"] == doctest::Approx(loss).epsilon(1e-12));
  CHECK(a.train_on_batch(x, y)["loss"] == doctest::Approx(loss).epsilon(1e-12));
  b.train_on_batch(x, y);
  std::vector<double> v(w.size()), e(w.size());
  nn::read_values(a.weights("kernel"), v.data());
  nn::read_values(b.weights("kernel"), e.data());
  CHECK(e != w);
  for (std::size_t k = 0; k < w.size(); ++k) CHECK(v[k] == doctest::Approx(e[k]).epsilon(1e-11));
}
nn::SGD const plain{.learning_rate = 1.0};
using Two = Mirrored<Cpu<0>, Cpu<1>>;
using Gpus = Mirrored<GpuDevice<0>, GpuDevice<1>>;

}  // namespace

TEST_CASE("softmax: the loss and its gradient are those of the logits, saturated or not") {
  auto const dense = nn::Sequential{nn::Input<3>{}, nn::Dense<3, nn::softmax>{}.without_bias()};
  auto const layer =
      nn::Sequential{nn::Input<3>{}, nn::Dense<3>{}.without_bias(), nn::Activation{nn::softmax}};
  for (double const size : {1.0, 60.0, 900.0}) {
    CAPTURE(size);
    random_numbers draw{7};
    Matrix const x = draw.matrix(5, 3, -1, 1);
    Matrix const w = draw.matrix(3, 3, -size, size);
    std::vector<double> const kernel(w.data(), w.data() + 9);
    Labels const labels{1, 0, 2, 2, 1};
    auto const hit = [&](std::int64_t r, std::int64_t j) { return real(labels(r) == j); };
    compare(nn::compile<CpuDevice, double>(dense, plain, nn::SparseCategoricalCrossentropy{}), x,
            labels, 3, true, kernel, hit);
    compare(nn::compile<Two, double>(layer, plain, nn::SparseCategoricalCrossentropy{},
                                     nn::SparseCategoricalAccuracy{}),
            x, labels, 3, true, kernel, hit);
    Matrix const soft = draw.matrix(5, 3, 0, 1);
    auto const smooth = [&](std::int64_t r, std::int64_t j) {
      return real(soft(r, j)) * real(0.9) + real(0.1) / 3;
    };
    compare(nn::compile<CpuDevice, double>(dense, plain, nn::CategoricalCrossentropy{0.1}), x, soft,
            3, true, kernel, smooth);
    compare(nn::compile<CpuDevice, double>(layer, plain, nn::CategoricalCrossentropy{0.1},
                                           nn::CategoricalAccuracy{}),
            x, soft, 3, true, kernel, smooth);
  }
}

TEST_CASE("the same on simulated GPUs") {
  testing::simulated_gpus const cards{2};
  random_numbers draw{9};
  Matrix const x = draw.matrix(5, 3, -1, 1), w = draw.matrix(3, 3, -60, 60);
  Labels const labels{1, 0, 2, 2, 1};
  compare(nn::compile<Gpus, double>(
              nn::Sequential{nn::Input<3>{}, nn::Dense<3, nn::softmax>{}.without_bias()}, plain,
              nn::SparseCategoricalCrossentropy{}, nn::SparseCategoricalAccuracy{}),
          x, labels, 3, true, {w.data(), w.data() + 9},
          [&](std::int64_t r, std::int64_t j) { return real(labels(r) == j); });
}

TEST_CASE("sigmoid: of a Dense, of its type, as a layer, and inside of a Sequential") {
  auto const by_value = nn::Sequential{nn::Input<3>{}, nn::Dense<2>{nn::sigmoid}.without_bias()};
  auto const by_type = nn::Sequential{nn::Input<3>{}, nn::Dense<2, nn::sigmoid>{}.without_bias()};
  auto const inside = nn::Sequential{
      nn::Input<3>{}, nn::Sequential{nn::Dense<2>{}.without_bias(), nn::Activation{nn::sigmoid}}};
  for (double const size : {1.0, 60.0, 900.0}) {
    CAPTURE(size);
    random_numbers draw{11};
    Matrix const x = draw.matrix(5, 3, -1, 1), y = draw.matrix(5, 2, 0, 1);
    Matrix const w = draw.matrix(3, 2, -size, size);
    std::vector<double> const kernel(w.data(), w.data() + 6);
    auto const target = [&](std::int64_t r, std::int64_t j) { return real(y(r, j)); };
    compare(nn::compile<CpuDevice, double>(by_value, plain, nn::BinaryCrossentropy{}), x, y, 2,
            false, kernel, target);
    compare(nn::compile<CpuDevice, double>(by_type, plain, nn::BinaryCrossentropy{}), x, y, 2,
            false, kernel, target);
    compare(nn::compile<Two, double>(inside, plain, nn::BinaryCrossentropy{}, nn::BinaryAccuracy{}),
            x, y, 2, false, kernel, target);
  }
}

TEST_CASE("a shared layer at the end, a shared network, and one that stands in the middle, too") {
  auto const layer =
      nn::Sequential{nn::Input<3>{}, nn::shared(nn::Dense<3, nn::softmax>{}.without_bias())};
  auto const network = nn::Sequential{
      nn::Input<3>{},
      nn::shared(nn::Sequential{nn::Dense<3>{}.without_bias(), nn::Activation{nn::softmax}})};
  auto const of_sigmoid =
      nn::Sequential{nn::Input<3>{}, nn::shared(nn::Dense<2>{nn::sigmoid}.without_bias())};
  auto const twice = [](auto const& tower) { return nn::Sequential{nn::Input<3>{}, tower, tower}; };
  auto const plain_twice = [](auto const& tower) {
    return nn::Sequential{nn::Input<3>{}, tower, nn::Activation{nn::softmax}, tower};
  };
  for (double const size : {1.0, 60.0, 900.0}) {
    CAPTURE(size);
    random_numbers draw{13};
    Matrix const x = draw.matrix(5, 3, -1, 1), y = draw.matrix(5, 2, 0, 1);
    Matrix const w = draw.matrix(3, 3, -size, size);
    std::vector<double> const kernel(w.data(), w.data() + 9);
    Labels const labels{1, 0, 2, 2, 1};
    auto const hit = [&](std::int64_t r, std::int64_t j) { return real(labels(r) == j); };
    compare(nn::compile<CpuDevice, double>(layer, plain, nn::SparseCategoricalCrossentropy{}), x,
            labels, 3, true, kernel, hit);
    compare(nn::compile<Two, double>(network, plain, nn::SparseCategoricalCrossentropy{},
                                     nn::SparseCategoricalAccuracy{}),
            x, labels, 3, true, kernel, hit);
    compare(nn::compile<CpuDevice, double>(of_sigmoid, plain, nn::BinaryCrossentropy{},
                                           nn::BinaryAccuracy{}),
            x, y, 2, false, {w.data(), w.data() + 6},
            [&](std::int64_t r, std::int64_t j) { return real(y(r, j)); });
    same_step(nn::compile<CpuDevice, double>(
                  twice(nn::shared(nn::Dense<3, nn::softmax>{}.without_bias())), plain,
                  nn::SparseCategoricalCrossentropy{}),
              nn::compile<CpuDevice, double>(plain_twice(nn::shared(nn::Dense<3>{}.without_bias())),
                                             plain,
                                             nn::SparseCategoricalCrossentropy{nn::from_logits}),
              x, labels, kernel);
  }
  CHECK_THROWS_WITH_AS(
      (nn::compile<CpuDevice, double>(of_sigmoid, plain, nn::BinaryCrossentropy{nn::from_logits})),
      doctest::Contains("the model ends in sigmoid and its loss reads logits"),
      configuration_error);
}

TEST_CASE("convolutions at the end: the loss of probabilities is that of the logits") {
  using Images = Tensor<double, Dextents<4>>;
  using Lines = Tensor<double, Dextents<3>>;
  constexpr nn::BinaryCrossentropy chances{};
  constexpr nn::BinaryCrossentropy logits{nn::from_logits};
  for (double const size : {1.0, 60.0, 900.0}) {
    CAPTURE(size);
    random_numbers draw{17};
    auto const fill = [&](auto t, double low, double high) {
      for (std::int64_t i = 0; i < t.size(); ++i) t.data()[i] = draw.next(low, high);
      return t;
    };
    auto const weights = [&](int n) {
      std::vector<double> w(static_cast<std::size_t>(n));
      for (double& v : w) v = draw.next(-size, size);
      return w;
    };
    Lines const lines = fill(Lines(3, 6, 2), -1, 1);
    auto const conv1d = nn::Conv1D<2, 3>{}.without_bias();
    auto const conv1d_sigmoid = nn::Conv1D<2, 3>{nn::sigmoid}.without_bias();
    same_step(
        nn::compile<CpuDevice, double>(nn::Sequential{nn::Input<6, 2>{}, conv1d_sigmoid}, plain,
                                       chances, nn::BinaryAccuracy{}),
        nn::compile<CpuDevice, double>(nn::Sequential{nn::Input<6, 2>{}, conv1d}, plain, logits),
        lines, fill(Lines(3, 4, 2), 0, 1), weights(12));
    // sigmoid rises: the largest of a pool is that of its logits
    same_step(
        nn::compile<CpuDevice, double>(
            nn::Sequential{nn::Input<6, 2>{}, conv1d_sigmoid, nn::MaxPool1D<2>{}}, plain, chances),
        nn::compile<CpuDevice, double>(
            nn::Sequential{nn::Input<6, 2>{}, conv1d, nn::MaxPool1D<2>{}}, plain, logits),
        lines, fill(Lines(3, 2, 2), 0, 1), weights(12));
    Images const images = fill(Images(3, 4, 3, 2), -1, 1);
    same_step(
        nn::compile<Two, double>(
            nn::Sequential{nn::Input<4, 3, 2>{}, nn::Conv2D<2, 2, 2>{nn::sigmoid}.without_bias()},
            plain, chances, nn::BinaryAccuracy{}),
        nn::compile<Two, double>(
            nn::Sequential{nn::Input<4, 3, 2>{}, nn::Conv2D<2, 2, 2>{}.without_bias()}, plain,
            logits),
        images, fill(Images(3, 3, 2, 2), 0, 1), weights(16));
    Tensor<std::int32_t, Dextents<3>> classes(3, 3, 2);
    for (std::int64_t i = 0; i < classes.size(); ++i) classes.data()[i] = std::int32_t(i * 5 % 3);
    auto const of_pixels = nn::Conv2D<3, 2, 2>{}.without_bias();
    same_step(nn::compile<CpuDevice, double>(
                  nn::Sequential{nn::Input<4, 3, 2>{}, of_pixels, nn::Activation{nn::softmax}},
                  plain, nn::SparseCategoricalCrossentropy{}, nn::SparseCategoricalAccuracy{}),
              nn::compile<CpuDevice, double>(nn::Sequential{nn::Input<4, 3, 2>{}, of_pixels}, plain,
                                             nn::SparseCategoricalCrossentropy{nn::from_logits}),
              images, classes, weights(24));
  }
}

TEST_CASE("metrics read probabilities, and other ends keep the loss of probabilities") {
  // logits -1 and 1: probabilities 0.27 and 0.73; a threshold of 0.8 is above both
  nn::Sequential const m{nn::Input<1>{}, nn::Dense<1>{nn::sigmoid}.without_bias()};
  auto t =
      nn::compile<CpuDevice, double>(m, plain, nn::BinaryCrossentropy{},
                                     nn::BinaryAccuracy{.threshold = 0.8}, nn::MeanSquaredError{});
  double const one = 1;
  nn::write_values(t.weights("kernel"), &one);
  Matrix const x{{-1}, {1}}, y{{0}, {1}};
  auto const l = t.evaluate(x, y);
  CHECK(l["binary_accuracy"] == 0.5);
  double const p = 1 / (1 + std::exp(-1.0));
  CHECK(l["mean_squared_error"] == doctest::Approx((1 - p) * (1 - p)));
  CHECK(l["loss"] == doctest::Approx(-std::log(p)));
  CHECK(t.predict(x)(1, 0) == doctest::Approx(p));
  // a linear end is held in [1e-7, 1 - 1e-7], as before
  auto held =
      nn::compile<CpuDevice, double>(nn::Sequential{nn::Input<1>{}, nn::Dense<1>{}.without_bias()},
                                     plain, nn::BinaryCrossentropy{});
  nn::write_values(held.weights("kernel"), &one);
  CHECK(held.evaluate(Matrix{{5}}, Matrix{{0}})["loss"] == doctest::Approx(-std::log(1e-7)));
  // a sigmoid that only the object knows, in front of a loss that would apply it again
  CHECK(message_of<configuration_error>([&] {
          nn::compile<CpuDevice, double>(m, plain, nn::BinaryCrossentropy{nn::from_logits});
        }).find("the model ends in sigmoid and its loss reads logits") != std::string::npos);
}

}  // namespace last_activation_test
