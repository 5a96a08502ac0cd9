// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that memory/allocation_log.hpp declares.
#pragma once
#include <locus/core/macros.hpp>            // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/memory/allocation_log.hpp>  // the declarations
#include <locus/runtime/variables.hpp>      // is_switched_on
#include <locus/watch/log.hpp>              // log
#include <locus/watch/trace.hpp>            // the_tracer

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

inline bool logs_allocations() {
  allocation_logging now;
  __atomic_load(&allocation_log, &now, __ATOMIC_RELAXED);
  if (now != allocation_logging::ask_environment) return now == allocation_logging::on;
  bool const on = is_switched_on("LOCUS_LOG_ALLOCATIONS");
  set_allocation_log(on);
  return on;
}

LOCUS_FUNCTION void tell_memory(logical_device const& d, std::string_view verb, std::int64_t bytes,
                                memory_purpose const& purpose) {
  message words;
  purpose.write_to(words);
  run_event e{.kind = event_kind::allocation, .name = verb, .on = {d.name, d.name}};
  e.bytes = bytes, e.reason = words.view();
  e.in_use = __atomic_load_n(&d.memory.in_use, __ATOMIC_RELAXED);
  if (is_watched(watcher::trace)) try {
      the_tracer().memory(d.name, e.in_use);
    } catch (...) {}  // without memory the trace has one event less
  if (logs_allocations()) log(e);
}

}  // namespace locus::runtime

LOCUS_COLD_END
