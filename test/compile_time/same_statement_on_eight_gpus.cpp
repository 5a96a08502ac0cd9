// SPDX-License-Identifier: Apache-2.0
// budget: 4755 instantiations (clang 14)
// One statement on eight GPUs: plans differ by ordinal, kernels do not.
#include <locus/locus.hpp>
using namespace locus;

template <int N>
void one_statement(Tensor<float, Extents<dyn>, GpuDevice<N>>& y) {
  y = 2.f * y;
}
template void one_statement(Tensor<float, Extents<dyn>, GpuDevice<0>>&);
template void one_statement(Tensor<float, Extents<dyn>, GpuDevice<1>>&);
template void one_statement(Tensor<float, Extents<dyn>, GpuDevice<2>>&);
template void one_statement(Tensor<float, Extents<dyn>, GpuDevice<3>>&);
template void one_statement(Tensor<float, Extents<dyn>, GpuDevice<4>>&);
template void one_statement(Tensor<float, Extents<dyn>, GpuDevice<5>>&);
template void one_statement(Tensor<float, Extents<dyn>, GpuDevice<6>>&);
template void one_statement(Tensor<float, Extents<dyn>, GpuDevice<7>>&);
