// SPDX-License-Identifier: Apache-2.0
// A unit of nvcc whose statements are element-wise.
#include <locus/cuda.cuh>
using namespace locus;

void scale(Tensor<float, Extents<dyn>, GpuDevice<0>>& y,
           Tensor<float, Extents<dyn>, GpuDevice<0>> const& x) {
  y = 2.f * x + y;
}
