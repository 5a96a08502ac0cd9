// SPDX-License-Identifier: Apache-2.0
#include <Eigen/Core>
#ifndef INCLUDE_ONLY
#include "expressions.hpp"
#define STATEMENT(e) y = e;
#define TIMES(x, y) x* y
#define MOST(x, y) x.max(y)
#define LEAST(x, y) x.min(y)
using vector = Eigen::ArrayXf;
void twenty(vector& y, vector const& a, vector const& b, vector const& c, float s) {
  TWENTY_EXPRESSIONS
}
#endif
