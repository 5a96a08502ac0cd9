// SPDX-License-Identifier: Apache-2.0
// A 784-128-10 network on Fashion-MNIST, trained on mirrored replicas.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <locus/data/batches.hpp>
#include <locus/data/idx.hpp>
#include <locus/data/progress.hpp>
#include <locus/locus.hpp>
#include <string>

using namespace locus;

template <class Replicas>
void train(std::string folder, int epochs) {
  auto images = data::read_idx<3>((folder + "/train-images-idx3-ubyte.gz").c_str());
  auto labels = data::read_idx<1>((folder + "/train-labels-idx1-ubyte.gz").c_str());
  auto test_images = data::read_idx<3>((folder + "/t10k-images-idx3-ubyte.gz").c_str());
  auto test_labels = data::read_idx<1>((folder + "/t10k-labels-idx1-ubyte.gz").c_str());
  Tensor<float, Extents<dyn, 784>> x_all(cast<float>(reshape<-1, 784>(images)) / 255.f);
  Tensor<float, Extents<dyn, 784>> x_test(cast<float>(reshape<-1, 784>(test_images)) / 255.f);
  auto sets = data::batches({.batch_size = 64, .seed = 3}, x_all, labels);
  Tensor<float, Extents<784, 128>, Replicas> w1(
      to<Replicas>(uniform<float>(Extents<784, 128>{}, 1, -0.08f, 0.08f)));
  Tensor<float, Extents<128, 10>, Replicas> w2(
      to<Replicas>(uniform<float>(Extents<128, 10>{}, 2, -0.2f, 0.2f)));
  float const lr = 0.1f;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    data::progress_bar bar(sets.size());
    std::int64_t done = 0;
    double loss = 0;
    for (auto [x, label] : distribute<Replicas>(sets)) {
      let(relu(matmul(x, w1)), [&, &x = x, &label = label](auto h) {
        let(matmul(h, w2), [&](auto z) {
          let((softmax(z) - one_hot<10>(label)) / global_batch(x), [&](auto d) {
            auto step =
                plan(into(w2, w2 - lr * matmul(transpose(h), d)),
                     into(w1, w1 - lr * matmul(transpose(x),
                                               where(h > 0.f, matmul(d, transpose(w2)), 0.f))));
            run(step);
          });
        });
      });
      bar.show(++done);
    }
    sets.next_epoch();
    auto wrong = mean(cast<float>(argmax<1>(matmul(relu(matmul(x_test, w1)), w2)) !=
                                  cast<std::int64_t>(test_labels)));
    (void)loss;
    std::printf("epoch %d %.2f s accuracy %.4f\n", epoch + 1, bar.seconds(),
                1 - double(fetch(wrong)));
  }
}
int main(int argc, char** argv) {
  std::string folder = argc > 1 ? argv[1] : "/usr/share/dataset-fashion-mnist";
  train<Mirrored<GpuDevice<0>, GpuDevice<1>>>(folder, 3);
}
