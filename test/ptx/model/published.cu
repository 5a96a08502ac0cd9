// SPDX-License-Identifier: Apache-2.0
// Kernels whose share of a GPU's bandwidth is published (published.py), each once under its label.
#include <cub/cub.cuh>
#include <cub/device/device_for.cuh>
#include <cub/device/device_transform.cuh>
#include <thrust/device_vector.h>
#include <thrust/transform.h>

#include <cstdio>

#include "../access.cuh"
#include "../count.hpp"

namespace {
using ptx_counts::measure;

struct times_three {
  signed char *y, *x;
  __device__ void operator()(int i) const { y[i] = static_cast<signed char>(3 * x[i]); }
};
struct triple {
  __host__ __device__ float operator()(float v) const { return 3 * v; }
};
struct triple_bytes {
  __host__ __device__ signed char operator()(signed char v) const {
    return static_cast<signed char>(3 * v);
  }
};
struct triad {
  __host__ __device__ float operator()(float a, float b) const { return a + 3 * b; }
};
template <class F>
void with_storage(char const* label, F&& f) {
  void* p = nullptr;
  std::size_t bytes = 0;
  f(p, bytes);
  cudaMalloc(&p, bytes);
  measure(label, [&] { f(p, bytes); });
  cudaDeviceSynchronize();
  cudaFree(p);
}
template <class T>
T* as(float* p) {
  return reinterpret_cast<T*>(p);
}
}  // namespace

int main() {
  int const n = 1 << 21, side = 1024, many = 1 << 23;
  thrust::device_vector<float> a(n, 1.f), b(n, 2.f), c(n, 0.f), longer(n + 1, 1.f);
  thrust::device_vector<int> ints(n, 1), more(many, 1);
  float *x = a.data().get(), *y = b.data().get(), *z = c.data().get();
  auto const copy = [&]<class T>(char const* label, T, int count) {
    measure(label, [&] { copy_one<T><<<count / 256, 256>>>(as<T>(y), as<T>(x), count); });
  };
  copy("copy 1 B", char(), n / 2);
  copy("copy 2 B", short(), n / 2);
  copy("copy 4 B", float(), n);
  copy("copy 8 B", float2(), n / 2);
  copy("copy 16 B", float4(), n / 4);
  measure("copy 4 B loop", [&] { copy_loop<float><<<32, 1024>>>(y, x, n); });
  measure("copy 16 B loop",
          [&] { copy_loop<float4><<<32, 1024>>>(as<float4>(y), as<float4>(x), n / 4); });
  measure("stride 1", [&] { copy_strided<<<n / 256, 256>>>(y, x, n, 1); });
  measure("stride 2", [&] { copy_strided<<<n / 512, 256>>>(y, x, n, 2); });
  measure("stride 32", [&] { copy_strided<<<n / 32 / 256, 256>>>(y, x, n, 32); });
  measure("offset 1", [&] { copy_one<float><<<n / 256, 256>>>(y, longer.data().get() + 1, n); });

  auto const naive = [&](char const* label, int w, int h) {
    dim3 const blocks(unsigned(side / w), unsigned(side / h)), threads { unsigned(w), unsigned(h) };
    measure(label, [&] { transpose_naive<<<blocks, threads>>>(x, y, side); });
  };
  naive("transpose naive 32x32", 32, 32);
  naive("transpose naive 32x8", 32, 8);
  naive("transpose naive 16x16", 16, 16);
  dim3 const tiles(side / 32, side / 32);
  auto const tiled = [&](char const* label, unsigned rows) {
    measure(label, [&] { transpose_tiled<0><<<tiles, dim3(32, rows)>>>(x, y, side); });
  };
  auto const padded = [&](char const* label, unsigned rows) {
    measure(label, [&] { transpose_tiled<1><<<tiles, dim3(32, rows)>>>(x, y, side); });
  };
  tiled("transpose tiled 32x32", 32), padded("transpose padded 32x32", 32);
  tiled("transpose tiled 32x8", 8), padded("transpose padded 32x8", 8);
  padded("transpose padded 32x16", 16), padded("transpose padded 32x4", 4);

  auto const sum = [&]<class V>(char const* label, V) {
    measure(label, [&] { sum_loop<V><<<1024, 512>>>(more.data().get(), as<int>(y), many); });
  };
  sum("sum loop 4 B", int()), sum("sum loop 8 B", int2()), sum("sum loop 16 B", int4());

  measure("cub for i8",
          [&] { cub::DeviceFor::Bulk(n, times_three{as<signed char>(y), as<signed char>(x)}); });
  with_storage("cub reduce sum f32",
               [&](void* p, std::size_t& bytes) { cub::DeviceReduce::Sum(p, bytes, x, y, n); });
  with_storage("cub reduce sum i32", [&](void* p, std::size_t& bytes) {
    cub::DeviceReduce::Sum(p, bytes, ints.data().get(), as<int>(y), n);
  });
  measure("cub transform i8", [&] {
    cub::DeviceTransform::Transform(as<signed char>(x), as<signed char>(z), 2 * n, triple_bytes());
  });
  measure("cub transform mul", [&] { cub::DeviceTransform::Transform(x, z, n, triple()); });
  measure("cub transform triad",
          [&] { cub::DeviceTransform::Transform(cuda::std::make_tuple(x, y), z, n, triad()); });
  measure("thrust transform",
          [&] { thrust::transform(a.begin(), a.end(), b.begin(), c.begin(), triad()); });
  cudaError_t const e = cudaDeviceSynchronize();
  std::printf("published: %s\n", cudaGetErrorString(e));
  return e != cudaSuccess;
}
