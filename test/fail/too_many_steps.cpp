// SPDX-License-Identifier: Apache-2.0
// An expression of more steps than one plan holds.
// expect: locus: an expression has more than 128 steps; evaluate a part of it with eval(e)
#include <locus/locus.hpp>
using namespace locus;

Tensor<float, Extents<4>> x;
template <int N>
auto doubled() {
  if constexpr (N == 0)
    return x.leaf();
  else
    return doubled<N - 1>() + doubled<N - 1>();
}
#ifdef LOCUS_MUST_FAIL
auto misuse() { return eval(doubled<7>()); }
#else
auto proper() { return eval(doubled<5>()); }
#endif
