// SPDX-License-Identifier: Apache-2.0
// A line for each allocation and each free, where somebody asked for it.
#pragma once
#include <locus/core/config.hpp>        // LOCUS_SHARED_STATE, LOCUS_COLD_BEGIN
#include <locus/runtime/log.hpp>        // log_event, log
#include <locus/runtime/table.hpp>      // logical_device
#include <locus/runtime/variables.hpp>  // is_switched_on

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

  void write_to(message& text) const {
    text << words << element;
    if (extents) text << *extents;
  }
};

/// What LOCUS_LOG_ALLOCATIONS says until the program says something else.
enum class allocation_logging : signed char { ask_environment = -1, off, on };
LOCUS_SHARED_STATE inline constinit allocation_logging allocation_log =
    allocation_logging::ask_environment;

inline void set_allocation_log(bool on) {
  auto now = on ? allocation_logging::on : allocation_logging::off;
  __atomic_store(&allocation_log, &now, __ATOMIC_RELAXED);
}
[[gnu::cold]] inline bool ask_allocation_log() {
  bool const on = is_switched_on("LOCUS_LOG_ALLOCATIONS");
  set_allocation_log(on);
  return on;
}
inline bool logs_allocations() {
  allocation_logging now;
  __atomic_load(&allocation_log, &now, __ATOMIC_RELAXED);
  return now != allocation_logging::off && (now == allocation_logging::on || ask_allocation_log());
}
[[gnu::cold]] inline void log_memory(logical_device const& d, std::string_view verb,
                                     std::int64_t bytes, memory_purpose const& purpose) {
  message words;
  purpose.write_to(words);
  log_event e;
  e.kind = event_kind::allocation, e.name = verb, e.on = {d.name, d.name, {}};
  e.bytes = bytes, e.reason = words.view();
  e.in_use = __atomic_load_n(&d.memory.in_use, __ATOMIC_RELAXED);
  log(e);
}

}  // namespace runtime

namespace debugging {
/// means: each allocation and each free of memory on a device is written to the log: device, bytes,
///        what it is for, bytes in use behind it. LOCUS_LOG_ALLOCATIONS=1 does the same.
inline void set_log_allocations(bool on) { runtime::set_allocation_log(on); }
}  // namespace debugging

}  // namespace locus

LOCUS_COLD_END
