// SPDX-License-Identifier: Apache-2.0
#include <locus/locus.hpp>
#ifndef INCLUDE_ONLY
#include "expressions.hpp"
#define STATEMENT(e) y = e;
#define TIMES(x, y) x* y
#define MOST(x, y) maximum(x, y)
#define LEAST(x, y) minimum(x, y)
using vector = locus::Tensor<float, locus::Extents<locus::dyn>>;
void twenty(vector& y, vector const& a, vector const& b, vector const& c, float s) {
  TWENTY_EXPRESSIONS
}
#endif
