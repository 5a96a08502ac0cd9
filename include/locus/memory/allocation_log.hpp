// SPDX-License-Identifier: Apache-2.0
// The event of each allocation and each free: a trace has the bytes in use, and the log has a line
// if the program asks for it.
#pragma once
#include <locus/core/macros.hpp>           // LOCUS_SHARED_STATE, LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/runtime/device_table.hpp>  // logical_device
#include <locus/shape/shape.hpp>           // shape
#include <locus/watch/watch.hpp>           // is_watched

LOCUS_COLD_BEGIN

namespace locus {

namespace runtime {

/// The purpose of memory, as data: its words are put together only for a log line or an error.
struct memory_purpose {
  std::string_view words;
  std::string_view element{};      // of a tensor
  shape const* extents = nullptr;  // of a tensor

  constexpr memory_purpose(std::string_view w) : words(w) {}
  constexpr memory_purpose(char const* w) : words(w) {}
  constexpr memory_purpose(std::string_view type, shape const& e)
      : words("a tensor of "), element(type), extents(&e) {}

  void write_to(message& text) const;
};

/// The switch of the log; ask_environment: LOCUS_LOG_ALLOCATIONS decides at the first allocation.
enum class allocation_logging : signed char { ask_environment = -1, off, on };
LOCUS_SHARED_STATE inline constinit allocation_logging allocation_log =
    allocation_logging::ask_environment;

LOCUS_FUNCTION void set_allocation_log(bool on);
[[gnu::cold]] LOCUS_FUNCTION void tell_memory(logical_device const& d, std::string_view verb,
                                              std::int64_t bytes, memory_purpose const& purpose);

}  // namespace runtime

namespace debugging {
/// means: writes a log line for each allocation and each free on a device: device, bytes, purpose,
///        bytes in use afterwards. LOCUS_LOG_ALLOCATIONS=1 does the same.
inline void set_log_allocations(bool on) { runtime::set_allocation_log(on); }
}  // namespace debugging

}  // namespace locus

LOCUS_COLD_END

namespace locus::runtime {
/// means: tells a trace and the log of allocations that the bytes in use on d changed
/// cost:  two tests without them
inline void note_memory(logical_device const& d, std::string_view verb, std::int64_t bytes,
                        memory_purpose const& purpose) {
  allocation_logging now;
  __atomic_load(&allocation_log, &now, __ATOMIC_RELAXED);
  if (now != allocation_logging::off || is_watched(watcher::trace))
    tell_memory(d, verb, bytes, purpose);
}
}  // namespace locus::runtime

#if LOCUS_HAS_BODIES
#include <locus/memory/bodies/allocation_log.hpp>  // bodies of the functions above
#endif
