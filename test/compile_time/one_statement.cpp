// SPDX-License-Identifier: Apache-2.0
// budget: 3765 instantiations (clang 14)
// The smallest program: one element-wise statement.
#include <locus/locus.hpp>
using namespace locus;

void one_statement(Tensor<float, Extents<dyn>>& y, Tensor<float, Extents<dyn>> const& x) {
  y = 2.f * x + y;
}
