// SPDX-License-Identifier: Apache-2.0
// CUB's kernels for folds. Only units with folds for GPUs compile them.
#pragma once
#include <locus/engine/gpu/half_names.cuh>  // before CUB

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // g++ 12 finds some in CUB
#include <cub/device/device_reduce.cuh>                 // DeviceReduce
#include <thrust/iterator/counting_iterator.h>          // counting_iterator
#pragma GCC diagnostic pop

#include <cstdint>  // int64_t

namespace locus::cuda_side::cub_calls {

/// *out = combine(first, of(0), of(1), ..., of(n - 1)), in any order
template <class Of, class Out, class Combine, class T>
int reduce(void* workspace, std::size_t* bytes, std::int64_t n, Of const& of, Out const& out,
           Combine combine, T first, void* stream) {
  return int(::cub::DeviceReduce::TransformReduce(
      workspace, *bytes, thrust::counting_iterator<std::int64_t>(0), out, n, combine, of, first,
      static_cast<cudaStream_t>(stream)));
}

}  // namespace locus::cuda_side::cub_calls
