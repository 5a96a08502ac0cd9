// SPDX-License-Identifier: Apache-2.0
// Memory of a device, whatever stands behind it: counted, limited, rounded up to 256 bytes.
#pragma once
#include <locus/backend/devices.hpp>  // on_side
#include <locus/core/error.hpp>       // out_of_memory
#include <locus/device/name.hpp>      // message << device
#include <locus/plan/memory.hpp>      // round_up
#include <locus/runtime/log.hpp>      // write_line

namespace locus::runtime {

namespace detail {
inline bool reserve(memory_account& m, std::int64_t size) {
  std::int64_t const now = __atomic_add_fetch(&m.in_use, size, __ATOMIC_RELAXED);
  if (now > m.limit) {
    __atomic_sub_fetch(&m.in_use, size, __ATOMIC_RELAXED);
    return false;
  }
  std::int64_t peak = __atomic_load_n(&m.peak, __ATOMIC_RELAXED);
  while (now > peak && !__atomic_compare_exchange_n(&m.peak, &peak, now, false, __ATOMIC_RELAXED,
                                                    __ATOMIC_RELAXED)) {}
  return true;
}
}  // namespace detail

/// means: memory on a device, in the order of its compute queue; the bytes are rounded up to 256
/// fails: out_of_memory naming device, purpose, requested, in use, limit; nothing has changed then
inline void* allocate(logical_device& d, std::int64_t bytes, std::string_view purpose) {
  std::int64_t const size = round_up(bytes > 0 ? bytes : 1);
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (size > 0 && size <= d.memory.limit && detail::reserve(d.memory, size)) {
      void* const p = on_side(
          d.how, [&](auto side) { return side.allocate(d, static_cast<std::size_t>(size)); });
      if (p) {
        __atomic_add_fetch(&d.memory.allocations, 1, __ATOMIC_RELAXED);
        return p;
      }
      __atomic_sub_fetch(&d.memory.in_use, size, __ATOMIC_RELAXED);
    }
    // wait for what is in flight, give back what is only kept, and try once more
    if (attempt == 0) on_side(d.how, [&](auto side) { side.trim(d); });
  }
  message text;
  text << "locus: no memory on " << d.name << " for " << purpose << ": requested " << size
       << " bytes, in use " << __atomic_load_n(&d.memory.in_use, __ATOMIC_RELAXED) << ", limit "
       << d.memory.limit;
  throw out_of_memory(text << "; free tensors, or cut the problem into smaller parts");
}

/// means: gives memory back when the device's compute queue has used it
inline void release(logical_device& d, void* p, std::int64_t bytes) noexcept {
  if (!p) return;
  std::int64_t const size = round_up(bytes > 0 ? bytes : 1);
  __atomic_sub_fetch(&d.memory.in_use, size, __ATOMIC_RELAXED);
  try {
    on_side(d.how, [&](auto side) { side.release(d, p, static_cast<std::size_t>(size)); });
  } catch (std::exception const& e) {  // a destructor may be under way
    log_line line;
    write_line(line << e.what());
  }
}

}  // namespace locus::runtime
