// SPDX-License-Identifier: Apache-2.0
// Layers that do not follow one another, and what is no model.
// expect-1: locus: Dense takes examples of one axis, (inputs); put nn::Flatten{} or a global pool in front of it
// expect-2: locus: a Residual adds what its layers make to what they take, and the extents differ; give it a branch: nn::Residual{...}.branch(nn::Conv2D<...>{})
// expect-3: locus: a Residual adds what its layers make to what its branch makes, and the extents differ; let both make the same
// expect-4: locus: nothing says what the examples of this Sequential are; begin it with nn::Input<...>{}, the extents of one example
// expect-5: locus: a Sequential has no layers; write nn::Sequential{nn::Dense<10>{}, ...}
// expect-6: locus: a Sequential holds layers alone, as nn::Dense<10>{}; optimizer, loss and metrics go to nn::compile
// expect-7: locus: a Sequential has an Input and no layer; name its layers behind it
// expect-8: locus: an Input stands behind another layer; a Sequential begins with it
// expect-9: locus: an Input leaves an extent open; give it: nn::Input<dyn>{300}
// expect-10: locus: nn::Reshape leaves an extent open; name all of them
// expect-11: locus: nn::Reshape changes the number of elements of an example; name extents whose product is that of the layer before
// expect-12: locus: a Dense has no units; write Dense<64>{}
// expect-13: locus: softmax stands in the type of a layer, since losses look for it there; write Dense<10, nn::softmax>{}
// expect-14: locus: a Dense has two activations; name one of them
// expect-15: locus: memory keeps its elements' type and its place; only extents change
#include <locus/nn/layers/residual.hpp>
using namespace locus;

using image = nn::Input<4, 4>;
#if LOCUS_MUST_FAIL == 1
auto misuse = nn::Sequential{image{}, nn::Dense<3>{}};
#elif LOCUS_MUST_FAIL == 2
auto misuse = nn::Sequential{nn::Input<4>{}, nn::Residual{nn::Dense<3>{}}};
#elif LOCUS_MUST_FAIL == 3
auto misuse = nn::Sequential{nn::Input<4>{}, nn::Residual{nn::Dense<3>{}}.branch(nn::Dense<2>{})};
#elif LOCUS_MUST_FAIL == 4
using misuse = nn::Sequential<nn::Dense<3>>::input_type<>;
#elif LOCUS_MUST_FAIL == 5
nn::Sequential<> misuse;
#elif LOCUS_MUST_FAIL == 6
auto misuse = nn::Sequential{nn::Input<4>{}, nn::Dense<3>{}, 7};
#elif LOCUS_MUST_FAIL == 7
auto misuse = nn::Sequential{nn::Input<4>{}};
#elif LOCUS_MUST_FAIL == 8
auto misuse = nn::Sequential{nn::Input<4>{}, nn::Dense<3>{}, nn::Input<3>{}};
#elif LOCUS_MUST_FAIL == 9
nn::Input<dyn, 3> misuse;
#elif LOCUS_MUST_FAIL == 10
nn::Reshape<dyn, 3> misuse;
#elif LOCUS_MUST_FAIL == 11
auto misuse = nn::Sequential{image{}, nn::Reshape<5, 3>{}};
#elif LOCUS_MUST_FAIL == 12
nn::Dense<0> misuse;
#elif LOCUS_MUST_FAIL == 13
nn::Dense<3> misuse{nn::softmax};
#elif LOCUS_MUST_FAIL == 14
nn::Dense<3, nn::relu> misuse{nn::tanh};
#elif LOCUS_MUST_FAIL == 15
auto misuse(Tensor<float, Extents<4>>& t) {
  return internal::relabel<Tensor<double, Extents<2, 2>>>(t, shape{2, {2, 2}});
}
#else
auto proper = nn::Sequential{image{}, nn::Flatten{}, nn::Dense<3, nn::softmax>{}};
#endif
