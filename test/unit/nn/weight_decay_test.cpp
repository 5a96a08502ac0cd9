// SPDX-License-Identifier: Apache-2.0
// Weights that do not decay: by name and by axes, in updaters, trainers and loops of a program's own.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include <locus/grad/grad.hpp>
#include <locus/locus.hpp>
#include <locus/nn/nn.hpp>
#include <locus/nn/optimizers/own_loop.hpp>
#include <locus/testing/simulated_gpus.hpp>

#include "message_of.hpp"

namespace weight_decay_test {

using namespace locus;

namespace {

using values = std::vector<std::vector<double>>;
using One = Mirrored<CpuDevice>;
using Gpus = Mirrored<GpuDevice<0>, GpuDevice<1>>;

template <class Replicas>
struct model {
  std::vector<nn::parameter<double, Replicas>> parameters;
  template <class F>
  void for_each_parameter(F&& f) {
    for (auto& p : parameters) f(p);
  }
};
/// three steps of 2 n parameters, matrices and vectors in turn, some of which are frozen
template <class Replicas, class Optimizer>
values stepped(Optimizer const& o, int n) {
  model<Replicas> m;
  for (int k = 0; k < 2 * n; ++k) {
    auto const extents = k % 2 ? shape{1, {5}} : shape{2, {3, 4}};
    m.parameters.push_back(nn::make_parameter<double, Replicas>(
        k % 2 ? "bias" : "kernel", extents, nn::random_uniform(1), std::uint64_t(k)));
    m.parameters.back().trainable = k % 5 != 3;
  }
  nn::updater<Optimizer, double, Replicas> updater(o);
  for (int step = 0; step < 3; ++step) {
    for (auto& p : m.parameters) run(into(p.gradient, p.value * 0.5 - 0.1 * step));
    updater.step(m);
  }
  values all;
  for (auto& p : m.parameters) {
    auto const host = to<CpuDevice>(p.value);
    all.emplace_back(host.data(), host.data() + host.size());
  }
  return all;
}

template <class Trainer>
values weights_of(Trainer& t) {
  values all;
  for (nn::stored const& w : t.weights()) {
    all.emplace_back(std::size_t(w.extents.size()));
    nn::read_values(w, all.back().data());
  }
  return all;
}
auto layers() {
  return nn::Sequential{nn::Input<3>{},
                        nn::Dense<4>{nn::tanh}.begin_with(nn::glorot_uniform, nn::ones),
                        nn::LayerNorm{}, nn::Dense<2>{}.begin_with(nn::he_normal, nn::ones)};
}
nn::SGD const decaying{.learning_rate = 0.1, .weight_decay = 0.5};
template <class Replicas, class Optimizer>
values after_one_step(Optimizer const& o) {
  Tensor<double, Dextents<2>> const x(uniform<double>(dextents<2>(6, 3), seed{3})),
      y(uniform<double>(dextents<2>(6, 2), seed{4}));
  auto t = nn::compile<Replicas, double>(layers(), o, nn::MeanSquaredError{});
  static_cast<void>(t.train_on_batch(x, y));
  return weights_of(t);
}
std::string message_for(nn::undecayed const& u) {
  return message_of<configuration_error>([&] {
    nn::compile<One, double>(layers(), nn::ExcludeFromDecay{decaying, u}, nn::MeanSquaredError{});
  });
}

}  // namespace

TEST_CASE("weights of few axes, or of a name, make the steps of an optimizer without decay") {
  testing::simulated_gpus const two{2};
  auto const same = []<class Replicas>(std::type_identity<Replicas>, auto with, int n) {
    auto without = with;
    without.weight_decay = 0;
    values const all = stepped<Replicas>(with, n), none = stepped<Replicas>(without, n);
    auto const check = [&](values const& got, int which) {
      for (int k = 0; k < 2 * n; ++k) {
        INFO("parameter ", k);
        CHECK(got[std::size_t(k)] == (k % 2 == which ? all : none)[std::size_t(k)]);
      }
    };
    check(stepped<Replicas>(nn::ExcludeFromDecay{with, {.axes = 1}}, n), 0);
    check(stepped<Replicas>(nn::ExcludeFromDecay{with, {.names = {"bias"}}}, n), 0);
    check(stepped<Replicas>(nn::ExcludeFromDecay{with, {.names = {"kernel"}}}, n), 1);
    check(stepped<Replicas>(nn::ClipGlobalNorm{1e9, nn::ExcludeFromDecay{with, {.axes = 1}}}, n),
          0);
    check(stepped<Replicas>(nn::ExcludeFromDecay{nn::MovingAverage{with}, {.axes = 1}}, n), 0);
    CHECK(all[0] != none[0]);
    CHECK(all[1] != none[1]);
  };
  same(std::type_identity<One>{}, nn::AdamW{.learning_rate = 0.1, .weight_decay = 0.5}, 2);
  // more weights than one launch updates: weights that decay and others go apart
  same(std::type_identity<Gpus>{}, nn::AdamW{.learning_rate = 0.1, .weight_decay = 0.5}, 17);
  same(std::type_identity<Gpus>{}, nn::SGD{.learning_rate = 0.1, .weight_decay = 0.5}, 1);
}

TEST_CASE("a trainer knows weights by layer and name, and by axes") {
  auto const same = []<class Replicas>(std::type_identity<Replicas>) {
    auto without = decaying;
    without.weight_decay = 0;
    values const all = after_one_step<Replicas>(decaying), none = after_one_step<Replicas>(without);
    auto t = nn::compile<Replicas, double>(layers(), decaying, nn::MeanSquaredError{});
    std::vector<std::string> names;
    for (nn::stored const& w : t.weights()) names.push_back(w.name);
    REQUIRE(names.size() == 6);
    REQUIRE(names[1] == "dense/bias");
    REQUIRE(names[2] == "layer_normalization/gamma");
    auto const check = [&](nn::undecayed const& u, std::vector<int> const& decays) {
      values const got = after_one_step<Replicas>(nn::ExcludeFromDecay{decaying, u});
      for (std::size_t k = 0; k < 6; ++k) {
        INFO(names[k]);
        if (k != 3) CHECK(all[k] != none[k]);  // beta begins with 0
        CHECK(got[k] == (decays[k] ? all : none)[k]);
      }
    };
    check({.axes = 1}, {1, 0, 0, 0, 1, 0});
    check({.names = {"bias"}}, {1, 0, 1, 1, 1, 0});
    check({.names = {"gamma", "beta"}}, {1, 1, 0, 0, 1, 1});
    check({.names = {"dense_1"}}, {1, 1, 1, 1, 0, 0});
    check({.names = {"dense"}}, {0, 0, 1, 1, 1, 1});
    check({.names = {"dense_1/kernel", "layer_normalization"}}, {1, 1, 0, 0, 0, 1});
    check({.names = {"dense/kernel"}, .axes = 1}, {0, 0, 0, 0, 1, 0});
  };
  same(std::type_identity<One>{});
  testing::simulated_gpus const two{2};
  same(std::type_identity<Gpus>{});
}

TEST_CASE("the table of an Embedding decays, or not, where only some of its rows have a gradient") {
  // one step from `batches` batches
  auto const stepped = []<class Replicas>(std::type_identity<Replicas>, auto const& o,
                                          int batches) {
    auto t = nn::compile<Replicas, double>(
        nn::Sequential{nn::Embedding<4, 2>{11}, nn::Flatten{},
                       nn::Dense<2>{}.begin_with(nn::glorot_uniform, nn::ones)},
        o, nn::MeanSquaredError{});
    Tensor<std::int32_t, Dextents<2>> const words{{1, 7}, {7, 3}, {0, 1}};
    Tensor<double, Dextents<2>> const y(uniform<double>(dextents<2>(3, 2), seed{4}));
    for (int k = 0; k < batches; ++k) static_cast<void>(t.train_on_batch(words, y));
    CHECK(t.iterations() == 1);
    std::vector<std::string> names;
    for (nn::stored const& w : t.weights()) names.push_back(w.name);
    CHECK(names == std::vector<std::string>{"embedding/embeddings", "dense/kernel", "dense/bias"});
    return weights_of(t);
  };
  auto const same = [&](auto where, auto const& with) {
    auto without = with;
    without.weight_decay = 0;
    nn::undecayed const table{.names = {"embeddings"}}, rest{.names = {"dense"}};
    values const all = stepped(where, with, 1), none = stepped(where, without, 1);
    for (std::size_t k = 0; k < 3; ++k) CHECK(all[k] != none[k]);
    values const table_kept{none[0], all[1], all[2]}, rest_kept{all[0], none[1], none[2]};
    CHECK(stepped(where, nn::ExcludeFromDecay{with, table}, 1) == table_kept);
    CHECK(stepped(where, nn::ExcludeFromDecay{with, rest}, 1) == rest_kept);
    // the mean of two equal batches is one of them, bit for bit
    CHECK(stepped(where, nn::Accumulate{2, nn::ExcludeFromDecay{with, table}}, 2) == table_kept);
    CHECK(stepped(where, nn::ExcludeFromDecay{nn::Accumulate{2, with}, rest}, 2) == rest_kept);
  };
  testing::simulated_gpus const two{2};
  nn::AdamW const adam{.learning_rate = 0.1, .weight_decay = 0.5};
  same(std::type_identity<One>{}, adam);
  same(std::type_identity<Gpus>{}, adam);
  same(std::type_identity<One>{}, decaying);
}

TEST_CASE("names that no weight has, and optimizers without decay, are refused") {
  CHECK(message_for({.names = {"bia"}}) ==
        "locus: ExcludeFromDecay names 'bia', which is part of no trained weight's name; there are "
        "dense_1/kernel dense_1/bias layer_normalization/gamma layer_normalization/beta "
        "dense/kernel dense/bias");
  CHECK(message_for({.names = {"ense/bias"}}).find("'ense/bias'") != std::string::npos);
  CHECK(message_for({}).find("names no weights") != std::string::npos);
  CHECK(message_for({.names = {""}}).find("a name without letters") != std::string::npos);
  CHECK(message_of<configuration_error>([] {
          nn::compile<One, double>(layers(), nn::ExcludeFromDecay{nn::Adam{}, {.axes = 1}},
                                   nn::MeanSquaredError{});
        }).find("without weight_decay") != std::string::npos);
}

TEST_CASE("a loop of the program's own names its weights, or tells them by their axes") {
  auto const stepped_by = [](auto const& o, bool named) {
    Tensor<double, Dextents<2>> w{{1, 2}, {3, 4}};
    Tensor<double, Dextents<1>> b{5, 6};
    nn::optimizer steps(o, w, b);
    if (named) steps.name_weights("block/w", "block/b");
    for (int k = 0; k < 2; ++k) steps.apply_gradients(w * 0.5, b * 0.5);
    return values{{w.data(), w.data() + 4}, {b.data(), b.data() + 2}};
  };
  auto without = decaying;
  without.weight_decay = 0;
  values const all = stepped_by(decaying, false), none = stepped_by(without, false);
  CHECK(stepped_by(nn::ExcludeFromDecay{decaying, {.axes = 1}}, false) == values{all[0], none[1]});
  CHECK(stepped_by(nn::ExcludeFromDecay{decaying, {.names = {"weight_0"}}}, false) ==
        values{none[0], all[1]});
  CHECK(stepped_by(nn::ExcludeFromDecay{decaying, {.names = {"b"}}}, true) ==
        values{all[0], none[1]});
  CHECK(message_of<configuration_error>([&] {
          stepped_by(nn::ExcludeFromDecay{decaying, {.names = {"b"}}}, false);
        }).find("there are weight_0 weight_1") != std::string::npos);
  CHECK(message_of<configuration_error>([&] {
          stepped_by(nn::ExcludeFromDecay{decaying, {.names = {"c"}}}, true);
        }).find("there are block/w block/b") != std::string::npos);
}

}  // namespace weight_decay_test
