// SPDX-License-Identifier: Apache-2.0
// The sum of squares of differences: what reduction_cub.cu does by hand.
#include <locus/cuda.cuh>
using vector = locus::Tensor<float, locus::Extents<locus::dyn>, locus::GpuDevice<0>>;
float distance(vector const& x, vector const& y) {
  return locus::fetch(locus::sum((x - y) * (x - y)));
}
