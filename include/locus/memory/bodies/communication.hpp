// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that memory/communication.hpp declares.
#pragma once
#include <locus/core/macros.hpp>           // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/memory/allocate.hpp>       // try_allocate, release
#include <locus/memory/communication.hpp>  // the declarations

LOCUS_COLD_BEGIN

namespace locus::runtime {

LOCUS_FUNCTION void* communication_memory(logical_device& d, std::int64_t bytes) {
  constexpr std::string_view purpose = "the staging of collectives";
  lock_guard hold(detail::communication_lock);
  memory_account& m = d.memory;
  if (bytes <= m.communication_bytes) return m.communication;
  std::int64_t const size = round_up(bytes);
  bool const planned_lack = detail::lacks_memory();
  void* p = planned_lack ? nullptr : try_allocate(d, size, bytes, true);
  if (!p) p = detail::allocate_again(d, size, bytes, purpose, planned_lack);
  note_memory(d, "allocates", size, purpose);
  release(d, m.communication, m.communication_bytes, purpose);
  m.communication = p, m.communication_bytes = size;
  return p;
}

LOCUS_FUNCTION void release_communication_memory(logical_device& d) noexcept {
  lock_guard hold(detail::communication_lock);
  memory_account& m = d.memory;
  release(d, m.communication, m.communication_bytes, "the staging of collectives");
  m.communication = nullptr, m.communication_bytes = 0;
}

}  // namespace locus::runtime

LOCUS_COLD_END
