// SPDX-License-Identifier: Apache-2.0
#include <armadillo>
#ifndef INCLUDE_ONLY
#include "expressions.hpp"
#define STATEMENT(e) y = e;
#define TIMES(x, y) x % y
#define MOST(x, y) arma::max(x, y)
#define LEAST(x, y) arma::min(x, y)
using vector = arma::fvec;
void twenty(vector& y, vector const& a, vector const& b, vector const& c, float s) {
  TWENTY_EXPRESSIONS
}
#endif
