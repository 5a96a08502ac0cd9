// SPDX-License-Identifier: Apache-2.0
// Points on the queues of devices, and waits for them, on any machine.
#pragma once
#include <locus/core/macros.hpp>              // LOCUS_LEAN_BEGIN
#include <locus/machine/machine_of.hpp>       // machine_of
#include <locus/runtime/pending_results.hpp>  // take_arrivals
#include <locus/runtime/rank_queue.hpp>       // is_of_ranks

LOCUS_LEAN_BEGIN

namespace locus::runtime {

inline stamp mark(logical_device& d, queue_kind kind) { return machine_of(d).mark(d, kind); }
/// means: the host waits until the queue has reached s
/// fails: with the error of a kernel or of a reduction between ranks
inline void synchronize(stamp s) {
  if (!s.is_set()) return;
  if (!is_of_ranks(s)) return machine_of_gpus().synchronize(s);
  if (between_ranks) between_ranks->wait(s.ticket);
}
/// means: the next work of that queue runs after s; if d is the host, the host waits for s
inline void wait(logical_device& d, queue_kind kind, stamp s) {
  if (!s.is_set()) return;
  if (d.is_host() || is_of_ranks(s)) return synchronize(s);
  machine_of(d).wait(d, kind, s);
}
/// means: the host waits for the pending results of reductions between ranks in those bytes; host null:
///        for all of them
inline void meet_arrivals_of_host(logical_device const* host, void const* first,
                                  std::int64_t bytes) {
  struct met {
    stamp until;
    ~met() {
      if (until.is_set()) forget_arrivals(until);
    }
  } const last{last_arrival(host, first, bytes)};
  if (last.until.is_set()) synchronize(last.until);
}
/// means: the compute queue of d, or the host, waits for pending results
///        (runtime/pending_results.hpp) that arrive on d in those bytes; null: for all of d. The
///        queue `queue` of `user`, which will use the bytes, waits too.
/// cost:  one load if nothing is pending on any device
inline void meet_arrivals(logical_device& d, void const* first = nullptr, std::int64_t bytes = 0,
                          logical_device* user = nullptr, queue_kind queue = queue_kind::compute) {
  if (!has_arrivals()) return;
  if (d.is_host()) return meet_arrivals_of_host(&d, first, bytes);
  take_arrivals(d, first, bytes, [&](stamp s) {
    wait(d, queue_kind::compute, s);
    if (user && (user != &d || queue != queue_kind::compute)) wait(*user, queue, s);
  });
}
/// means: the host waits until all queues of a device are empty
inline void synchronize(logical_device& d) {
  for (queue_kind const kind : queue_kinds) synchronize(mark(d, kind));
}

}  // namespace locus::runtime

LOCUS_LEAN_END
