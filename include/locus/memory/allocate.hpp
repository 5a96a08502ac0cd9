// SPDX-License-Identifier: Apache-2.0
// Memory of a device, on any machine: counted, limited, in multiples of 256 bytes.
#pragma once
#include <locus/core/bytes.hpp>              // round_up
#include <locus/core/macros.hpp>             // LOCUS_LEAN_BEGIN, LOCUS_FUNCTION
#include <locus/machine/stamps.hpp>          // meet_arrivals
#include <locus/memory/allocation_log.hpp>   // note_memory
#include <locus/memory/pool.hpp>             // pool_of
#include <locus/runtime/carried_memory.hpp>  // host_memory_is_kept
#include <locus/watch/event.hpp>             // log_line
#include <locus/watch/log.hpp>               // write_line

LOCUS_LEAN_BEGIN

namespace locus::runtime {

namespace detail {

/// Counts bytes as in use; the destructor takes them back unless keep() was called.
class reservation {
 public:
  reservation(memory_account& m, std::int64_t size);
  reservation(reservation const&) = delete;
  ~reservation() {
    if (granted_) __atomic_sub_fetch(&account_.in_use, size_, __ATOMIC_RELAXED);
  }
  bool is_granted() const { return granted_; }
  void keep();

 private:
  static void raise(std::int64_t& to, std::int64_t value);
  memory_account& account_;
  std::int64_t size_, after_ = 0;
  bool granted_ = false;
};

}  // namespace detail

/// null: the limit, the pool or the card has no room for it
LOCUS_FUNCTION void* try_allocate(logical_device& d, std::int64_t size, std::int64_t requested,
                                  bool apart = false);

namespace detail {

/// a planted fault of a test: this allocation shall find no memory
LOCUS_FUNCTION bool lacks_memory();
[[gnu::cold]] LOCUS_FUNCTION void* allocate_again(logical_device& d, std::int64_t size,
                                                  std::int64_t requested,
                                                  memory_purpose const& purpose, bool planned_lack);

}  // namespace detail

/// means: memory on a device, for work that its compute queue gets from now on; bytes are rounded
///        up to 256; null for 0 bytes
/// cost:  two locks and a few list operations if a free block fits; otherwise a region from the
///        driver
/// fails: out_of_memory naming device, purpose, requested, in use, limit, step. Before that,
///        allocate waits for the device, gives back unused regions and drops kept copies, if these
///        can help; tensors are unchanged
LOCUS_FUNCTION void* allocate(logical_device& d, std::int64_t bytes, memory_purpose const& purpose);

/// means: frees memory: work that the compute queue of the device gets from now on may use it
inline void release(logical_device& d, void* p, std::int64_t bytes,
                    memory_purpose const& purpose = "") noexcept {
  if (!p || (d.is_host() && host_memory_is_kept())) return;
  std::int64_t size = round_up(bytes);
  try {
    meet_arrivals(d, p, size);
    machine_of(d).retire(d, p, static_cast<std::size_t>(size));
  } catch (std::exception const& e) {  // this may run in a destructor
    log_line line;
    write_line(line << e.what());
  }
  if (region_pool* const pool = pool_of(d))
    size = pool->release(p);  // 0 bytes, if the device table was rebuilt since
  else
    host_memory.release(p, static_cast<std::size_t>(size));
  __atomic_sub_fetch(&d.memory.in_use, size, __ATOMIC_RELAXED);
  note_memory(d, "frees", size, purpose);
}

}  // namespace locus::runtime

LOCUS_LEAN_END

#if LOCUS_HAS_BODIES
#include <locus/memory/bodies/allocate.hpp>  // bodies of the functions above
#endif
