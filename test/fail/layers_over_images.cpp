// SPDX-License-Identifier: Apache-2.0
// Layers over images: sizes that cannot be, examples that are no images, activations of another layer.
// expect-1: locus: a layer over images has a window and steps of at least 1; write nn::Conv2D<32, 3>{}
// expect-2: locus: filters and channels of a Conv2D are no multiples of its groups; take other numbers
// expect-3: locus: filters and channels of a Conv2D are no multiples of its groups; take other numbers
// expect-4: locus: images have no causal padding; write padding::same or padding::valid
// expect-5: locus: a layer over images takes (H, W, channels); put nn::Reshape in front of it
// expect-6: locus: the window of this layer is larger than its images; write padding::same, or a smaller window
// expect-7: locus: a convolution over images has no softmax; put nn::Activation{nn::softmax} behind it
// expect-8: locus: the window of a MaxPool2D has more than 256 elements; pool twice, or write nn::GlobalMaxPool2D{}
// expect-9: locus: a BatchNorm has no other activation than relu and relu6; put nn::Activation behind it
// expect-10: locus: a layer over images takes (H, W, channels); put nn::Reshape in front of it
// expect-11: locus: a pool over images has a window of at least 1; write nn::MaxPool2D<2>{}
// expect-12: locus: the window of this layer is larger than its images; write padding::same, or a smaller window
// expect-13: locus: images have no causal padding; write padding::same or padding::valid
// expect-14: locus: a layer over images has a window and steps of at least 1; write nn::Conv2D<32, 3>{}
// expect-15: locus: images have no causal padding; write padding::same or padding::valid
#include <locus/locus.hpp>
#include <locus/nn/layers/batch_norm.hpp>
#include <locus/nn/layers/conv.hpp>
#include <locus/nn/layers/pool.hpp>
using namespace locus;
using nn::padding;

using image = Extents<8, 8, 3>;
template <class Layer, class In = image>
using out = nn::output_of<Layer, In>;
#if LOCUS_MUST_FAIL == 1
out<nn::Conv2D<4, 3, 3, padding::valid, 0>> misuse();
#elif LOCUS_MUST_FAIL == 2
out<nn::Conv2D<4, 3, 3, padding::valid, 1, 1, 3>> misuse();
#elif LOCUS_MUST_FAIL == 3
out<nn::Conv2D<4, 3, 3, padding::valid, 1, 1, 2>> misuse();
#elif LOCUS_MUST_FAIL == 4
out<nn::DepthwiseConv2D<3, 3, padding::causal>> misuse();
#elif LOCUS_MUST_FAIL == 5
out<nn::Conv2D<4, 3>, Extents<8, 8>> misuse();
#elif LOCUS_MUST_FAIL == 6
out<nn::AveragePool2D<9>> misuse();
#elif LOCUS_MUST_FAIL == 7
auto misuse() { return nn::Conv2D<4, 3>{nn::softmax}; }
#elif LOCUS_MUST_FAIL == 8
out<nn::MaxPool2D<17>, Extents<32, 32, 1>> misuse();
#elif LOCUS_MUST_FAIL == 9
auto misuse() { return nn::BatchNorm{nn::tanh}; }
#elif LOCUS_MUST_FAIL == 10
out<nn::GlobalAveragePool2D<>, Extents<8>> misuse();
#elif LOCUS_MUST_FAIL == 11
out<nn::MaxPool2D<0>> misuse();
#elif LOCUS_MUST_FAIL == 12
out<nn::Conv2D<4, 9>> misuse();
#elif LOCUS_MUST_FAIL == 13
out<nn::Conv2D<4, 3, 3, padding::causal>> misuse();
#elif LOCUS_MUST_FAIL == 14
out<nn::DepthwiseConv2D<3, 0>> misuse();
#elif LOCUS_MUST_FAIL == 15
out<nn::MaxPool2D<2, 2, 0, padding::causal>> misuse();
#else
out<nn::Conv2D<4, 3, 3, padding::same, 2>> proper();
auto proper_norm() { return nn::BatchNorm{nn::relu6}; }
#endif
