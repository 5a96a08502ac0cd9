// SPDX-License-Identifier: Apache-2.0
#include <locus/cuda.cuh>
using vector = locus::Tensor<float, locus::Extents<locus::dyn>, locus::GpuDevice<0>>;
void scale(vector& y, vector const& x) { y = 2.f * x + y; }
