// SPDX-License-Identifier: Apache-2.0
// One statement, and the vector that it is assigned to.
#include <locus/locus.hpp>
using vector = locus::Tensor<float, locus::Extents<locus::dyn>>;
vector one(vector const& a, vector const& b, float s) {
  vector y(a.extent(0));
  y = s * a + b;
  return y;
}
