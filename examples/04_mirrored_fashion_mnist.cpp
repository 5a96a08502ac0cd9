// SPDX-License-Identifier: Apache-2.0
// A 784-128-10 network on Fashion-MNIST, trained in mini-batches on mirrored replicas: the
// all-reduce of the gradients is not written here, the types derive it.
//     04_mirrored_fashion_mnist [replicas: 1, 2 or 4] [epochs] [folder of the dataset]
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

#include <locus/cuda.cuh>
#include <locus/data/batches.hpp>   // batches, require_labels
#include <locus/data/progress.hpp>  // progress_bar
#include <locus/files/idx.hpp>      // read_idx

using namespace locus;

/// Debian's package dataset-fashion-mnist knows where its files are.
std::string find_dataset() {
  std::string path;
  if (std::FILE* list = popen("dpkg -L dataset-fashion-mnist 2>/dev/null", "r")) {
    char line[4096];
    while (std::fgets(line, sizeof line, list))
      if (std::string_view(line).find("/train-images") != std::string_view::npos) path = line;
    pclose(list);
  }
  return path.substr(0, path.rfind('/'));
}

/// Images in [0, 1] as rows of 784, and their labels.
struct dataset {
  Tensor<float, Extents<dyn, 784>> images;
  Tensor<std::uint8_t, Dextents<1>> labels;

  dataset(std::string const& folder, std::string const& name)
      : images(cast<float>(reshape<-1, 784>(
                   data::read_idx<3>((folder + "/" + name + "-images-idx3-ubyte.gz").c_str()))) /
               255.f),
        labels(data::read_idx<1>((folder + "/" + name + "-labels-idx1-ubyte.gz").c_str())) {
    data::require_labels(labels, 10);
  }
};

template <class Replicas>
struct network {
  Tensor<float, Extents<784, 128>, Replicas> w1{
      to<Replicas>(uniform<float>(Extents<784, 128>{}, seed{1}, -0.08f, 0.08f))};
  Tensor<float, Extents<128, 10>, Replicas> w2{
      to<Replicas>(uniform<float>(Extents<128, 10>{}, seed{2}, -0.2f, 0.2f))};
  Tensor<float, Extents<>, Replicas> loss{to<Replicas>(zeros<float>(Extents<>{}))};
  Tensor<float, Extents<>, Replicas> correct{to<Replicas>(zeros<float>(Extents<>{}))};

  // [example: step]
  /// One step of gradient descent on a batch that is sharded over the replicas.
  template <class Images, class Labels>
  void step(Images const& x, Labels const& label, float lr, bool print_plan) {
    let(relu(matmul(x, w1)), [&](auto h) {   // (rows, 128)
      let(matmul(h, w2), [&](auto logits) {  // (rows, 10)
        let((softmax(logits) - one_hot<10>(label)) / global_batch(x), [&](auto d) {
          auto const dh = where(h > 0.f, matmul(d, transpose(w2)), 0.f);
          auto const hit = argmax<1>(logits) == cast<std::int64_t>(label);
          auto one = plan(into(w2, w2 - lr * matmul(transpose(h), d)),
                          into(w1, w1 - lr * matmul(transpose(x), dh)),
                          into(loss, loss - sum(one_hot<10>(label) * log_softmax(logits))),
                          into(correct, correct + sum(cast<float>(hit))));
          static_assert(one.all_reduces() == 1);  // gradients and metrics share one bucket
          if (print_plan) explain(std::cout, one);
          run(one);
        });
      });
    });
  }
  // [end]

  template <class Images, class Labels>
  double accuracy(Images const& x, Labels const& label) const {
    auto const guess = argmax<1>(matmul(relu(matmul(x, w1)), w2));
    return double(fetch(sum(cast<float>(guess == cast<std::int64_t>(label))))) / global_batch(x);
  }
};

template <class Replicas>
void train(std::string const& folder, int replicas, int epochs) {
  dataset const training(folder, "train"), test(folder, "t10k");
  auto sets = data::batches({.batch_size = 64, .seed = 3}, training.images, training.labels);
  auto const test_images = to<rows_over<Replicas>>(test.images);
  auto const test_labels = to<rows_over<Replicas>>(test.labels);
  network<Replicas> net;
  double reached = 0, most = 0;  // test accuracy; images/s of the quickest epoch
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    net.loss = zeros<float>(Extents<>{}), net.correct = zeros<float>(Extents<>{});
    data::progress_bar bar(sets.size());
    float const lr = 0.2f / (1.f + 0.3f * float(epoch - 1));  // learning rate
    std::int64_t done = 0;
    for (auto const& [x, label] : distribute<Replicas>(sets)) {
      net.step(x, label, lr, epoch == 1 && done == 0);
      bar.show(++done);
    }
    sets.next_epoch();
    auto const rows = double(sets.rows());
    double const loss = double(fetch(net.loss)) / rows, seconds = bar.seconds();
    reached = net.accuracy(test_images, test_labels);
    most = rows / seconds > most ? rows / seconds : most;
    std::printf("epoch %2d  loss %.4f  accuracy %.4f  test accuracy %.4f  %.0f images/s\n", epoch,
                loss, double(fetch(net.correct)) / rows, reached, rows / seconds);
  }
  auto const gpus = config::list_physical_devices("GPU").size();
  std::printf("reached: test accuracy %.4f, %.0f images/s in the best epoch, %d replicas on %s\n",
              reached, most, replicas,
              gpus == 0   ? "the CPU"
              : gpus == 1 ? "1 GPU"
                          : "GPUs");
}

int main(int argc, char** argv) try {
  int const count = argc > 1 ? std::atoi(argv[1]) : 2, epochs = argc > 2 ? std::atoi(argv[2]) : 10;
  std::string const folder = argc > 3 ? argv[3] : find_dataset();
  if (folder.empty())
    throw bad_file("no dataset: install dataset-fashion-mnist (apt-get), or give its folder as "
                   "third argument");
  using Gpu0 = GpuDevice<0>;
  using Gpu1 = GpuDevice<1>;
  if (count == 1)
    train<Mirrored<Gpu0>>(folder, count, epochs);
  else if (count == 2)
    train<Mirrored<Gpu0, Gpu1>>(folder, count, epochs);
  else if (count == 4)
    train<Mirrored<Gpu0, Gpu1, GpuDevice<2>, GpuDevice<3>>>(folder, count, epochs);
  else
    throw configuration_error("replicas: 1, 2 or 4");
} catch (error const& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
