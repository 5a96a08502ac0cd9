// SPDX-License-Identifier: Apache-2.0
// Linear regression as TensorFlow's guide to distributed training begins: one Dense(1), mean squared
// error, SGD with learning rate 0.2. What it learns is held against Keras' arithmetic in a plain loop.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <vector>

#include <locus/cuda.cuh>
#include <locus/nn/nn.hpp>  // Sequential, compile

using namespace locus;

using Column = Tensor<double, Extents<dyn, 1>>;

/// What Keras computes: the losses of epochs, and the weights after them.
struct keras {
  double w, b;
  std::vector<double> losses;

  void epoch(Column const& x, Column const& y, std::int64_t batch, double lr) {
    double sum = 0;
    for (std::int64_t first = 0; first < x.size(); first += batch) {
      std::int64_t const n = std::min(batch, x.size() - first);
      double dw = 0, db = 0;
      for (std::int64_t i = first; i < first + n; ++i) {
        double const e = w * x.data()[i] + b - y.data()[i];
        sum += e * e, dw += 2 * e * x.data()[i] / double(n), db += 2 * e / double(n);
      }
      w -= lr * dw, b -= lr * db;
    }
    losses.push_back(sum / double(x.size()));
  }
};

int main() {
  // [example: regression]
  using Strategy = Mirrored<GpuDevice<0>, GpuDevice<1>>;
  nn::Sequential const model{nn::Input<1>{}, nn::Dense<1>{}.begin_with(nn::zeros)};
  auto fresh = [&] {
    return nn::compile<Strategy, double>(model, nn::SGD{.learning_rate = 0.2},
                                         nn::MeanSquaredError{});
  };

  // The guide's data: a hundred times x = 1, y = 1, in batches of 10.
  Column one(100);
  one = ones<double>(one.extents());
  auto guide = fresh();
  auto const h = guide.fit(one, one, {.epochs = 2, .verbose = 0, .batch_size = 10});
  std::printf("loss %.6f, then %.1e; evaluated %.1e\n", h["loss"][0], h["loss"][1],
              guide.evaluate(one, one, {.batch_size = 10})["loss"]);
  // prints: loss 0.104167, then <#>; evaluated <#>

  // y = 3 x + 2 and some noise; batches of 33 leave pieces of 17 and 16 rows, the last has 10.
  Column const x(uniform<double>(Extents<dyn, 1>(1000), seed{1}, -1., 1.));
  Column const y(3. * x + 2. + 0.1 * uniform<double>(Extents<dyn, 1>(1000), seed{2}, -1., 1.));
  auto line = fresh();
  auto const fitted =
      line.fit(x, y, {.epochs = 3, .verbose = 0, .batch_size = 33, .shuffle = false});
  // [end]

  std::vector<double> learned(2);
  auto const weights = line.weights();
  for (std::size_t k = 0; k < 2; ++k) nn::read_values(weights[k], &learned[k]);
  keras want{0, 0, {}};
  for (int e = 0; e < 3; ++e) want.epoch(x, y, 33, 0.2);
  double worst = std::max(std::abs(learned[0] - want.w), std::abs(learned[1] - want.b));
  for (std::size_t e = 0; e < 3; ++e)
    worst = std::max(worst, std::abs(fitted["loss"][e] - want.losses[e]));
  std::printf("y = %.1f x + %.1f after losses %.4f %.4f %.4f\n", learned[0], learned[1],
              fitted["loss"][0], fitted["loss"][1], fitted["loss"][2]);
  std::printf("as Keras' arithmetic to 1e-12: %s\n", worst < 1e-12 ? "yes" : "NO");
  // prints:
  // y = 3.0 x + 2.0 after losses <#> <#> <#>
  // as Keras' arithmetic to 1e-12: yes
}
