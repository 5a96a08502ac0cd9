// SPDX-License-Identifier: Apache-2.0
// The kernel template of locus, plain and with bounded registers. Its parameter is the body; its name contains
// no device and no extent.
#pragma once
#include <type_traits>  // conditional

#include <locus/backend/cuda/shared_memory.hpp>  // shared_memory
#include <locus/core/compiler.hpp>               // C++20, 64 bits, exceptions

namespace locus::cuda_side {

/// A thread block on a GPU. each(f): all threads run f, then a barrier; apart(f): without the
/// barrier.
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
  template <class T>
  class own {
   public:
    __device__ T& operator[](unsigned) { return value_; }

   private:
    T value_;
  };
  template <class Reducer, class T>
  __device__ void fold(own<T>& v, unsigned team) const {
    constexpr unsigned warp = 32, warps = 256 / warp;
    T& mine = v[0];
    if (team < warp) return butterfly<Reducer>(mine, team);
    butterfly<Reducer, warp>(mine);
    if (team == warp) return;
    __shared__ alignas(T) unsigned char memory[warps * sizeof(T)];
    T* const each = reinterpret_cast<T*>(memory);
    if (threadIdx.x % warp == 0) each[threadIdx.x / warp] = mine;
    __syncthreads();
    unsigned const mates = team / warp, first = threadIdx.x / warp & ~(mates - 1);
    mine = each[first + (threadIdx.x & (mates - 1))];
    __syncthreads();
    butterfly<Reducer>(mine, mates);
  }
  __device__ unsigned equals(own<int>& v, unsigned t) const {
    return __match_any_sync(0xffffffffu, v[t]);
  }
  template <class T>
  __device__ void add(T& to, T v) const {
    using word = std::conditional_t<sizeof(T) == 4, int, unsigned long long>;
    atomicAdd(reinterpret_cast<word*>(&to), static_cast<word>(v));
  }
  template <class T, unsigned Size>
  __device__ T* shared() const {
    __shared__ shared_memory<T, Size> memory;
    return memory.of;
  }

 private:
  template <class Reducer, unsigned Size, class T>
  __device__ static void butterfly(T& mine) {
#pragma unroll
    for (unsigned half = Size / 2; half > 0; half /= 2)
      mine = Reducer::combine(mine, other(mine, half));
  }
  template <class Reducer, class T>
  __device__ static void butterfly(T& mine, unsigned size) {
#pragma unroll 1
    for (unsigned half = size / 2; half > 0; half /= 2)
      mine = Reducer::combine(mine, other(mine, half));
  }
  /// means: the value of the thread whose number differs by `distance` (xor), exchanged word by
  ///        word
  template <class T>
  __device__ static T other(T const& mine, unsigned distance) {
    unsigned words[(sizeof(T) + 3) / 4]{};
    memcpy(words, &mine, sizeof(T));
    for (unsigned& w : words) w = __shfl_xor_sync(0xffffffffu, w, int(distance));
    T result;
    memcpy(&result, words, sizeof(T));
    return result;
  }
};

template <class Body>
__global__ void kernel(__grid_constant__ Body const body) {
  body(device_block{});
}

/// means: the same, where a processor runs at least so many blocks of 256 threads at once: a thread gets
///        65536 / (256 * Body::least_blocks) registers at most, and the others lie in memory
/// after: __launch_bounds__, CUDA C++ Programming Guide
template <class Body>
__global__ void __launch_bounds__(256, Body::least_blocks)
    bounded_kernel(__grid_constant__ Body const body) {
  body(device_block{});
}

/// the kernel of a body: bounded, if the body states `static constexpr unsigned least_blocks` above 1
template <class Body>
constexpr auto kernel_of() {
  if constexpr (requires { requires(Body::least_blocks > 1); })
    return &bounded_kernel<Body>;
  else
    return &kernel<Body>;
}

}  // namespace locus::cuda_side
