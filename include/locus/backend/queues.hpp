// SPDX-License-Identifier: Apache-2.0
// Copies and queues of a device, whatever stands behind it.
#pragma once
#include <locus/backend/stamps.hpp>      // mark, wait, synchronize
#include <locus/backend/work_scope.hpp>  // begin_copy
#include <locus/core/config.hpp>         // LOCUS_LEAN_BEGIN

LOCUS_LEAN_BEGIN

namespace locus::runtime {

/// means: bytes from one device to another; returns the point at which they have arrived (unset:
///        now) The receiving GPU's queue carries it, else the sending one's; host memory that is
///        read is free at return, or, where `pinned` says that it stays, when the copy has run.
///        Between cards that do not reach each other it goes by way of the
///        host.
inline stamp copy(logical_device& to, void* target, logical_device& from, void const* source,
                  std::int64_t bytes, queue_kind kind, step_record const& record,
                  bool pinned = false) {
  if (bytes == 0) return {};
  logical_device& carrier = to.how != backing::host ? to : from;
  if (has_arrivals()) {
    meet_arrivals(to, target, bytes, &carrier, kind);
    meet_arrivals(from, source, bytes, &carrier, kind);
  }
  work_scope scope;
  if (unsigned const w = watched() & work_watchers)
    begin_copy(scope, w, carrier, kind, to, from, bytes, record);
  copy_job const job{&carrier, kind,  &to, target, &from, source, static_cast<std::size_t>(bytes),
                     record,   pinned};
  return carrier.how == backing::host ? backend<backing::host>::copy(job)
                                      : gpus_of_program->copy(job);
}
/// means: what a copy from one device to the other needs of the host is there
inline void foresee_copy(logical_device& to, logical_device& from) {
  if (to.how != backing::host && from.how != backing::host) gpus_of_program->foresee_copy(to, from);
}
/// means: the host is about to touch these bytes     fails: bad_access, when a queue has not
///        finished with them
inline void check_host_access(void const* p, std::int64_t bytes, bool writes,
                              step_record const& record) {
  if (table.gpu_backing == backing::simulated && bytes > 0)
    gpus_of_program->check_host(p, static_cast<std::size_t>(bytes), writes, record);
}

}  // namespace locus::runtime

LOCUS_LEAN_END
