// SPDX-License-Identifier: Apache-2.0
// launches: what one training step of the examples 07, 08 and 11 launches on one GPU. Each row has the number of plans
// of the step; the launches that their constants say; those that the recorder of CUDA's calls saw, where a step that is
// several kernels counts each; and how many of the plans' launches update weights. Fails where the launches of the
// plans are not those that were counted while they ran. No GPU is needed, nothing is timed.
//     ninja -C BUILD bench/launches && BUILD/bench/launches
// Over the headers of another commit:
//     g++ -std=c++20 -O1 -fopenmp -I OTHER/include bench/launches.cpp -o launches -ldl -lz -pthread
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <locus/testing/recorder.hpp>

#include <cstdio>

#include <locus/locus.hpp>
#include <locus/nn/nn.hpp>
#include <locus/testing/count.hpp>

#include "example_11.hpp"

namespace {

using One = locus::Mirrored<locus::GpuDevice<0>>;

/// The launches of the plans that run while it lives.
class plans_of_step : public locus::internal::plan_listener {
 public:
  std::int64_t launches = 0, updates = 0, plans = 0;
  void ran(plan_run const& run) override {
    ++plans, launches += count_plan(run.plan, run.extents).launches;
    for (action const& a : run.plan.actions)
      if (a.kind == action_kind::launch && run.plan.steps[a.what].name.substr(0, 6) == "update")
        ++updates;
  }
};

int wrong = 0;

template <class X, class Trainer>
void row(testing::recorder const& gpus, char const* model, Trainer trainer, X const& x) {
  Tensor<std::uint8_t, Dextents<1>> y{Dextents<1>(x.extent(0))};
  y = full<std::uint8_t>(y.extents(), 3);
  static_cast<void>(trainer.train_on_batch(x, y));  // what is made in the first step
  auto const before = gpus.calls("launch");
  plans_of_step step;
  tally const done = testing::count([&] { static_cast<void>(trainer.train_on_batch(x, y)); });
  std::printf("| %-14s | %5lld | %8lld | %7lld | %7lld |\n", model,
              static_cast<long long>(step.plans), static_cast<long long>(step.launches),
              static_cast<long long>(gpus.calls("launch") - before),
              static_cast<long long>(step.updates));
  if (step.launches != done.launches)
    ++wrong, std::printf("%s: the tally has %lld launches\n", model,
                         static_cast<long long>(done.launches));
}

}  // namespace

int main() {
  testing::recorder const gpus{{.cards = 1}};
  nn::SparseCategoricalCrossentropy const loss{nn::from_logits};
  std::puts("| model          | plans | launches | kernels | updates |\n|---|---|---|---|---|");
  Tensor<std::int32_t, Extents<dyn, 300>> text(4);
  text = iota<std::int32_t>(text.extents());
  row(gpus, "07 text",
      nn::compile<One>(nn::Sequential{nn::Embedding<7, 300>{5000}, nn::Conv1D<64, 5>{nn::relu},
                                      nn::MaxPool1D<2>{}, nn::Conv1D<32, 3>{nn::relu},
                                      nn::MaxPool1D<2>{}, nn::Flatten{}, nn::Dense<46>{}},
                       nn::Nadam{}, loss, nn::SparseCategoricalAccuracy{},
                       nn::SparseTopKCategoricalAccuracy<5>{}),
      text);
  Tensor<float, Extents<dyn, 28, 28, 1>> image(4);
  image = uniform<float>(image.extents(), seed{1});
  row(gpus, "08 images",
      nn::compile<One>(
          nn::Sequential{nn::Input<28, 28, 1>{}, nn::Conv2D<32, 3, 3, nn::padding::same>{nn::relu},
                         nn::MaxPool2D<2>{}, nn::Conv2D<64, 3, 3, nn::padding::same>{nn::relu},
                         nn::MaxPool2D<2>{}, nn::Flatten{}, nn::Dropout{0.4},
                         nn::Dense<128>{nn::relu}, nn::Dense<10>{}},
          nn::Adam{}, loss, nn::SparseCategoricalAccuracy{}),
      image);
  Tensor<float, Extents<dyn, 224, 224, 3>> colours(1);
  colours = uniform<float>(colours.extents(), seed{1});
  row(gpus, "11 MobileNetV2",
      nn::compile<One>(mobilenet_v2<10>(), nn::Adam{}, loss, nn::SparseCategoricalAccuracy{}),
      colours);
  return wrong;
}
