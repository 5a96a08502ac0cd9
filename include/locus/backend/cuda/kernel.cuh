// SPDX-License-Identifier: Apache-2.0
// The one kernel template of locus: its parameter is the body, its name says nothing of devices or
// extents.
#pragma once

namespace locus::cuda {

/// A block on a GPU: a phase is what each thread does until the barrier.
class device_block {
 public:
  __device__ unsigned number() const { return blockIdx.x; }
  __device__ unsigned count() const { return gridDim.x; }
  __device__ unsigned size() const { return blockDim.x; }
  template <class F>
  __device__ void each(F&& f) const {
    f(threadIdx.x);
    __syncthreads();
  }
  template <class F>
  __device__ void apart(F&& f) const {
    f(threadIdx.x);
  }
  template <class T, unsigned Size>
  __device__ T* shared() const {
    __shared__ T memory[Size];
    return memory;
  }
};

template <class Body>
__global__ void kernel(__grid_constant__ Body const body) {
  body(device_block{});
}

}  // namespace locus::cuda
