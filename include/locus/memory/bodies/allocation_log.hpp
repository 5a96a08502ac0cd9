// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that memory/allocation_log.hpp declares.
#pragma once
#include <locus/core/macros.hpp>            // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/memory/allocation_log.hpp>  // the declarations
#include <locus/runtime/variables.hpp>      // is_switched_on
#include <locus/watch/log.hpp>              // log

LOCUS_COLD_BEGIN

namespace locus::runtime {

LOCUS_FUNCTION void memory_purpose::write_to(message& text) const {
  text << words << element;
  if (extents) text << *extents;
}

LOCUS_FUNCTION void set_allocation_log(bool on) {
  auto now = on ? allocation_logging::on : allocation_logging::off;
  __atomic_store(&allocation_log, &now, __ATOMIC_RELAXED);
}

LOCUS_FUNCTION bool ask_allocation_log() {
  bool const on = is_switched_on("LOCUS_LOG_ALLOCATIONS");
  set_allocation_log(on);
  return on;
}

LOCUS_FUNCTION bool logs_allocations() {
  allocation_logging now;
  __atomic_load(&allocation_log, &now, __ATOMIC_RELAXED);
  return now != allocation_logging::off && (now == allocation_logging::on || ask_allocation_log());
}

LOCUS_FUNCTION void log_memory(logical_device const& d, std::string_view verb, std::int64_t bytes,
                               memory_purpose const& purpose) {
  message words;
  purpose.write_to(words);
  log_event e;
  e.kind = event_kind::allocation, e.name = verb, e.on = {d.name, d.name, {}};
  e.bytes = bytes, e.reason = words.view();
  e.in_use = __atomic_load_n(&d.memory.in_use, __ATOMIC_RELAXED);
  log(e);
}

}  // namespace locus::runtime

LOCUS_COLD_END
