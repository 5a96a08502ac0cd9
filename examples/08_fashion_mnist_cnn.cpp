// SPDX-License-Identifier: Apache-2.0
// A convolutional network on Fashion-MNIST: 0.915 of the test images after a few epochs. Batches are
// cut over the replicas; with none named these are all GPUs, or the CPU.
//     08_fashion_mnist_cnn [epochs] [training images] [folder of the dataset]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

#include <locus/cuda.cuh>
#include <locus/files/idx.hpp>  // read_idx
#include <locus/nn/nn.hpp>      // Sequential, compile

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

/// Images in [0, 1], and their labels.
struct dataset {
  Tensor<float, Extents<dyn, 28, 28, 1>> images;
  Tensor<std::uint8_t, Dextents<1>> labels;

  dataset(std::string const& folder, std::string const& name)
      : images(cast<float>(reshape<-1, 28, 28, 1>(
                   data::read_idx<3>((folder + "/" + name + "-images-idx3-ubyte.gz").c_str()))) /
               255.f),
        labels(data::read_idx<1>((folder + "/" + name + "-labels-idx1-ubyte.gz").c_str())) {}
};

int main(int argc, char** argv) try {
  int const epochs = argc > 1 ? std::atoi(argv[1]) : 12;
  std::int64_t const most = argc > 2 ? std::atoll(argv[2]) : 60000;
  std::string const folder = argc > 3 ? argv[3] : find_dataset();
  if (folder.empty())
    throw bad_file("no dataset: install dataset-fashion-mnist (apt-get), or give its folder as "
                   "third argument");
  dataset const training(folder, "train"), test(folder, "t10k");
  std::int64_t const n = std::min(most, training.labels.size());

  double const steps = epochs * double((n + 63) / 64);
  // [example: image model]
  nn::Sequential const model{
      nn::Input<28, 28, 1>{}, nn::Conv2D<32, 3, 3, nn::padding::same>{nn::relu},
      nn::MaxPool2D<2>{},     nn::Conv2D<64, 3, 3, nn::padding::same>{nn::relu},
      nn::MaxPool2D<2>{},     nn::Flatten{},
      nn::Dropout{0.4},       nn::Dense<128>{nn::relu},
      nn::Dense<10>{}};
  auto trainer = nn::compile(model, nn::Adam{.learning_rate = nn::CosineDecay{1e-3, steps}},
                             nn::SparseCategoricalCrossentropy{nn::from_logits},
                             nn::SparseCategoricalAccuracy{});
  nn::summary(std::cout, trainer);
  // [end]
  Tensor<float, Extents<dyn, 28, 28, 1>> const x(slice(training.images, {0, n}));
  Tensor<std::uint8_t, Dextents<1>> const y(slice(training.labels, {0, n}));
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    nn::history const h = trainer.fit(
        x, y, {.epochs = epoch, .verbose = 0, .initial_epoch = epoch - 1, .batch_size = 64});
    nn::logs const t = trainer.evaluate(test.images, test.labels, {.batch_size = 500});
    std::printf("epoch %2d  loss %.4f  test accuracy %.4f\n", epoch, h["loss"].back(), t.values[1]);
    std::fflush(stdout);
  }
} catch (error const& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
