// SPDX-License-Identifier: Apache-2.0
// A log line for each allocation and each free, if the program asks for them.
#pragma once
#include <locus/core/macros.hpp>           // LOCUS_SHARED_STATE, LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/runtime/device_table.hpp>  // logical_device
#include <locus/shape/shape.hpp>           // shape

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
[[gnu::cold]] LOCUS_FUNCTION bool ask_allocation_log();
LOCUS_FUNCTION bool logs_allocations();
[[gnu::cold]] LOCUS_FUNCTION void log_memory(logical_device const& d, std::string_view verb,
                                             std::int64_t bytes, memory_purpose const& purpose);

}  // namespace runtime

namespace debugging {
/// means: writes a log line for each allocation and each free on a device: device, bytes, purpose,
///        bytes in use afterwards. LOCUS_LOG_ALLOCATIONS=1 does the same.
inline void set_log_allocations(bool on) { runtime::set_allocation_log(on); }
}  // namespace debugging

}  // namespace locus

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/memory/bodies/allocation_log.hpp>  // bodies of the functions above
#endif
