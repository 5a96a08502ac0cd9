// SPDX-License-Identifier: Apache-2.0
// The kernels of main.cpp, which a host compiler takes.
#include <locus/cuda.cuh>

using namespace locus;
LOCUS_INSTANTIATE(decltype(sum(std::declval<Tensor<float, Extents<2, 2>, GpuDevice<0>>&>())));
