// SPDX-License-Identifier: Apache-2.0
// Networks whose steps are predicted and measured: f(name, trainer, examples, labels) for each.
#pragma once
#include <locus/locus.hpp>
#include <locus/nn/nn.hpp>
#include <locus/tensor/rows_over.hpp>

namespace networks {

using namespace locus;

inline constexpr nn::SparseCategoricalCrossentropy cross_entropy{nn::from_logits};

/// examples and labels that each rank makes in its own memory: a step moves no input
template <class Over>
auto labels(std::int64_t rows) {
  return Tensor<std::uint8_t, Dextents<1>, rows_over<Over>>(
      cast<std::uint8_t>(10.f * uniform<float>(dextents<1>(rows), seed{2})));
}
template <class Over, std::int64_t... N>
auto images(std::int64_t rows) {
  using E = Extents<dyn, N...>;
  return Tensor<float, E, rows_over<Over>>(uniform<float>(E(rows), seed{1}));
}
template <class Over, int Length>
auto texts(std::int64_t rows, int words) {
  using E = Extents<dyn, Length>;
  return Tensor<std::int32_t, E, rows_over<Over>>(
      cast<std::int32_t>(float(words) * uniform<float>(E(rows), seed{1})));
}

/// means: the networks of a validation; rows: those of all replicas, times `replicas`
template <class Over, class F>
void each_network(int replicas, F&& f) {
  {
    std::int64_t const rows = 1024 * replicas;
    f("small linear regression, 64 inputs, 1024 rows",
      nn::compile<Over>(nn::Sequential{nn::Input<64>{}, nn::Dense<1>{}}, nn::SGD{},
                        nn::MeanSquaredError{}),
      images<Over, 64>(rows), images<Over, 1>(rows));
  }
  {
    std::int64_t const rows = 4096 * replicas;
    f("linear regression, 1024 inputs, 4096 rows",
      nn::compile<Over>(nn::Sequential{nn::Input<1024>{}, nn::Dense<1>{}},
                        nn::SGD{.learning_rate = 1e-3}, nn::MeanSquaredError{}),
      images<Over, 1024>(rows), images<Over, 1>(rows));
  }
  {
    std::int64_t const rows = 256 * replicas;
    f("network of example 04, 256 rows",
      nn::compile<Over>(nn::Sequential{nn::Input<28, 28>{}, nn::Flatten{}, nn::Dense<128>{nn::relu},
                                       nn::Dense<10>{}},
                        nn::Adam{}, cross_entropy, nn::SparseCategoricalAccuracy{}),
      images<Over, 28, 28>(rows), labels<Over>(rows));
  }
  {
    std::int64_t const rows = 256 * replicas;
    f("wide network 784-1024-1024-10, 256 rows",
      nn::compile<Over>(nn::Sequential{nn::Input<784>{}, nn::Dense<1024>{nn::relu},
                                       nn::Dense<1024>{nn::relu}, nn::Dense<10>{}},
                        nn::Adam{}, cross_entropy),
      images<Over, 784>(rows), labels<Over>(rows));
  }
  {
    std::int64_t const rows = 32 * replicas;
    f("text network of example 07, 32 rows",
      nn::compile<Over>(nn::Sequential{nn::Embedding<7, 300>{5000}, nn::Conv1D<64, 5>{nn::relu},
                                       nn::MaxPool1D<2>{}, nn::Conv1D<32, 3>{nn::relu},
                                       nn::MaxPool1D<2>{}, nn::Flatten{}, nn::Dense<46>{}},
                        nn::Nadam{}, cross_entropy, nn::SparseCategoricalAccuracy{}),
      texts<Over, 300>(rows, 5000), labels<Over>(rows));
  }
  {
    std::int64_t const rows = 64 * replicas;
    f("image network of example 08, 64 rows",
      nn::compile<Over>(
          nn::Sequential{nn::Input<28, 28, 1>{}, nn::Conv2D<32, 3, 3, nn::padding::same>{nn::relu},
                         nn::MaxPool2D<2>{}, nn::Conv2D<64, 3, 3, nn::padding::same>{nn::relu},
                         nn::MaxPool2D<2>{}, nn::Flatten{}, nn::Dropout{0.4},
                         nn::Dense<128>{nn::relu}, nn::Dense<10>{}},
          nn::Adam{}, cross_entropy, nn::SparseCategoricalAccuracy{}),
      images<Over, 28, 28, 1>(rows), labels<Over>(rows));
  }
}

/// means: networks with the same kinds of kernels and other sizes, to measure how quick the kernels are
template <class Over, class F>
void each_for_calibration(F&& f) {
  f("images",
    nn::compile<Over>(
        nn::Sequential{nn::Input<24, 24, 1>{}, nn::Conv2D<16, 3, 3, nn::padding::same>{nn::relu},
                       nn::MaxPool2D<2>{}, nn::Conv2D<48, 3, 3, nn::padding::same>{nn::relu},
                       nn::MaxPool2D<2>{}, nn::Flatten{}, nn::Dropout{0.3}, nn::Dense<96>{nn::relu},
                       nn::Dense<10>{}},
        nn::Adam{}, cross_entropy),
    images<Over, 24, 24, 1>(48), labels<Over>(48));
  f("texts",
    nn::compile<Over>(nn::Sequential{nn::Embedding<12, 200>{3000}, nn::Conv1D<48, 5>{nn::relu},
                                     nn::MaxPool1D<2>{}, nn::Conv1D<40, 3>{nn::relu},
                                     nn::MaxPool1D<2>{}, nn::Flatten{}, nn::Dense<30>{}},
                      nn::Nadam{}, cross_entropy),
    texts<Over, 200>(32, 3000), labels<Over>(32));
}

}  // namespace networks
