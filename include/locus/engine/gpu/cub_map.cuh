// SPDX-License-Identifier: Apache-2.0
// CUB's kernels for maps. Only units with maps for GPUs compile them.
#pragma once
#include <locus/engine/gpu/half_names.cuh>  // before CUB

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // g++ 12 finds some in CUB
#include <cub/device/device_for.cuh>                    // DeviceFor
#include <cub/device/device_transform.cuh>              // DeviceTransform
#pragma GCC diagnostic pop

#include <cstdint>  // int64_t

namespace locus::cuda_side::cub_calls {

/// out[i] = f(in[i]...) for i in [0, n)
template <class Out, class F, class... In>
int transform(std::int64_t n, F const& f, Out const& out, void* stream, In const*... in) {
  return int(::cub::DeviceTransform::Transform(::cuda::std::make_tuple(in...), out, n, f,
                                               static_cast<cudaStream_t>(stream)));
}
/// f(i) for i in [0, n)
template <class F>
int for_each(std::int64_t n, F const& f, void* stream) {
  return int(::cub::DeviceFor::Bulk(n, f, static_cast<cudaStream_t>(stream)));
}

}  // namespace locus::cuda_side::cub_calls
