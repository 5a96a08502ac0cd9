// SPDX-License-Identifier: Apache-2.0
// Layers that hold others are frozen from inside.
// expect-1: locus: a layer that holds others is frozen from inside; write nn::Residual{nn::frozen(l), ...}, or nn::shared(nn::frozen(l))
#include <locus/nn/nn.hpp>
using namespace locus;
#if LOCUS_MUST_FAIL == 1
auto misuse() { return nn::frozen(nn::Residual{nn::Dense<4>{}}); }
#else
auto use() {
  return nn::Sequential{nn::Input<4>{}, nn::Residual{nn::frozen(nn::Dense<4>{})},
                        nn::shared(nn::frozen(nn::Dense<4>{}))};
}
#endif
