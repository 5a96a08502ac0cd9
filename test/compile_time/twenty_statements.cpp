// SPDX-License-Identifier: Apache-2.0
// budget: 6300 instantiations (clang 14)
// Twenty element-wise statements on the CPU: those by which other libraries are compared.
#include <locus/locus.hpp>

using Vector = locus::Tensor<float, locus::Extents<locus::dyn>>;

void twenty(Vector& o, Vector const& x, Vector const& y, Vector const& z, Vector const& w) {
  o = x + y;
  o = x - y * z;
  o = x * y + z * w;
  o = x / (y + 2.f) - sqrt(x);
  o = exp(-x) + y;
  o = abs(x - y);
  o = (x + y) * (z - w);
  o = sqrt(x * x + y * y);
  o = exp(-(x * x)) + y * z;
  o = 0.5f * (x + y) - w;
  o = (x * y + z) / (w + 3.f);
  o = sqrt(abs(x)) + 1.f;
  o = exp(x) * exp(y) - z;
  o = x + y + z + w;
  o = (x * y) * (z * w);
  o = 1.f * x / (1.f + exp(-y));
  o = abs(x) + abs(y) + abs(z);
  o = sqrt(x + 1.f) - sqrt(y + 1.f);
  o = x * (2.f * y - z * w) + exp(w);
  o = (x - y) / (abs(z) + 1.f) + sqrt(w);
}
