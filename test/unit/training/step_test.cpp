// SPDX-License-Identifier: Apache-2.0
// One step of training as one plan: its gradients are those of the loss, and the number of replicas
// does not show in the numbers, wherever they run.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <worst_of.hpp>

#include <locus/testing/recorder.hpp>
// the recorder comes first
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <doctest/doctest.h>
#include <random>
#include <unistd.h>

#include <locus/data/batches.hpp>
#include <locus/files/idx.hpp>
#include <locus/testing/count.hpp>
#include <locus/testing/simulated_gpus.hpp>

#include "network.hpp"

using namespace network;

namespace {

template <int N>
struct mirrored_over;
template <>
struct mirrored_over<1> {
  using type = Mirrored<GpuDevice<0>>;
};
template <>
struct mirrored_over<2> {
  using type = Mirrored<GpuDevice<0>, GpuDevice<1>>;
};
template <>
struct mirrored_over<3> {
  using type = Mirrored<GpuDevice<0>, GpuDevice<1>, GpuDevice<2>>;
};
template <>
struct mirrored_over<4> {
  using type = Mirrored<GpuDevice<0>, GpuDevice<1>, GpuDevice<2>, GpuDevice<3>>;
};

/// Images in [0, 1] and their labels, kept outside of tensors: devices change between the runs.
struct dataset {
  std::vector<double> pixels;
  std::vector<std::uint8_t> labels;
};

/// random images with a bright band, whose place is the label
dataset random_images(int rows, unsigned seed) {
  std::mt19937 bits(seed);
  std::uniform_real_distribution<double> pixel(0, 0.5);
  dataset d;
  for (int i = 0; i < rows; ++i) {
    d.labels.push_back(static_cast<std::uint8_t>(bits() % 10));
    for (int k = 0; k < 784; ++k)
      d.pixels.push_back(pixel(bits) + (k / 79 == d.labels.back() ? 0.5 : 0));
  }
  return d;
}
/// Fashion-MNIST's training images where it is installed, otherwise as many random ones
dataset images(int rows) {
  char const* const set = std::getenv("LOCUS_FASHION_MNIST");
  std::string const folder = set ? set : "/usr/share/datasets/fashion-mnist";
  std::string const x = folder + "/train-images-idx3-ubyte.gz",
                    y = folder + "/train-labels-idx1-ubyte.gz";
  if (access(x.c_str(), R_OK) != 0) {
    MESSAGE("no Fashion-MNIST in " << folder << ": random images instead");
    return random_images(rows, 11);
  }
  static auto const all = [&] {
    auto const pixels = data::read_idx<3>(x.c_str());
    auto const labels = data::read_idx<1>(y.c_str());
    dataset d;
    for (std::int64_t i = 0; i < pixels.size(); ++i) d.pixels.push_back(pixels.data()[i] / 255.0);
    d.labels.assign(labels.data(), labels.data() + labels.size());
    return d;
  }();
  return {{all.pixels.begin(), all.pixels.begin() + 784 * rows},
          {all.labels.begin(), all.labels.begin() + rows}};
}

template <class T>
struct history {
  std::vector<double> losses;
  std::vector<T> w1, w2;
};

/// trains, and looks at each step: one all-reduce, what the plan says, equal copies
template <class T, int Replicas>
history<T> train(dataset const& from, int batch_size, int steps = 1 << 20) {
  using Where = typename mirrored_over<Replicas>::type;
  auto const rows = static_cast<std::int64_t>(from.labels.size());
  Tensor<T, Extents<dyn, 784>> x_all(rows);
  Tensor<std::uint8_t, Dextents<1>> label_all(rows);
  for (std::int64_t i = 0; i < 784 * rows; ++i)
    x_all.data()[i] = T(from.pixels[static_cast<std::size_t>(i)]);
  std::memcpy(label_all.data(), from.labels.data(), from.labels.size());
  auto const sets = data::batches({.batch_size = batch_size, .seed = 3}, x_all, label_all);
  model<T, Where> m;
  history<T> seen;
  for (auto [x, label] : distribute<Where>(sets)) {
    if (static_cast<int>(seen.losses.size()) == steps) break;
    seen.losses.push_back(loss(m, x, label));
    with_step(m, x, label, T(0.1), [&](auto const& step) {
      static_assert(std::remove_cvref_t<decltype(step)>::all_reduces() == 1);
      static_assert(std::remove_cvref_t<decltype(step)>::copies() == 0);
      auto const done = testing::count([&] { run(step); });
      REQUIRE(done.all_reduces == 1);
      REQUIRE(done == tally_of(step));
    });
    for (auto const& copy : copies_of(m.w1))
      REQUIRE(std::memcmp(copy.data(), copies_of(m.w1)[0].data(), sizeof(T) * copy.size()) == 0);
    for (auto const& copy : copies_of(m.w2))
      REQUIRE(std::memcmp(copy.data(), copies_of(m.w2)[0].data(), sizeof(T) * copy.size()) == 0);
  }
  seen.w1 = copies_of(m.w1)[0], seen.w2 = copies_of(m.w2)[0];
  return seen;
}

template <class T>
double largest_difference(std::vector<T> const& a, std::vector<T> const& b) {
  REQUIRE(a.size() == b.size());
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    double const d = std::abs(double(a[i]) - double(b[i]));
    most = worst_of(most, d);
  }
  return most;
}
template <class T>
void check_same(history<T> const& a, history<T> const& b, double tolerance) {
  CHECK(largest_difference(a.losses, b.losses) <= tolerance);
  CHECK(largest_difference(a.w1, b.w1) <= tolerance);
  CHECK(largest_difference(a.w2, b.w2) <= tolerance);
}

// ---- gradients ----

/// The network in plain loops: its loss, also with one weight moved, at the cost of what that
/// changes.
struct plain_network {
  dataset const& d;
  std::size_t rows = d.labels.size();
  std::vector<double> w1, w2, before, scores;  // (784,128) (128,10) (rows,128) (rows,10)

  plain_network(dataset const& data, std::vector<double> a, std::vector<double> b)
      : d(data), w1(std::move(a)), w2(std::move(b)), before(rows * 128), scores(rows * 10) {
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t j = 0; j < 128; ++j) {
        for (std::size_t i = 0; i < 784; ++i)
          before[128 * r + j] += d.pixels[784 * r + i] * w1[128 * i + j];
        for (std::size_t c = 0; c < 10; ++c)
          scores[10 * r + c] += positive(before[128 * r + j]) * w2[10 * j + c];
      }
  }
  static double positive(double v) { return v > 0 ? v : 0; }
  /// cross-entropy of one row, whose scores have changed by change * w
  double row_loss(std::size_t r, double change, double const* w) const {
    double z[10], top = -1e300, sum = 0;
    for (std::size_t c = 0; c < 10; ++c) z[c] = scores[10 * r + c] + change * w[c];
    for (double v : z) top = v > top ? v : top;
    for (double v : z) sum += std::exp(v - top);
    return top + std::log(sum) - z[d.labels[r]];
  }
  double loss() const {
    double const none[10]{};
    double sum = 0;
    for (std::size_t r = 0; r < rows; ++r) sum += row_loss(r, 0, none);
    return sum / double(rows);
  }
  /// central differences; has_kink: a unit switches on or off between the two points
  double slope_of_w1(std::size_t i, std::size_t j, double step, bool& has_kink) const {
    double sum = 0;
    for (std::size_t r = 0; r < rows; ++r) {
      double const at = before[128 * r + j], by = step * d.pixels[784 * r + i];
      has_kink = has_kink || (at - by > 0) != (at + by > 0);
      sum += row_loss(r, positive(at + by) - positive(at), &w2[10 * j]) -
             row_loss(r, positive(at - by) - positive(at), &w2[10 * j]);
    }
    return sum / (2 * step * double(rows));
  }
  double slope_of_w2(std::size_t j, std::size_t c, double step) const {
    double unit[10]{}, sum = 0;
    unit[c] = 1;
    for (std::size_t r = 0; r < rows; ++r) {
      double const h = positive(before[128 * r + j]);
      sum += row_loss(r, step * h, unit) - row_loss(r, -step * h, unit);
    }
    return sum / (2 * step * double(rows));
  }
};

/// one step with rate 1 moves the weights by their gradients
template <int Replicas>
void check_gradients(dataset const& d) {
  using Where = typename mirrored_over<Replicas>::type;
  auto const rows = static_cast<std::int64_t>(d.labels.size());
  Tensor<double, Extents<dyn, 784>> x(rows);
  Tensor<std::uint8_t, Dextents<1>> label(rows);
  std::memcpy(x.data(), d.pixels.data(), sizeof(double) * d.pixels.size());
  std::memcpy(label.data(), d.labels.data(), d.labels.size());
  auto const xs = to<rows_over<Where>>(x);
  auto const labels = to<rows_over<Where>>(label);
  model<double, Where> m;
  plain_network const plain(d, copies_of(m.w1)[0], copies_of(m.w2)[0]);
  CHECK(std::abs(loss(m, xs, labels) - plain.loss()) <= 1e-12);
  with_step(m, xs, labels, 1.0, [](auto const& step) { run(step); });
  auto const w1 = copies_of(m.w1)[0], w2 = copies_of(m.w2)[0];

  double largest = 0, error = 0;
  int kinks = 0;
  auto compare = [&](double gradient, double slope) {
    largest = std::max(largest, std::abs(gradient));
    error = worst_of(error, std::abs(gradient - slope));
  };
  double const step = 1e-5;
  for (std::size_t i = 0; i < 784; ++i)
    for (std::size_t j = 0; j < 128; ++j) {
      bool has_kink = false;
      double const slope = plain.slope_of_w1(i, j, step, has_kink);
      kinks += has_kink;
      if (!has_kink) compare(plain.w1[128 * i + j] - w1[128 * i + j], slope);
    }
  for (std::size_t j = 0; j < 128; ++j)
    for (std::size_t c = 0; c < 10; ++c)
      compare(plain.w2[10 * j + c] - w2[10 * j + c], plain.slope_of_w2(j, c, step));
  CHECK(largest > 1e-3);
  CHECK(error <= 1e-6 * largest);
  CHECK(kinks < 784 * 128 / 100);
}

}  // namespace

TEST_CASE("the gradients are the slopes of the loss") {
  SUBCASE("random images over two replicas") { check_gradients<2>(random_images(20, 5)); }
  SUBCASE("images of clothes over three replicas") { check_gradients<3>(images(20)); }
}

TEST_CASE("an epoch has the same losses and weights on 1, 2, 3 and 4 replicas") {
  // batches of 64, the last of 48; under AddressSanitizer a quarter of them
  std::size_t const count = LOCUS_ADDRESS_SANITIZER ? 1456 : 6000;
  auto const d = images(count);
  auto const alone = train<double, 1>(d, 64);
  CHECK(alone.losses.size() == (count + 63) / 64);
  CHECK(alone.losses.back() < 0.6 * alone.losses.front());
  check_same(train<double, 2>(d, 64), alone, 1e-9);
  check_same(train<double, 3>(d, 64), alone, 1e-9);
  check_same(train<double, 4>(d, 64), alone, 1e-9);
}

TEST_CASE("simulated and recorded GPUs train as the host does, with batches that do not divide") {
  auto const d = images(1930);  // 19 batches of 100 (34 34 32 over three) and one of 30
  auto const alone = train<double, 1>(d, 100);
  auto const alone_float = train<float, 1>(d, 100);
  CHECK(alone.losses.size() == 20);
  check_same(train<double, 3>(d, 100), alone, 1e-9);
  check_same(train<float, 3>(d, 100), alone_float, 1e-5);
  for (int cards : {1, 2, 4}) {
    if (LOCUS_ADDRESS_SANITIZER && cards != 2) continue;  // there each takes half a minute
    CAPTURE(cards);
    {
      testing::simulated_gpus const gpus{4, {.seed = std::uint64_t(7 + cards), .cards = cards}};
      check_same(train<double, 3>(d, 100), alone, 1e-9);
      check_same(train<double, 4>(d, 100), alone, 1e-9);
      check_same(train<float, 3>(d, 100), alone_float, 1e-5);
    }
    {
      testing::recorder const gpus{{.cards = cards}};
      check_same(train<double, 3>(d, 100), alone, 1e-9);
      check_same(train<float, 3>(d, 100), alone_float, 1e-5);
    }
  }
}
