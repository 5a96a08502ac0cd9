// SPDX-License-Identifier: Apache-2.0
// A map, a fold of a whole value, sums of rows: whose kernels a unit makes for them (tools/check_engines.py). And
// `using namespace locus; half` beside CUDA's own half: <cuda_fp16.h> comes behind locus, or in front of it (FP16_FIRST),
// where a using-declaration says which one is meant.
#if defined(FP16_FIRST)
#include <cuda_fp16.h>

#include <type_traits>
static_assert(std::is_same_v<half, __half>);
#endif
#include <locus/cuda.cuh>
#if !defined(FP16_FIRST)
#include <cuda_fp16.h>
using namespace locus;
#endif

namespace program {
#if defined(FP16_FIRST)
using namespace locus;
using locus::half;
#endif
using on_card = GpuDevice<0>;
using vector = Tensor<half, Extents<dyn>, on_card>;
using one_half = Tensor<half, Extents<>, on_card>;
using matrix = Tensor<half, Extents<dyn, dyn>, on_card>;
static_assert(std::is_same_v<half, locus::half> && !std::is_same_v<half, __half>);

void map(vector& y, vector const& x) { y = half(2.f) * x + y; }
void fold(one_half& y, vector const& x) { y = sum(x * x); }
void rows(vector& y, matrix const& x) { y = sum<1>(x); }
}  // namespace program
