// SPDX-License-Identifier: Apache-2.0
// Layers along one axis whose sizes do not fit.
// expect-1: locus: an Embedding has rows of at least one number, and examples of at least one token; write nn::Embedding<7, 300>{vocabulary}
// expect-2: locus: an Embedding takes examples of one axis, tokens; write nn::Input<300>{} in front of it
// expect-3: locus: an Embedding takes another number of tokens than its examples have; say it once, in nn::Embedding<7, 300> or in nn::Input<300>
// expect-4: locus: a Conv1D has filters, a window and steps of at least 1; write nn::Conv1D<64, 5>{}
// expect-5: locus: the filters of a Conv1D are no multiple of its groups; write as many filters for each group
// expect-6: locus: a Conv1D has no softmax; put an nn::Activation behind it
// expect-7: locus: a Conv1D takes examples of two axes, (steps, channels); put nn::Embedding or nn::Reshape in front of it
// expect-8: locus: the channels that a Conv1D takes are no multiple of its groups; change the groups, or the layer before
// expect-9: locus: the window of a Conv1D is longer than its examples; write padding::same, or a smaller window
// expect-10: locus: a pool has a window of at least 1; write nn::MaxPool1D<2>{}
// expect-11: locus: a pool has no causal padding; write padding::same or padding::valid
// expect-12: locus: a pool along one axis takes examples of two axes, (steps, channels); put nn::Reshape in front of it
// expect-13: locus: the window of a pool is longer than its examples; write padding::same, or a smaller window
// expect-14: locus: the window of a MaxPool1D has at most 254 steps; pool twice, or write nn::GlobalMaxPool1D
// expect-15: locus: a LayerNorm takes examples of at least one axis, whose last one it normalises; put nn::Reshape in front of it
#include <locus/locus.hpp>
#include <locus/nn/layers/embedding.hpp>
#include <locus/nn/layers/layer_norm.hpp>
#include <locus/nn/layers/pool.hpp>
using namespace locus;

template <class Layer, class In>
using output = nn::output_of<Layer, In>;

#if LOCUS_MUST_FAIL == 1
nn::Embedding<0, 300> misuse;
#elif LOCUS_MUST_FAIL == 2
output<nn::Embedding<7, 300>, Extents<300, 2>> misuse;
#elif LOCUS_MUST_FAIL == 3
output<nn::Embedding<7, 300>, Extents<200>> misuse;
#elif LOCUS_MUST_FAIL == 4
nn::Conv1D<64, 5, nn::padding::valid, -1> misuse;
#elif LOCUS_MUST_FAIL == 5
nn::Conv1D<64, 5, nn::padding::valid, 1, 1, 3> misuse;
#elif LOCUS_MUST_FAIL == 6
nn::Conv1D<64, 5> misuse{nn::softmax};
#elif LOCUS_MUST_FAIL == 7
output<nn::Conv1D<64, 5>, Extents<300>> misuse;
#elif LOCUS_MUST_FAIL == 8
output<nn::Conv1D<64, 5, nn::padding::valid, 1, 1, 4>, Extents<300, 7>> misuse;
#elif LOCUS_MUST_FAIL == 9
output<nn::Conv1D<64, 5>, Extents<4, 7>> misuse;
#elif LOCUS_MUST_FAIL == 10
output<nn::AveragePool1D<0>, Extents<4, 7>> misuse;
#elif LOCUS_MUST_FAIL == 11
output<nn::AveragePool1D<2, 2, nn::padding::causal>, Extents<4, 7>> misuse;
#elif LOCUS_MUST_FAIL == 12
output<nn::MaxPool1D<2>, Extents<300>> misuse;
#elif LOCUS_MUST_FAIL == 13
output<nn::MaxPool1D<5>, Extents<4, 7>> misuse;
#elif LOCUS_MUST_FAIL == 14
nn::MaxPool1D<300> misuse;
#elif LOCUS_MUST_FAIL == 15
output<nn::LayerNorm, Extents<>> misuse;
#else
output<nn::MaxPool1D<2>, output<nn::Conv1D<64, 5>, output<nn::Embedding<7, 300>, Extents<300>>>>
    use;
output<nn::LayerNorm, Extents<1>> proper_norm;
#endif
