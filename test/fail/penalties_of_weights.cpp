// SPDX-License-Identifier: Apache-2.0
// Regularizers of layers without weights, and of shared layers.
// expect-1: locus: a regularizer is given to a layer without a kernel and a bias; give it to Dense or to a convolution
// expect-2: locus: the penalty of a shared layer would count at each of its places; write weight_decay of the optimizer instead
#include <locus/nn/nn.hpp>
using namespace locus;
template <class Layer>
void train(Layer l) {
  nn::compile<CpuDevice>(nn::Sequential{nn::Input<4>{}, l}, nn::SGD{}, nn::MeanSquaredError{});
}
#if LOCUS_MUST_FAIL == 1
void misuse() { train(nn::regularized(nn::LayerNorm{}, {.kernel = nn::L2(0.1)})); }
#elif LOCUS_MUST_FAIL == 2
void misuse() { train(nn::shared(nn::regularized(nn::Dense<4>{}, {.kernel = nn::L2(0.1)}))); }
#else
void use() { train(nn::regularized(nn::Dense<4>{}, {.kernel = nn::L2(0.1), .bias = nn::L1(0.1)})); }
#endif
