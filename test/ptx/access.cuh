// SPDX-License-Identifier: Apache-2.0
// Kernels whose access to memory is known: copies, strides, transposes, sums.
#pragma once
#include <cstddef>

template <class T>
__global__ void copy_one(T* __restrict__ y, T const* __restrict__ x, int n) {
  int const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
template <class T>
__global__ void copy_loop(T* __restrict__ y, T const* __restrict__ x, std::size_t n) {
  for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += std::size_t(blockDim.x) * gridDim.x)
    y[i] = x[i];
}
__global__ void copy_strided(float* y, float const* x, int n, int stride) {
  int const i = (blockIdx.x * blockDim.x + threadIdx.x) * stride;
  if (i < n) y[i] = x[i] + 1;
}
__global__ void transpose_naive(float const* __restrict__ in, float* __restrict__ out, int n) {
  int const x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < n && y < n) out[x * n + y] = in[y * n + x];
}
/// tiles of 32 x 32
template <int Pad>
__global__ void transpose_tiled(float const* __restrict__ in, float* __restrict__ out, int n) {
  __shared__ float tile[32][32 + Pad];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += blockDim.y) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += blockDim.y)
    out[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}
__device__ inline int sum_of(int v) { return v; }
__device__ inline int sum_of(int2 v) { return v.x + v.y; }
__device__ inline int sum_of(int4 v) { return v.x + v.y + v.z + v.w; }
/// a sum for each block, by a loop over the grid
template <class V>
__global__ void sum_loop(int const* __restrict__ x, int* y, int n) {
  auto const* const v = reinterpret_cast<V const*>(x);
  int sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / int(sizeof(V) / 4);
       i += blockDim.x * gridDim.x)
    sum += sum_of(v[i]);
  auto const in_warp = [](int a) {
    for (int k = 16; k; k /= 2) a += __shfl_down_sync(~0u, a, k);
    return a;
  };
  __shared__ int parts[32];
  sum = in_warp(sum);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = threadIdx.x < blockDim.x / 32 ? parts[threadIdx.x % 32] : 0;
  if (threadIdx.x < 32) sum = in_warp(sum);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}
__global__ void add_one(int* x, int step) {
  atomicAdd(x + step * (blockIdx.x * blockDim.x + threadIdx.x), 1);
}
