// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that memory/pinned.hpp declares.
#pragma once
#include <utility>  // exchange

#include <locus/core/bytes.hpp>                   // round_up
#include <locus/core/macros.hpp>                  // LOCUS_FUNCTION, LOCUS_LEAN_BEGIN
#include <locus/machine/card_scope.hpp>           // card_scope
#include <locus/machine/physical.hpp>             // cuda_success
#include <locus/memory/pinned.hpp>                // the declarations
#include <locus/runtime/collective_settings.hpp>  // issue_lock

LOCUS_LEAN_BEGIN

namespace locus::runtime {

LOCUS_FUNCTION void* pinned_pool::allocate(std::int64_t bytes) {
  if (bytes <= 0) return nullptr;
  lock_guard hold(lock_);
  if (!pool_) pool_ = new region_pool(table.has_cards() ? cuda_source() : host_source());
  return pool_->allocate(round_up(bytes), bytes, {limit, true});
}

LOCUS_FUNCTION void pinned_pool::release(void* p) noexcept {
  lock_guard hold(lock_);
  if (p && pool_) pool_->release(p);
}

LOCUS_FUNCTION std::int64_t pinned_pool::reserved() {
  lock_guard hold(lock_);
  return pool_ ? pool_->reserved() : 0;
}

LOCUS_FUNCTION void pinned_pool::close() noexcept {
  lock_guard hold(lock_);
  delete std::exchange(pool_, nullptr);
}

LOCUS_FUNCTION void* pinned_pool::pin(void*, std::size_t bytes) {
  void* p = nullptr;
  card_scope const scope(table.gpu_devices[0].card);
  lock_guard issuing(issue_lock);  // pinning may wait for all cards
  if (gpu_api->malloc_host(&p, bytes) == cuda_success) return p;
  gpu_api->last_error();
  return nullptr;
}

LOCUS_FUNCTION void pinned_pool::unpin(void*, void* p, std::size_t) {
  if (!gpu_api) return;
  card_scope const scope(table.gpu_devices[0].card);
  lock_guard issuing(issue_lock);
  if (gpu_api->free_host(p) != cuda_success) gpu_api->last_error();
}

}  // namespace locus::runtime

LOCUS_LEAN_END
