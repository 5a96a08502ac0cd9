// SPDX-License-Identifier: Apache-2.0
// Copies and queues of a device, whatever stands behind it.
#pragma once
#include <locus/backend/devices.hpp>  // on_side

namespace locus::runtime {

inline stamp mark(logical_device& d, queue_kind kind) {
  return on_side(d.how, [&](auto side) { return side.mark(d, kind); });
}
/// means: the host goes on when s has run
inline void synchronize(stamp s) {
  if (s.is_set()) on_side(table.gpu_backing, [&](auto side) { side.synchronize(s); });
}
/// means: the next work of that queue (of the host, on the host) comes after s
inline void wait(logical_device& d, queue_kind kind, stamp s) {
  if (!s.is_set()) return;
  if (d.how == backing::host) return synchronize(s);
  on_side(d.how, [&](auto side) { side.wait(d, kind, s); });
}
/// means: waits until a device has finished everything
inline void synchronize(logical_device& d) {
  synchronize(mark(d, queue_kind::compute));
  synchronize(mark(d, queue_kind::copy));
}
/// means: bytes from one device to another; returns the point at which they have arrived (unset:
///        now) The receiving GPU's queue carries it, else the sending one's; host memory that is
///        read is free at return.
inline stamp copy(logical_device& to, void* target, logical_device& from, void const* source,
                  std::int64_t bytes, queue_kind kind, step_record const& record) {
  if (bytes == 0) return {};
  logical_device& carrier = to.how != backing::host ? to : from;
  copy_job const job{&carrier, kind, &to, target, &from, source, static_cast<std::size_t>(bytes),
                     record};
  return on_side(carrier.how, [&](auto side) { return side.copy(job); });
}
/// means: the host is about to touch these bytes     fails: bad_access, when a queue has not
///        finished with them
inline void check_host_access(void const* p, std::int64_t bytes, bool writes,
                              step_record const& record) {
  if (table.gpu_backing == backing::simulated && bytes > 0)
    simulated::gpus().check_host(p, static_cast<std::size_t>(bytes), writes, record);
}

}  // namespace locus::runtime
