// SPDX-License-Identifier: Apache-2.0
// A program of the host: it makes tensors, computes, and reads results. No GPU is named.
#include <locus/locus.hpp>
using namespace locus;

double host_program(float const* values, int n) {
  Tensor<float, Extents<dyn>> x(n), y(n);
  x = view<CpuDevice>(values, Extents<dyn>{n});
  y = 2.f * x + 1.f;
  y = sqrt(y) - x;
  Tensor<float, Extents<>> total;
  total = sum(y);
  return static_cast<double>(fetch(total)) + static_cast<double>(y(n - 1));
}
