// SPDX-License-Identifier: Apache-2.0
// Pinned host memory: what copies to and from GPUs pass through, obtained once and kept.
#pragma once
#include <utility>  // exchange

#include <locus/backend/cuda/card_scope.hpp>      // card_scope
#include <locus/core/bytes.hpp>                   // round_up
#include <locus/core/config.hpp>                  // LOCUS_SHARED_STATE, LOCUS_LEAN_BEGIN
#include <locus/runtime/collective_settings.hpp>  // issue_lock
#include <locus/runtime/host_memory.hpp>          // host_memory
#include <locus/runtime/physical.hpp>             // cuda_success, gpu_api
#include <locus/runtime/regions.hpp>              // region_pool

LOCUS_LEAN_BEGIN

namespace locus::runtime {

/// means: chunks of host memory that a GPU reaches by itself; ordinary memory where there is no CUDA
/// cost:  pinning is slow and waits for all GPUs: a first region of 2 MiB, then larger ones; chunks
///        that were released are used again
class pinned_pool {
 public:
  static constexpr std::int64_t limit = std::int64_t(256) << 20;  // bytes, of all chunks together

  /// null: there is no more; copy from pageable memory then
  /// after: the chunk belongs to the caller until he releases it, which must be after the last copy
  ///        that reads or writes it has run
  void* allocate(std::int64_t bytes) {
    if (bytes <= 0) return nullptr;
    lock_guard hold(lock_);
    if (!pool_)
      pool_ = new region_pool(table.gpu_backing == backing::cuda ? cuda_source() : host_source());
    return pool_->allocate(round_up(bytes), bytes, {limit, true});
  }
  void release(void* p) noexcept {
    lock_guard hold(lock_);
    if (p && pool_) pool_->release(p);
  }
  /// units: bytes that are pinned now
  std::int64_t reserved() {
    lock_guard hold(lock_);
    return pool_ ? pool_->reserved() : 0;
  }
  /// means: all of it goes back; no copy is in flight
  void close() noexcept {
    lock_guard hold(lock_);
    delete std::exchange(pool_, nullptr);
  }

 private:
  // with functions that have names: nvcc loses lambdas inside the braces of a return
  static void* pin(void*, std::size_t bytes) {
    void* p = nullptr;
    card_scope const scope(table.gpu_devices[0].card);
    lock_guard issuing(issue_lock);  // it may wait for every card
    if (gpu_api->malloc_host(&p, bytes) == cuda_success) return p;
    gpu_api->last_error();
    return nullptr;
  }
  static void unpin(void*, void* p, std::size_t) {
    if (!gpu_api) return;
    card_scope const scope(table.gpu_devices[0].card);
    lock_guard issuing(issue_lock);
    if (gpu_api->free_host(p) != cuda_success) gpu_api->last_error();
  }
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
