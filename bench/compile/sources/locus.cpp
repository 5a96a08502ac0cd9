// SPDX-License-Identifier: Apache-2.0
// Twenty expressions over vectors of float.
#include <locus/locus.hpp>

#ifndef INCLUDE_ONLY
using namespace locus;
using vector = Tensor<float, Extents<dyn>>;

void twenty(vector& y, vector const& a, vector const& b, vector const& c, float s) {
  y = a + b;
  y = a - b * c;
  y = s * a + b;
  y = a * b + c;
  y = (a + b) * (a - b);
  y = a / (b + s);
  y = sqrt(a * a + b * b);
  y = exp(a) + b;
  y = log(a + s) * c;
  y = maximum(a, b) - c;
  y = minimum(a, s * b);
  y = abs(a - b);
  y = a * a * a - b;
  y = s * (a + b + c);
  y = (a - b) / (a + b);
  y = tanh(a) * b;
  y = exp(a - b) / s;
  y = s - a * b;
  y = sqrt(a) + sqrt(b) + sqrt(c);
  y = a * (b + c) - s * b;
}
#endif
