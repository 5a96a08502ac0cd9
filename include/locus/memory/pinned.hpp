// SPDX-License-Identifier: Apache-2.0
// Pinned host memory: the staging of copies to and from GPUs, obtained once and kept.
#pragma once

#include <locus/core/macros.hpp>          // LOCUS_SHARED_STATE, LOCUS_LEAN_BEGIN, LOCUS_FUNCTION
#include <locus/memory/regions.hpp>       // region_pool
#include <locus/runtime/host_memory.hpp>  // host_memory

LOCUS_LEAN_BEGIN

namespace locus::runtime {

/// means: chunks of pinned host memory; of ordinary memory if there is no card
/// cost:  pinning is slow and waits for all GPUs: one region of 2 MiB, then larger ones; free
///        chunks are used again
class pinned_pool {
 public:
  static constexpr std::int64_t limit = std::int64_t(256) << 20;  // bytes, of all chunks together

  /// null: no more pinned memory; copy from pageable memory then
  /// after: the caller releases the chunk after the last copy that uses it has run
  void* allocate(std::int64_t bytes);
  void release(void* p) noexcept;
  /// units: pinned bytes, used or free
  std::int64_t reserved();
  /// means: gives all pinned memory back; the caller guarantees that no copy is in flight
  void close() noexcept;

 private:
  // named functions: nvcc drops lambdas inside the braces of a return
  static void* pin(void*, std::size_t bytes);
  static void unpin(void*, void* p, std::size_t);
  static void* obtain(void*, std::size_t bytes) { return host_memory.allocate(bytes); }
  static void give_back(void*, void* p, std::size_t bytes) { host_memory.release(p, bytes); }
  static memory_resource cuda_source() { return {pin, unpin, nullptr}; }
  static memory_resource host_source() { return {obtain, give_back, nullptr}; }
  mutex lock_;
  region_pool* pool_ = nullptr;
};
LOCUS_SHARED_STATE inline constinit pinned_pool pinned_memory;

}  // namespace locus::runtime

LOCUS_LEAN_END

#if LOCUS_HAS_BODIES
#include <locus/memory/bodies/pinned.hpp>  // bodies of the functions above
#endif
