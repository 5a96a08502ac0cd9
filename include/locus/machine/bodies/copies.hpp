// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that machine/copies.hpp declares.
#pragma once
#include <locus/core/macros.hpp>          // LOCUS_FUNCTION, LOCUS_LEAN_BEGIN
#include <locus/machine/copies.hpp>       // the declarations
#include <locus/machine/event_scope.hpp>  // begin_copy
#include <locus/machine/stamps.hpp>       // meet_arrivals

LOCUS_LEAN_BEGIN

namespace locus::runtime {

LOCUS_FUNCTION stamp copy(logical_device& to, void* target, logical_device& from,
                          void const* source, std::int64_t bytes, queue_kind kind,
                          step_record const& record, bool pinned) {
  if (bytes == 0) return {};
  logical_device& carrier = !to.is_host() ? to : from;
  if (has_arrivals()) {
    meet_arrivals(to, target, bytes, &carrier, kind);
    meet_arrivals(from, source, bytes, &carrier, kind);
  }
  event_scope scope;
  if (unsigned const w = watched() & work_watchers)
    begin_copy(scope, w, carrier, kind, to, from, bytes, record);
  copy_job const job{&carrier, kind,  &to, target, &from, source, static_cast<std::size_t>(bytes),
                     record,   pinned};
  return carrier.is_host() ? host_machine.copy(job) : gpus_of_program->copy(job);
}

LOCUS_FUNCTION void check_host_access(void const* p, std::int64_t bytes, bool writes,
                                      step_record const& record) {
  if (table.gpu_machine && bytes > 0)
    table.gpu_machine->check_host(p, static_cast<std::size_t>(bytes), writes, record);
}

}  // namespace locus::runtime

LOCUS_LEAN_END
