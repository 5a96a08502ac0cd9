// SPDX-License-Identifier: Apache-2.0
// Losses, metrics, devices and data that a model cannot be trained with.
// expect-1: locus: the model ends in softmax or sigmoid and its loss reads logits, which would apply it twice; leave the activation out, or write the loss without nn::from_logits
// expect-2: locus: the loss of a training has no gradient; take a loss, as nn::MeanSquaredError{}, and give metrics behind it
// expect-3: locus: a metric counts the first K classes of a row, and the model predicts fewer; take a smaller K
// expect-4: locus: a metric reads other targets than the loss: one takes the number of a class for each row, the other a value for each prediction; take both of one kind
// expect-5: locus: a model lies on one device or mirrored on several; write CpuDevice, GpuDevice<0> or Mirrored<...>
// expect-6: locus: a batch has another number of axes than the model takes: one for the rows, then those of nn::Input; reshape the data or name another Input
// expect-7: locus: arrays are cut into batches on the host; write fetch(x), or give a dataset
// expect-8: locus: arrays are cut into batches on the host; write fetch(x), or give the model a batch itself
// expect-9: locus: this loss takes a value for each class, and these targets have one number for each row; take SparseCategoricalCrossentropy, or one_hot<N>(labels)
// expect-10: locus: a training computes in float or double; write compile<Strategy, float>, which takes data of other types, too
// expect-11: locus: a shared layer reads tokens, and the sparse gradient of an Embedding is that of one place; share the layers behind it
#include <locus/nn/layers/embedding.hpp>
#include <locus/nn/layers/shared.hpp>
#include <locus/nn/train/trainer.hpp>
using namespace locus;

constexpr nn::Sequential model{nn::Input<4>{}, nn::Dense<3>{}};
constexpr nn::SparseCategoricalCrossentropy loss{nn::from_logits};
#if LOCUS_MUST_FAIL == 1
auto misuse() {
  return nn::compile(nn::Sequential{nn::Input<4>{}, nn::Dense<3, nn::softmax>{}}, nn::SGD{}, loss);
}
#elif LOCUS_MUST_FAIL == 2
auto misuse() { return nn::compile(model, nn::SGD{}, nn::SparseCategoricalAccuracy{}); }
#elif LOCUS_MUST_FAIL == 3
auto misuse() {
  return nn::compile(model, nn::SGD{}, loss, nn::SparseTopKCategoricalAccuracy<5>{});
}
#elif LOCUS_MUST_FAIL == 4
auto misuse() { return nn::compile(model, nn::SGD{}, loss, nn::CategoricalAccuracy{}); }
#elif LOCUS_MUST_FAIL == 5
auto misuse() { return nn::compile<Sharded<0, Cpu<0>, Cpu<1>>>(model, nn::SGD{}, loss); }
#elif LOCUS_MUST_FAIL == 6
auto misuse(Tensor<float, Extents<8, 2, 2>>& x) {
  return nn::batch_as<float, 2, Mirrored<CpuDevice>>(x);
}
#elif LOCUS_MUST_FAIL == 7
auto misuse(Tensor<float, Extents<8, 4>, GpuDevice<0>>& x) {
  return nn::detail::gathered(x, nullptr, 3);
}
#elif LOCUS_MUST_FAIL == 8
auto misuse(Tensor<float, Extents<8, 4>, GpuDevice<0>>& x) { return nn::rows_of(x, 0, 3); }
#elif LOCUS_MUST_FAIL == 9
auto misuse(Tensor<float, Extents<8, 4>>& x, Tensor<int, Extents<8>>& labels) {
  auto t = nn::compile(model, nn::SGD{}, nn::CategoricalCrossentropy{nn::from_logits});
  return t.train_on_batch(x, labels);
}
#elif LOCUS_MUST_FAIL == 10
auto misuse() { return nn::compile<CpuDevice, half>(model, nn::SGD{}, loss); }
#elif LOCUS_MUST_FAIL == 11
auto misuse() {
  return nn::compile(nn::Sequential{nn::Input<5>{}, nn::shared(nn::Embedding<4, 5>{7}),
                                    nn::Flatten{}, nn::Dense<3>{}},
                     nn::SGD{}, loss);
}
#else
auto proper() { return nn::compile(model, nn::SGD{}, loss, nn::SparseCategoricalAccuracy{}); }
#endif
