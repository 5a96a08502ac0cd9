// SPDX-License-Identifier: Apache-2.0
// Optimizers against Keras' formulas, worked out in long double, over 50 steps of random gradients.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <doctest/doctest.h>

#include <worst_of.hpp>

#include <locus/testing/recorder.hpp>

#include <cmath>
#include <string>
#include <vector>

#include <locus/locus.hpp>
#include <locus/nn/optimizers/updater.hpp>
#include <locus/testing/simulated_gpus.hpp>

#include "oracle.hpp"

namespace optimizer_test {

using namespace locus;

namespace {

using real = long double;

/// One weight as Keras treats it: its slots, and a step with learning rate lr as step t (from 1).
struct keras_weight {
  real w = 0, slot[3] = {0, 0, 0};
};

struct keras_sgd {
  real momentum = 0;
  bool nesterov = false;
  void step(keras_weight& k, real g, real lr, int) const {
    if (momentum == 0) {
      k.w -= lr * g;
      return;
    }
    k.slot[0] = momentum * k.slot[0] - lr * g;
    k.w += nesterov ? momentum * k.slot[0] - lr * g : k.slot[0];
  }
};
struct keras_adam {
  real b1 = .9L, b2 = .999L, eps = 1e-7L;
  void step(keras_weight& k, real g, real lr, int t) const {
    real const alpha = lr * std::sqrt(1 - std::pow(b2, real(t))) / (1 - std::pow(b1, real(t)));
    k.slot[0] += (g - k.slot[0]) * (1 - b1);
    k.slot[1] += (g * g - k.slot[1]) * (1 - b2);
    k.w -= k.slot[0] * alpha / (std::sqrt(k.slot[1]) + eps);
  }
};
struct keras_nadam {
  real schedule_decay = .004L, b1 = .9L, b2 = .999L, eps = 1e-7L;
  real u(int t) const { return b1 * (1 - .5L * std::pow(.96L, schedule_decay * real(t))); }
  void step(keras_weight& k, real g, real lr, int t) const {
    real product = 1;
    for (int i = 1; i <= t; ++i) product *= u(i);
    k.slot[0] += (g - k.slot[0]) * (1 - b1);
    k.slot[1] += (g * g - k.slot[1]) * (1 - b2);
    real const m_hat =
        u(t + 1) * k.slot[0] / (1 - product * u(t + 1)) + (1 - u(t)) * g / (1 - product);
    real const v_hat = k.slot[1] / (1 - std::pow(b2, real(t)));
    k.w -= m_hat * lr / (std::sqrt(v_hat) + eps);
  }
};
struct keras_rmsprop {
  real rho = .9L, momentum = 0, eps = 1e-7L;
  bool centered = false;
  void step(keras_weight& k, real g, real lr, int) const {
    k.slot[0] = rho * k.slot[0] + (1 - rho) * g * g;
    real denominator = k.slot[0] + eps;
    if (centered) {
      k.slot[2] = rho * k.slot[2] + (1 - rho) * g;
      denominator -= k.slot[2] * k.slot[2];
    }
    real const increment = lr * g / std::sqrt(denominator);
    k.slot[1] = momentum * k.slot[1] + increment;
    k.w -= momentum > 0 ? k.slot[1] : increment;
  }
};

template <class T, class Replicas>
struct model {
  std::vector<nn::parameter<T, Replicas>> parameters;
  template <class F>
  void for_each_parameter(F&& f) {
    for (auto& p : parameters) f(p);
  }
};
template <class T, class Replicas>
nn::parameter<T, Replicas> parameter_of(std::vector<T> const& values, shape const& extents) {
  auto p = nn::make_parameter<T, Replicas>("kernel", extents, nn::zeros, 1);
  locus::internal::fill_storage(*p.value.block.get(), values.data());
  return p;
}
template <class T, class E, class Where>
std::vector<T> read(Tensor<T, E, Where> const& t) {
  auto const host = to<CpuDevice>(t);
  return std::vector<T>(host.data(), host.data() + host.size());
}

struct options {
  int steps = 50;
  double weight_decay = 0, clipvalue = 0;
  double (*rate)(int) = [](int) { return 0.01; };
  bool sparse = false;
};

/// two parameters, a table of rows of 7 and a bias of 5
template <class T, class Replicas, class Optimizer, class Keras>
void compare(Optimizer const& optimizer, Keras const& keras, options const& o) {
  std::int64_t const rows = 41, width = 7, bias = 5;
  oracle::random r(11);
  model<T, Replicas> m;
  std::vector<keras_weight> want[2];
  for (std::int64_t n : {rows * width, bias}) {
    std::vector<T> begin(std::size_t(n), T(0));
    auto& k = want[m.parameters.size()];
    for (T& w : begin) w = r.value<T>(-1, 1), k.push_back({real(w), {0, 0, 0}});
    m.parameters.push_back(
        parameter_of<T, Replicas>(begin, n == bias ? shape{1, {bias}} : shape{2, {rows, width}}));
  }
  nn::updater<Optimizer, T, Replicas> updater(optimizer);
  for (int t = 1; t <= o.steps; ++t) {
    for (std::size_t k = 0; k < 2; ++k) {
      auto& p = m.parameters[k];
      std::vector<T> g(want[k].size(), T(0));
      std::vector<std::int32_t> touched;
      std::vector<T> values;
      for (std::size_t i = 0; i < g.size(); ++i) {
        if (k == 0 && o.sparse && i % std::size_t(width) == 0 && r.number(0, 3) != 0) {
          i += std::size_t(width) - 1;
          continue;
        }
        if (k == 0 && i % std::size_t(width) == 0)
          touched.push_back(std::int32_t(i / std::size_t(width)));
        g[i] = r.value<T>(-2, 2), values.push_back(g[i]);
      }
      if (k == 0 && o.sparse) {
        p.sparse = true;
        for (int unused = 0; unused < 3; ++unused) {  // room for more rows: numbers past the table
          touched.push_back(std::int32_t(rows));
          for (std::int64_t d = 0; d < width; ++d) values.push_back(T(7));
        }
        auto const n = std::int64_t(touched.size());
        p.rows = Tensor<std::int32_t, Dextents<1>, Replicas>(Dextents<1>(n));
        p.row_values = Tensor<T, Dextents<2>, Replicas>(Dextents<2>(n, width));
        if (n > 0) {
          locus::internal::fill_storage(*p.rows.block.get(), touched.data());
          locus::internal::fill_storage(*p.row_values.block.get(), values.data());
        }
      } else
        locus::internal::fill_storage(*p.gradient.block.get(), g.data());
      for (std::size_t i = 0; i < g.size(); ++i) {
        real d = real(g[i]);
        if (o.clipvalue > 0) d = std::fmin(std::fmax(d, -real(o.clipvalue)), real(o.clipvalue));
        real const lr = real(o.rate(t - 1));
        want[k][i].w -= want[k][i].w * real(o.weight_decay) * lr;
        keras.step(want[k][i], d, lr, t);
      }
    }
    updater.step(m);
  }
  CHECK(updater.iterations() == o.steps);
  real worst = 0;
  for (std::size_t k = 0; k < 2; ++k) {
    auto const is = read(m.parameters[k].value);
    for (std::size_t i = 0; i < is.size(); ++i)
      worst = worst_of(worst, std::fabs(real(is[i]) - want[k][i].w));
  }
  CHECK(worst <= (sizeof(T) == 8 ? 1e-13L : 2e-5L));
}

using one = Mirrored<CpuDevice>;
using two = Mirrored<GpuDevice<0>, GpuDevice<1>>;

}  // namespace

TEST_CASE("every optimizer is Keras' over 50 steps") {
  compare<double, one>(nn::SGD{}, keras_sgd{}, {});
  compare<double, one>(nn::SGD{.momentum = 0.9}, keras_sgd{.9L}, {});
  compare<double, one>(nn::SGD{.momentum = 0.9, .nesterov = true}, keras_sgd{.9L, true}, {});
  compare<double, one>(nn::Nadam{.learning_rate = 0.01}, keras_nadam{}, {});
  compare<double, one>(nn::Adam{.learning_rate = 0.01}, keras_adam{}, {});
  compare<double, one>(nn::AdamW{.learning_rate = 0.01}, keras_adam{}, {.weight_decay = 0.004});
  compare<double, one>(nn::RMSprop{.learning_rate = 0.01}, keras_rmsprop{}, {});
  compare<double, one>(nn::RMSprop{.learning_rate = 0.01, .momentum = 0.9}, keras_rmsprop{.9L, .9L},
                       {});
  compare<double, one>(nn::RMSprop{.learning_rate = 0.01, .momentum = 0.5, .centered = true},
                       keras_rmsprop{.9L, .5L, 1e-7L, true}, {});
}

TEST_CASE("weight decay, clipping and schedules of the learning rate are Keras'") {
  compare<double, one>(nn::Nadam{.learning_rate = 0.01, .weight_decay = 0.1, .clipvalue = 0.5},
                       keras_nadam{}, {.weight_decay = 0.1, .clipvalue = 0.5});
  compare<double, one>(
      nn::Nadam{.learning_rate = nn::ExponentialDecay{0.1, 10, 0.5}, .schedule_decay = 1},
      keras_nadam{1}, {.rate = [](int step) { return 0.1 * std::pow(0.5, step / 10.0); }});
  // three steps without a gradient: 2 * 0.996^3
  model<double, one> m;
  m.parameters.push_back(parameter_of<double, one>({2.0}, shape{1, {1}}));
  locus::internal::fill_storage(*m.parameters[0].gradient.block.get(),
                                std::vector<double>{0}.data());
  nn::updater<nn::AdamW, double, one> updater(nn::AdamW{.learning_rate = 1});
  for (int k = 0; k < 3; ++k) updater.step(m);
  CHECK(read(m.parameters[0].value)[0] == doctest::Approx(1.9760959).epsilon(1e-8));
}

TEST_CASE("rows of a table are updated as a dense gradient that is 0 elsewhere") {
  compare<double, one>(nn::Nadam{.learning_rate = 0.01}, keras_nadam{}, {.sparse = true});
  compare<float, two>(nn::Nadam{.learning_rate = 0.01}, keras_nadam{}, {.sparse = true});
}

TEST_CASE("a step takes no memory but what is kept from step to step") {
  testing::simulated_gpus const gpus{2, {.seed = 4}};
  std::int64_t const n = 10000;
  model<float, two> m;
  m.parameters.push_back(parameter_of<float, two>(std::vector<float>(std::size_t(n)), {1, {n}}));
  locus::internal::fill_storage(*m.parameters[0].gradient.block.get(),
                                std::vector<float>(std::size_t(n), 1.f).data());
  nn::updater<nn::Nadam, float, two> updater(nn::Nadam{});
  updater.step(m);
  static_cast<void>(read(m.parameters[0].value));
  config::reset_memory_stats("GPU:1");
  std::int64_t const before = config::get_memory_info("GPU:1").current;
  CHECK(before >= 4 * n * 4);  // the weights, their gradient, and two slots
  updater.step(m);
  CHECK(read(m.parameters[0].value)[5] == doctest::Approx(-2e-3).epsilon(1e-3));
  CHECK(config::get_memory_info("GPU:1").peak == before);
}

TEST_CASE("a step that lacked memory changes nothing, and can be taken again") {
  auto const weights_and_averages = [](int lack, int& lacks) {
    model<float, one> m;
    for (float w : {1.f, 2.f}) {
      m.parameters.push_back(parameter_of<float, one>(std::vector<float>(9, w), {1, {9}}));
      locus::internal::fill_storage(*m.parameters.back().gradient.block.get(),
                                    std::vector<float>(9, w / 2).data());
    }
    nn::MovingAverage const rule{nn::RMSprop{.momentum = 0.9}, 0.5};
    nn::updater<std::remove_const_t<decltype(rule)>, float, one> updater(rule);
    auto const step = [&](int planted) {
      runtime::planted.lack_memory = planted;
      try {
        updater.step(m);
      } catch (out_of_memory const&) {
        ++lacks;
      }
      runtime::planted.lack_memory = -1;
    };
    int const before = lacks;
    step(lack);
    if (lacks > before) {
      CHECK(updater.iterations() == 0);
      CHECK(read(m.parameters[0].value)[0] == 1);
      CHECK(read(m.parameters[1].value)[0] == 2);
      step(-1);
    }
    step(-1);
    CHECK(updater.iterations() == 2);
    std::vector<double> all;
    for (int averages : {0, 1}) {
      for (auto& p : m.parameters) all.push_back(read(p.value)[0]);
      if (averages == 0) updater.take_averages(m);
    }
    return all;
  };
  int lacks = 0;
  auto const want = weights_and_averages(-1, lacks);
  CHECK(want[0] != want[2]);
  for (int k = 0, before = -1; lacks > before; ++k) {
    before = lacks;
    CHECK(weights_and_averages(k, lacks) == want);
  }
  CHECK(lacks >= 8);  // four slots of two weights
}

TEST_CASE("an average is the weight until the weight's first step") {
  model<float, one> m;
  for (float w : {1.f, 2.f})
    m.parameters.push_back(parameter_of<float, one>(std::vector<float>(9, w), {1, {9}}));
  nn::MovingAverage const rule{nn::SGD{.learning_rate = 0.1}, 0.5};
  nn::updater<std::remove_const_t<decltype(rule)>, float, one> updater(rule);
  updater.prepare(m);
  updater.take_averages(m);
  CHECK(read(m.parameters[0].value)[0] == 1);
  // a weight that is trained from the second step on
  auto const ones = std::vector<float>(9, 1.f);
  for (auto& p : m.parameters) locus::internal::fill_storage(*p.gradient.block.get(), ones.data());
  m.parameters[1].trainable = false;
  updater.step(m);
  m.parameters[1].trainable = true;
  updater.step(m);
  updater.take_averages(m);
  CHECK(read(m.parameters[1].value)[0] == doctest::Approx((2 + 1.9) / 2));
}

TEST_CASE("simulated and recorded GPUs update as the host does") {
  auto all = [] {
    compare<float, two>(nn::Nadam{.learning_rate = 0.01, .weight_decay = 0.1}, keras_nadam{},
                        {.weight_decay = 0.1, .sparse = true});
  };
  {
    testing::simulated_gpus const gpus{2, {.seed = 3}};
    all();
  }
  {
    testing::recorder const gpus{{.cards = 2}};
    all();
  }
}

namespace {

/// an optimizer of the program's own, which keeps many numbers of each weight
template <class T, int Slots>
struct delays_rule {
  static constexpr int slot_count = Slots;
  T rate;
  // a compiler for GPUs takes no vector in what both sides may call
  template <class V>
    requires nn::detail::is_number<V>
  LOCUS_HOST_DEVICE void operator()(V* x, V g) const {
    x[0] = x[0] - rate * x[Slots];
    for (int k = Slots; k > 1; --k) x[k] = x[k - 1];
    x[1] = g;
  }
  template <class V>
  void operator()(V* x, V g) const {
    x[0] = x[0] - rate * x[Slots];
    for (int k = Slots; k > 1; --k) x[k] = x[k - 1];
    x[1] = g;
  }
};
template <int Slots>
struct delays {
  nn::rate learning_rate = 0.5;
  double weight_decay = 0, clipvalue = 0;
  static constexpr char const* name = "delays";
  static constexpr char const* slot_names[Slots]{};
  void require() const {}
  template <class T, class F>
  void with_rule(nn::step_state const& s, F&& f) const {
    f(delays_rule<T, Slots>{T(s.rate)});
  }
};

/// twelve weights of odd sizes, one of them a table of which some rows have a gradient
template <class Replicas, class Optimizer>
std::vector<std::vector<double>> many_weights(Optimizer const& optimizer, int steps,
                                              testing::recorder const* gpus = nullptr,
                                              int launches = 0) {
  oracle::random r(23);
  model<double, Replicas> m;
  auto const values = [&](std::int64_t n, double most) {
    std::vector<double> all(std::size_t(n), 0.);
    for (double& v : all) v = r.value<double>(-most, most);
    return all;
  };
  for (std::int64_t n : {1, 2, 3, 513, 8, 1000, 7, 4, 5, 2049, 6, 31})
    m.parameters.push_back(parameter_of<double, Replicas>(values(n, 1), shape{1, {n}}));
  m.parameters[4].sparse = true;
  std::int32_t const rows[] = {1, 3};
  m.parameters[4].rows = Tensor<std::int32_t, Dextents<1>, Replicas>(Dextents<1>(2));
  m.parameters[4].row_values = Tensor<double, Dextents<2>, Replicas>(Dextents<2>(2, 2));
  nn::updater<Optimizer, double, Replicas> updater(optimizer);
  for (int t = 0; t < steps; ++t) {
    for (auto& p : m.parameters)
      if (p.sparse) {
        locus::internal::fill_storage(*p.rows.block.get(), rows);
        locus::internal::fill_storage(*p.row_values.block.get(), values(4, 2).data());
      } else
        locus::internal::fill_storage(*p.gradient.block.get(), values(p.size(), 2).data());
    auto const before = gpus ? gpus->calls("launch") : 0;
    updater.step(m);
    if (gpus) CHECK(gpus->calls("launch") == before + launches);
  }
  std::vector<std::vector<double>> all;
  for (auto const& p : m.parameters) all.push_back(read(p.value));
  return all;
}

}  // namespace

TEST_CASE("on GPUs one launch updates several weights, and none waits for the next step") {
  auto const agree = [](auto const& optimizer, int dense) {
    auto const want = many_weights<one>(optimizer, 3);
    auto const same = [&](std::vector<std::vector<double>> const& is) {
      for (std::size_t k = 0; k < want.size(); ++k)
        for (std::size_t i = 0; i < want[k].size(); ++i)
          REQUIRE(is[k][i] == doctest::Approx(want[k][i]).epsilon(1e-13));
    };
    testing::recorder const gpus{{.cards = 2}};
    same(many_weights<two>(optimizer, 3, &gpus, 2 * (dense + 1)));  // and one of the table
  };
  agree(nn::SGD{}, 1);                            // eleven of 11
  agree(nn::SGD{.momentum = 0.9}, 2);             // of 7
  agree(nn::Nadam{.learning_rate = 0.01}, 3);     // of 5
  agree(nn::MovingAverage{nn::Nadam{}, 0.9}, 3);  // of 4
  agree(delays<7>{}, 6);                          // of 2
  agree(delays<20>{}, 11);                        // of 1
  testing::recorder const gpus{{.cards = 2}};
  nn::sgd_rule<double> const rule{0.5};
  using on_gpu = Tensor<double, Dextents<1>, GpuDevice<0>>;
  on_gpu const g(ones<double>(Dextents<1>(3)));
  std::vector<on_gpu> w;
  for (int k = 0; k < 11; ++k) w.emplace_back(full<double>(Dextents<1>(3), k));
  nn::update_of<on_gpu> all[11];
  for (std::size_t k = 0; k < 11; ++k) all[k] = {&w[k], nullptr, &g};
  auto const updates = nn::update_plan(rule, all);
  static_assert(decltype(updates)::launches() == 1);
  run(updates);
  for (std::size_t k = 0; k < 11; ++k) CHECK(read(w[k]) == std::vector<double>(3, double(k) - 0.5));
}

TEST_CASE("a clipped optimizer on GPUs is that of the host") {
  testing::recorder const gpus{{.cards = 2}};
  auto const same = [](auto const& optimizer) {
    auto const want = many_weights<one>(optimizer, 2), is = many_weights<two>(optimizer, 2);
    for (std::size_t k = 0; k < want.size(); ++k)
      for (std::size_t i = 0; i < want[k].size(); ++i)
        REQUIRE(is[k][i] == doctest::Approx(want[k][i]).epsilon(1e-12));
  };
  same(nn::ClipGlobalNorm{0.5, nn::SGD{}});
  same(nn::ClipNorm{0.5, nn::SGD{}});
}

TEST_CASE("schedules are Keras'") {
  auto same = [](double is, double want) { CHECK(is == doctest::Approx(want).epsilon(1e-12)); };
  nn::rate const stairs = nn::ExponentialDecay{0.1, 100, 0.9, true};
  same(stairs.at(99), 0.1), same(stairs.at(100), 0.09), same(stairs.at(250), 0.081);
  nn::rate const inverse = nn::InverseTimeDecay{0.1, 10, 0.5};
  same(inverse.at(30), 0.1 / 2.5);
  nn::rate const line = nn::PolynomialDecay{0.1, 10, 0.02, 2};
  same(line.at(5), 0.08 * 0.25 + 0.02), same(line.at(50), 0.02);
  nn::rate const cosine = nn::CosineDecay{.initial_learning_rate = 0,
                                          .decay_steps = 100,
                                          .alpha = 0.1,
                                          .warmup_target = 0.2,
                                          .warmup_steps = 10};
  same(cosine.at(5), 0.1), same(cosine.at(10), 0.2), same(cosine.at(60), 0.2 * (0.9 * 0.5 + 0.1));
  same(cosine.at(1000), 0.02);
  nn::rate const no_target = nn::CosineDecay{
      .initial_learning_rate = 0.1, .decay_steps = 100, .warmup_steps = 10};  // no warm-up
  same(no_target.at(0), 0.1),
      same(no_target.at(10), 0.1 * 0.5 * (1 + std::cos(3.14159265358979323846 / 10)));
  same(no_target.at(50), 0.05);
  nn::rate const no_steps =
      nn::CosineDecay{.initial_learning_rate = 0.1, .decay_steps = 100, .warmup_target = 0.2};
  same(no_steps.at(0), 0.2), same(no_steps.at(50), 0.1);
  nn::rate const pieces = nn::PiecewiseConstantDecay{{100, 200}, {1, 0.5, 0.1}};
  same(pieces.at(100), 1), same(pieces.at(101), 0.5), same(pieces.at(201), 0.1);
  nn::rate const warm = nn::LinearWarmup{4, nn::ExponentialDecay{0.1, 1, 0.5}};
  same(warm.at(0), 0.02), same(warm.at(3), 0.08), same(warm.at(4), 0.1), same(warm.at(5), 0.05);
  nn::rate const own = [](std::int64_t step) { return 1.0 / double(step + 1); };
  same(own.at(3), 0.25);
}

TEST_CASE("options that make no sense are refused by name") {
  auto refused = [](auto const& optimizer, char const* text) {
    using Optimizer = std::remove_cvref_t<decltype(optimizer)>;
    CHECK_THROWS_WITH_AS((nn::updater<Optimizer, float, one>(optimizer)), text,
                         configuration_error);
  };
  double const nan = std::nan("");
  refused(nn::SGD{.learning_rate = -0.1},
          "locus: the learning rate is -0.1; it must be a finite number, 0 or above");
  refused(nn::SGD{.learning_rate = nan},
          "locus: the learning rate is nan; it must be a finite number, 0 or above");
  refused(nn::SGD{.momentum = 1}, "locus: momentum of SGD is 1; it must be at least 0 and below 1");
  refused(nn::Nadam{.beta_2 = nan},
          "locus: beta_2 of Nadam is nan; it must be at least 0 and below 1");
  refused(nn::Adam{.clipvalue = -1}, "locus: clipvalue of Adam is -1; it must be at least 0");
  nn::rate const late = [](std::int64_t step) { return step < 2 ? 1.0 : -1.0; };
  CHECK_THROWS_WITH_AS(late.at(2),
                       "locus: the learning rate of step 2 is -1; it must be a finite number, 0 or "
                       "above",
                       configuration_error);
}

TEST_CASE("gradients are clipped to the norm of a parameter, or of all, and weights are averaged") {
  oracle::random r(21);
  std::size_t const n[] = {12, 5};
  model<double, one> m[2];
  std::vector<real> w[2][2], average[2];
  for (int by = 0; by < 2; ++by)
    for (std::size_t k = 0; k < 2; ++k) {
      std::vector<double> begin(n[k]);
      for (double& v : begin) v = r.real(-1, 1), w[by][k].push_back(real(v));
      m[by].parameters.push_back(parameter_of<double, one>(begin, {1, {std::int64_t(n[k])}}));
      if (by == 0) average[k].resize(n[k]);
    }
  nn::updater<nn::ClipNorm<nn::MovingAverage<nn::SGD>>, double, one> each(
      nn::ClipNorm{0.7, nn::MovingAverage{nn::SGD{.learning_rate = 0.1}, 0.9}});
  nn::updater<nn::ClipGlobalNorm<nn::SGD>, double, one> all(
      nn::ClipGlobalNorm{2.0, nn::SGD{.learning_rate = 0.1}});
  each.prepare(m[0]);  // what a checkpoint is read into
  for (int t = 0; t < 10; ++t) {
    std::vector<double> g[2];
    real square[2] = {0, 0};
    double const size = r.real(0.1, 1);  // some steps are clipped, some are not
    for (std::size_t k = 0; k < 2; ++k) {
      for (std::size_t i = 0; i < n[k]; ++i)
        g[k].push_back(r.real(-size, size)), square[k] += real(g[k][i]) * real(g[k][i]);
      for (int by = 0; by < 2; ++by)
        locus::internal::fill_storage(*m[by].parameters[k].gradient.block.get(), g[k].data());
    }
    each.step(m[0]), all.step(m[1]);
    real const common = std::sqrt(square[0] + square[1]);
    for (std::size_t k = 0; k < 2; ++k)
      for (std::size_t i = 0; i < n[k]; ++i) {
        w[0][k][i] -= .1L * real(g[k][i]) * .7L / std::fmax(std::sqrt(square[k]), .7L);
        w[1][k][i] -= .1L * real(g[k][i]) * 2.L / std::fmax(common, 2.L);
        average[k][i] = t == 0 ? w[0][k][i] : .9L * average[k][i] + .1L * w[0][k][i];
      }
  }
  auto same = [](std::vector<double> const& is, std::vector<real> const& want) {
    for (std::size_t i = 0; i < is.size(); ++i) CHECK(std::fabs(real(is[i]) - want[i]) < 1e-14L);
  };
  for (int by = 0; by < 2; ++by)
    for (std::size_t k = 0; k < 2; ++k) same(read(m[by].parameters[k].value), w[by][k]);
  CHECK(each.stored_of(0, m[0].parameters[0], "dense/kernel")[0].name ==
        "optimizer/dense/kernel/average");
  each.take_averages(m[0]);
  for (std::size_t k = 0; k < 2; ++k) same(read(m[0].parameters[k].value), average[k]);
}

}  // namespace optimizer_test
