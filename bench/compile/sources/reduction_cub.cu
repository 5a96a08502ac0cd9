// SPDX-License-Identifier: Apache-2.0
// The sum of squares of differences by CUB: its workspace, its stream, its iterators.
#include <cub/device/device_reduce.cuh>
#include <cuda/std/functional>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

struct squared_difference {
  float const *x, *y;
  __host__ __device__ float operator()(int i) const { return (x[i] - y[i]) * (x[i] - y[i]); }
};
float distance(float const* x, float const* y, int n) {
  auto const terms =
      thrust::make_transform_iterator(thrust::counting_iterator<int>(0), squared_difference{x, y});
  float* sum = nullptr;
  cudaMalloc(&sum, sizeof *sum);
  void* workspace = nullptr;
  std::size_t bytes = 0;
  cub::DeviceReduce::Sum(workspace, bytes, terms, sum, n);
  cudaMalloc(&workspace, bytes);
  cub::DeviceReduce::Sum(workspace, bytes, terms, sum, n);
  float result = 0;
  cudaMemcpy(&result, sum, sizeof result, cudaMemcpyDeviceToHost);
  cudaFree(workspace), cudaFree(sum);
  return result;
}
