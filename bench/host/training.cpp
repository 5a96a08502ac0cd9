// SPDX-License-Identifier: Apache-2.0
// A training step of the text CNN through the layers: Embedding(30979, 7) of 300 tokens, Conv1D(64, 5),
// relu, MaxPool 2, Conv1D(32, 3), relu, MaxPool 2, Dense(46), softmax cross-entropy, Nadam; batch 32,
// random tokens. The rival is PyTorch's C++ library with the same shapes and the same schedule.
#include <memory>

#include <bench/harness.hpp>
#include <locus/nn/layers/embedding.hpp>
#include <locus/nn/layers/pool.hpp>
#include <locus/nn/layers/sequential.hpp>
#include <locus/nn/losses/loss.hpp>
#include <locus/nn/optimizers/optimizer.hpp>
#include <locus/nn/train/trainer.hpp>
#if BENCH_TORCH
#include <torch/torch.h>
#endif

using namespace locus;

namespace {

constexpr int vocabulary = 30979, length = 300, classes = 46, rows = 32, batches = 64;

std::uint32_t next_number() {
  static std::uint32_t state = 1;
  state = state * 1664525u + 1013904223u;
  return state >> 8;
}

auto trainer() {
  nn::Sequential model{nn::Embedding<7, length>{vocabulary},
                       nn::Conv1D<64, 5>{nn::relu},
                       nn::MaxPool1D<2>{},
                       nn::Conv1D<32, 3>{nn::relu},
                       nn::MaxPool1D<2>{},
                       nn::Flatten{},
                       nn::Dense<classes>{}};
  return nn::compile<CpuDevice>(model, nn::Nadam{},
                                nn::SparseCategoricalCrossentropy{nn::from_logits});
}
struct step {
  decltype(trainer()) network = trainer();
  std::vector<Tensor<std::int32_t, Dextents<2>>> x;
  std::vector<Tensor<std::int32_t, Dextents<1>>> y;
  std::size_t at = 0;

  step() {
    for (int k = 0; k < batches; ++k) {
      x.emplace_back(Dextents<2>(rows, length)), y.emplace_back(Dextents<1>(rows));
      for (int i = 0; i < rows * length; ++i)
        x.back().data()[i] = static_cast<std::int32_t>(next_number() % vocabulary);
      for (int i = 0; i < rows; ++i)
        y.back().data()[i] = static_cast<std::int32_t>(next_number() % classes);
    }
  }
  void run() {
    network.train_on_batch(x[at], y[at]);
    at = (at + 1) % batches;
  }
};

#if BENCH_TORCH
struct torch_network : torch::nn::Module {
  torch::nn::Embedding table = register_module("table", torch::nn::Embedding(vocabulary, 7));
  torch::nn::Conv1d first =
      register_module("first", torch::nn::Conv1d(torch::nn::Conv1dOptions(7, 64, 5)));
  torch::nn::Conv1d second =
      register_module("second", torch::nn::Conv1d(torch::nn::Conv1dOptions(64, 32, 3)));
  torch::nn::Linear dense = register_module("dense", torch::nn::Linear(73 * 32, classes));

  torch::Tensor forward(torch::Tensor tokens) {
    auto h = table(tokens).transpose(1, 2);
    h = torch::max_pool1d(torch::relu(first(h)), 2);
    h = torch::max_pool1d(torch::relu(second(h)), 2);
    return dense(h.flatten(1));
  }
};
/// Keras' schedule, in place
struct torch_nadam {
  std::vector<torch::Tensor> weights, m, v;
  double product = 1;
  std::int64_t steps = 0;

  explicit torch_nadam(std::vector<torch::Tensor> all) : weights(std::move(all)) {
    for (auto& w : weights) m.push_back(torch::zeros_like(w)), v.push_back(torch::zeros_like(w));
  }
  void step() {
    torch::NoGradGuard const none;
    double const t = static_cast<double>(++steps);
    double const mu = .9 * (1 - .5 * std::pow(.96, t * .004));
    double const next = .9 * (1 - .5 * std::pow(.96, (t + 1) * .004));
    product *= mu;
    for (std::size_t k = 0; k < weights.size(); ++k) {
      auto const g = weights[k].grad();
      m[k].mul_(.9).add_(g, .1);
      v[k].mul_(.999).addcmul_(g, g, .001);
      auto const root = (v[k] / (1 - std::pow(.999, t))).sqrt_().add_(1e-7);
      weights[k].addcdiv_(g, root, -1e-3 * (1 - mu) / (1 - product));
      weights[k].addcdiv_(m[k], root, -1e-3 * next / (1 - product * next));
    }
  }
};
struct torch_step {
  torch_network network;
  torch_nadam nadam{network.parameters()};
  std::vector<torch::Tensor> x, y;
  std::size_t at = 0;

  torch_step() {
    for (int k = 0; k < batches; ++k) {
      x.push_back(torch::randint(0, vocabulary, {rows, length}, torch::kLong));
      y.push_back(torch::randint(0, classes, {rows}, torch::kLong));
    }
  }
  void run() {
    network.zero_grad();
    auto const loss = torch::nn::functional::cross_entropy(network.forward(x[at]), y[at]);
    loss.backward();
    nadam.step();
    benchmark::DoNotOptimize(loss.item<float>());
    at = (at + 1) % batches;
  }
};
#endif

bench::file const groups([] {
  for (int threads : {1, 2})
    bench::add("training", "text CNN step, batch 32", std::to_string(threads) + " threads",
               [=](bench::group& g) {
                 g.threads(threads);
                 g.operations(32 * 10.5e6);
                 auto const own = std::make_shared<step>();
                 g.locus([=] { own->run(); });
#if BENCH_TORCH
                 at::set_num_threads(threads);
                 auto const theirs = std::make_shared<torch_step>();
                 g.rival("PyTorch's C++ library", 3, [=] { theirs->run(); });
#endif
               });
});

}  // namespace
