// SPDX-License-Identifier: Apache-2.0
#include <xtensor/xmath.hpp>
#include <xtensor/xtensor.hpp>
#ifndef INCLUDE_ONLY
#include "expressions.hpp"
#define STATEMENT(e) y = e;
#define TIMES(x, y) x* y
#define MOST(x, y) xt::maximum(x, y)
#define LEAST(x, y) xt::minimum(x, y)
using vector = xt::xtensor<float, 1>;
void twenty(vector& y, vector const& a, vector const& b, vector const& c, float s) {
  TWENTY_EXPRESSIONS
}
#endif
