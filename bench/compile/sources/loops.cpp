// SPDX-License-Identifier: Apache-2.0
// Loops over std::vector: what the library replaces.
#include <cmath>
#include <vector>
#ifndef INCLUDE_ONLY
#include "expressions.hpp"
#define STATEMENT(e)                                           \
  for (std::size_t i = 0; i < y.size(); ++i) {                 \
    [[maybe_unused]] float const a = u[i], b = v[i], c = w[i]; \
    y[i] = e;                                                  \
  }
#define TIMES(x, y) x* y
#define MOST(x, y) (x < y ? y : x)
#define LEAST(x, y) (y < x ? y : x)
using std::abs, std::exp, std::log, std::sqrt, std::tanh;
using vector = std::vector<float>;
void twenty(vector& y, vector const& u, vector const& v, vector const& w, float s) {
  TWENTY_EXPRESSIONS
}
#endif
