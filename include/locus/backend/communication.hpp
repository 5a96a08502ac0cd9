// SPDX-License-Identifier: Apache-2.0
// Staging memory of collectives: one block for each device, obtained apart from tensors and kept.
#pragma once
#include <locus/backend/memory.hpp>  // try_allocate, release
#include <locus/core/config.hpp>     // LOCUS_SHARED_STATE, LOCUS_COLD_BEGIN

LOCUS_COLD_BEGIN

namespace locus::runtime {

namespace detail {
LOCUS_SHARED_STATE inline constinit mutex communication_lock;
}

/// means: at least so many bytes on a device for the collectives in flight there; the same block for
///        every call until one asks for more. It is counted and limited like tensors, and on a GPU
///        a region of its own where the limit has room for one
/// cost:  a lock in the steady state; no call of the driver
/// fails: out_of_memory; the block that there was is kept then
/// after: who uses it orders his uses among each other; a block that became too small goes back in
///        the order of the compute queue
inline void* communication_memory(logical_device& d, std::int64_t bytes) {
  constexpr std::string_view purpose = "the staging of collectives";
  lock_guard hold(detail::communication_lock);
  memory_account& m = d.memory;
  if (bytes <= m.communication_bytes) return m.communication;
  std::int64_t const size = round_up(bytes);
  bool const planned_lack = detail::lacks_memory();
  void* p = planned_lack ? nullptr : detail::try_allocate(d, size, bytes, true);
  if (!p) p = detail::allocate_again(d, size, bytes, purpose, planned_lack);
  if (logs_allocations()) log_memory(d, "allocates", size, purpose);
  release(d, m.communication, m.communication_bytes, purpose);
  m.communication = p, m.communication_bytes = size;
  return p;
}
/// means: the staging memory goes back, in the order of the compute queue
inline void release_communication_memory(logical_device& d) noexcept {
  lock_guard hold(detail::communication_lock);
  memory_account& m = d.memory;
  release(d, m.communication, m.communication_bytes, "the staging of collectives");
  m.communication = nullptr, m.communication_bytes = 0;
}

}  // namespace locus::runtime

LOCUS_COLD_END
