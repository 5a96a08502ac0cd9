// SPDX-License-Identifier: Apache-2.0
// A line for each allocation and each free, where somebody asked for it.
#pragma once
#include <locus/core/macros.hpp>           // LOCUS_SHARED_STATE, LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/runtime/device_table.hpp>  // logical_device
#include <locus/shape/shape.hpp>           // shape

LOCUS_COLD_BEGIN

namespace locus {

namespace runtime {

/// What memory is for; the words are put together only where a log or an error says them.
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

/// What LOCUS_LOG_ALLOCATIONS says until the program says something else.
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
/// means: each allocation and each free of memory on a device is written to the log: device, bytes,
///        what it is for, bytes in use behind it. LOCUS_LOG_ALLOCATIONS=1 does the same.
inline void set_log_allocations(bool on) { runtime::set_allocation_log(on); }
}  // namespace debugging

}  // namespace locus

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/memory/bodies/allocation_log.hpp>  // bodies of the functions above
#endif
