// SPDX-License-Identifier: Apache-2.0
// MobileNetV2 as it was published (Sandler et al., CVPR 2018): inverted residual blocks of depthwise
// convolutions. Its table for 1000 classes, then some steps of training on Fashion-MNIST, whose images
// are made 224 x 224 x 3 on their way.
//     11_mobilenet_v2 [steps] [rows of a batch on each replica] [folder of the dataset]
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

#include <locus/cuda.cuh>
#include <locus/data/dataset.hpp>  // from_tensors
#include <locus/data/resize.hpp>   // resize
#include <locus/files/idx.hpp>     // read_idx
#include <locus/nn/nn.hpp>         // Sequential, compile

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

// [example: mobilenet]
constexpr auto same = nn::padding::same;
constexpr auto normalised = nn::BatchNorm{}.with_momentum(0.999);
constexpr auto norm_relu6 = nn::BatchNorm{nn::relu6}.with_momentum(0.999);

/// Channels are expanded six times, each is convolved by itself, then they are mixed down to Out.
template <int In, int Out, int Stride>
constexpr auto inverted_block() {
  nn::Sequential const layers{nn::Conv2D<6 * In, 1>{}.without_bias(),
                              norm_relu6,
                              nn::DepthwiseConv2D<3, 3, same, Stride>{}.without_bias(),
                              norm_relu6,
                              nn::Conv2D<Out, 1>{}.without_bias(),
                              normalised};
  if constexpr (In == Out && Stride == 1)
    return nn::Residual{layers};
  else
    return layers;
}

template <int Classes>
auto mobilenet_v2() {
  return nn::Sequential{nn::Input<224, 224, 3>{},
                        nn::Conv2D<32, 3, 3, same, 2>{}.without_bias(),
                        norm_relu6,
                        nn::DepthwiseConv2D<3, 3, same>{}.without_bias(),
                        norm_relu6,
                        nn::Conv2D<16, 1>{}.without_bias(),
                        normalised,
                        inverted_block<16, 24, 2>(),
                        inverted_block<24, 24, 1>(),
                        inverted_block<24, 32, 2>(),
                        inverted_block<32, 32, 1>(),
                        inverted_block<32, 32, 1>(),
                        inverted_block<32, 64, 2>(),
                        inverted_block<64, 64, 1>(),
                        inverted_block<64, 64, 1>(),
                        inverted_block<64, 64, 1>(),
                        inverted_block<64, 96, 1>(),
                        inverted_block<96, 96, 1>(),
                        inverted_block<96, 96, 1>(),
                        inverted_block<96, 160, 2>(),
                        inverted_block<160, 160, 1>(),
                        inverted_block<160, 160, 1>(),
                        inverted_block<160, 320, 1>(),
                        nn::Conv2D<1280, 1>{}.without_bias(),
                        norm_relu6,
                        nn::GlobalAveragePool2D{},
                        nn::Dense<Classes>{}}
      .named("mobilenetv2_1.00_224");
}
// [end]

/// A grey image of bytes as 224 x 224 pixels of three colours in [-1, 1].
struct as_colours {
  template <class Image>
  auto operator()(Image const& grey, std::uint8_t label) const {
    Tensor<float, Extents<28, 28, 3>> colours;
    for (std::int64_t i = 0; i < colours.size(); ++i)
      colours.data()[i] = float(grey.data()[i / 3]) / 127.5f - 1;
    return std::tuple(data::resize(colours, 224, 224), label);
  }
};

int main(int argc, char** argv) try {
  int const steps = argc > 1 ? std::atoi(argv[1]) : 20;
  std::int64_t const each = argc > 2 ? std::atoll(argv[2]) : 8;
  std::string const folder = argc > 3 ? argv[3] : find_dataset();
  nn::summary(std::cout, mobilenet_v2<1000>());  // prints:
                                                 //   Model: "mobilenetv2_1.00_224"
                                                 //   ...
                                                 //    Total params: 3,538,984 (13.50 MB)
                                                 //    Trainable params: 3,504,872 (13.37 MB)
                                                 //    Non-trainable params: 34,112 (133.25 KB)
  if (folder.empty()) {
    std::fprintf(stderr,
                 "no dataset: install dataset-fashion-mnist (apt-get), or give its folder as "
                 "third argument\n");
    return 77;  // as a test: skipped
  }

  // [example: mobilenet training]
  auto trainer = nn::compile(mobilenet_v2<10>(), nn::Adam{.learning_rate = 1e-3},
                             nn::SparseCategoricalCrossentropy{nn::from_logits},
                             nn::SparseCategoricalAccuracy{});
  auto const images =
      reshape<-1, 28, 28, 1>(data::read_idx<3>((folder + "/train-images-idx3-ubyte.gz").c_str()));
  auto training =
      data::from_tensors(Tensor<std::uint8_t, Extents<dyn, 28, 28, 1>>(images),
                         data::read_idx<1>((folder + "/train-labels-idx1-ubyte.gz").c_str()))
          .shuffle({.seed = 1})
          .map(as_colours{})
          .batch(each * trainer.replicas())
          .take(steps)
          .prefetch(2);
  // [end]
  double half[2] = {};
  for (auto&& [x, label] : training) {
    double const loss = trainer.train_on_batch(x, label)["loss"];
    int const step = static_cast<int>(trainer.iterations());
    half[2 * step > steps] += loss;
    std::printf("step %2d: loss %.4f\n", step, loss);
  }  // prints: step  1: loss <#>
  // prints: ...
  std::printf("the loss %s\n",
              half[1] < half[0] ? "falls" : "does not fall");  // prints: the loss falls
} catch (error const& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
