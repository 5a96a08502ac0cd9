// SPDX-License-Identifier: Apache-2.0
// Kernels as phases of a thread block. The same body runs as a GPU kernel, and as loops on the host
// with a recorder.
#pragma once
#include <locus/backend/cuda/shared_memory.hpp>  // shared_memory
#include <locus/core/macros.hpp>                 // LOCUS_DEVICE_CODE
#include <locus/runtime/cuda_api.hpp>            // cuda_launch
#if LOCUS_DEVICE_CODE
#include <locus/backend/cuda/kernel.cuh>  // kernel
#endif

LOCUS_LEAN_BEGIN

namespace locus::cuda_side {

inline constexpr unsigned block_threads = 256, warp_threads = 32;

/// A thread block on the host: a phase is a loop over its threads. (Its functions are marked for
/// host and device, since bodies are.)
class host_block {
 public:
  host_block(unsigned number, unsigned count, unsigned size)
      : number_(number), count_(count), size_(size) {}
  LOCUS_HOST_DEVICE unsigned number() const { return number_; }
  LOCUS_HOST_DEVICE unsigned count() const { return count_; }
  LOCUS_HOST_DEVICE unsigned size() const { return size_; }
  /// means: f(t) for each thread t, then a barrier
  LOCUS_EXEC_CHECK_DISABLE
  template <class F>
  LOCUS_HOST_DEVICE void each(F&& f) const {
    for (unsigned t = 0; t < size_; ++t) f(t);
  }
  /// means: f(t) for each thread t, without a barrier
  LOCUS_EXEC_CHECK_DISABLE
  template <class F>
  LOCUS_HOST_DEVICE void apart(F&& f) const {
    for (unsigned t = 0; t < size_; ++t) f(t);
  }
  /// one value for each thread, kept from phase to phase
  template <class T>
  class own {
   public:
    LOCUS_HOST_DEVICE T& operator[](unsigned t) { return values_[t]; }

   private:
    T values_[block_threads];
  };
  /// means: v[t] = the fold over the team of t, a power of two of at most 256 threads, in the tree
  ///        of a GPU: neighbours at distance 16, 8, 4, 2, 1, then warps at 4, 2, 1
  template <class Reducer, class T>
  void fold(own<T>& v, unsigned team) const {
    unsigned const side_by_side = team < warp_threads ? team : warp_threads;
    for (unsigned first = 0; first < block_threads; first += side_by_side)
      butterfly<Reducer>(&v[first], side_by_side);
    if (team <= warp_threads) return;
    constexpr unsigned warps = block_threads / warp_threads;
    unsigned const mates = team / warp_threads;
    T each[warps];
    for (unsigned w = 0; w < warps; ++w) each[w] = v[w * warp_threads];
    for (unsigned w = 0; w < warps; w += mates) butterfly<Reducer>(&each[w], mates);
    for (unsigned t = 0; t < block_threads; ++t) v[t] = each[t / warp_threads];
  }
  /// means: bit l: thread l of the warp of t has the value of t; every thread of the warp asks
  LOCUS_HOST_DEVICE std::uint32_t equals(own<std::int32_t>& v, unsigned t) const {
    std::uint32_t found = 0;
    unsigned const first = t / warp_threads * warp_threads;
    for (unsigned l = 0; l < warp_threads && first + l < size_; ++l)
      found |= std::uint32_t(v[first + l] == v[t]) << l;
    return found;
  }
  /// means: to += v, which threads of all blocks may do at the same time; T: int32 or int64
  template <class T>
  LOCUS_HOST_DEVICE void add(T& to, T v) const {
    to += v;
  }
  /// memory shared by the threads of a block, made when a thread of the host first asks for it: a
  /// thread_local array would take its bytes from the stack of every thread
  template <class T, unsigned Size>
  T* shared() const {
    static thread_local made_once<shared_memory<T, Size>> const memory;
    return memory.it->of;
  }

 private:
  template <class Memory>
  struct made_once {
    Memory* const it = new Memory();
    made_once() = default;
    made_once(made_once const&) = delete;
    ~made_once() { delete it; }
  };
  template <class Reducer, class T>
  static void butterfly(T* v, unsigned size) {
    for (unsigned half = size / 2; half > 0; half /= 2) {
      T before[warp_threads];
      for (unsigned t = 0; t < size; ++t) before[t] = v[t];
      for (unsigned t = 0; t < size; ++t) v[t] = Reducer::combine(before[t], before[t ^ half]);
    }
  }
  unsigned number_, count_, size_;
};

/// means: f(i) for i in [0, n): thread t of the grid takes t, then strides by the size of the grid
LOCUS_EXEC_CHECK_DISABLE
template <class Block, class F>
LOCUS_HOST_DEVICE void each_of(Block const& block, std::int64_t n, F const& f) {
  block.each([&](unsigned t) {
    std::int64_t const threads = std::int64_t(block.count()) * block.size();
    for (std::int64_t i = std::int64_t(block.number()) * block.size() + t; i < n; i += threads)
      f(i);
  });
}

/// means: runs the body on the host, block after block
template <class Body>
void run_blocks_on_host(void const* body, unsigned blocks, unsigned threads) {
  for (unsigned b = 0; b < blocks; ++b)
    (*static_cast<Body const*>(body))(host_block(b, blocks, threads));
}

/// means: the arguments of the launch of a body, for CUDA and the recorder; the symbol is null in a
///        unit of a host compiler
template <class Body>
runtime::cuda_launch launch_of(Body const& body, unsigned blocks, unsigned threads, void* stream) {
  static_assert(sizeof(Body) <= runtime::cuda_launch::max_body_bytes,
                "locus: a kernel has more than 32,764 bytes of parameters; evaluate a part with "
                "eval(e)");
  runtime::cuda_launch what;
#if LOCUS_DEVICE_CODE
  what.symbol = reinterpret_cast<void const*>(kernel_of<Body>());
#endif
  what.on_host = &run_blocks_on_host<Body>;
  what.body = const_cast<Body*>(&body), what.body_bytes = sizeof(Body);
  what.blocks = blocks, what.threads = threads, what.stream = stream;
  return what;
}

}  // namespace locus::cuda_side

LOCUS_LEAN_END
