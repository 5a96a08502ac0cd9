// SPDX-License-Identifier: Apache-2.0
// Pending results: collectives write them on another queue after the plan was issued. The compute
// queue goes on, and the next access to these bytes waits for them first.
#pragma once
#include <locus/core/array.hpp>            // dynamic_array
#include <locus/core/lock.hpp>             // mutex
#include <locus/core/macros.hpp>           // LOCUS_SHARED_STATE, LOCUS_COLD_BEGIN
#include <locus/runtime/device_table.hpp>  // logical_device, stamp

LOCUS_COLD_BEGIN

namespace locus::runtime {

/// Bytes of a device, or of the host, that are complete at `when`, a point of a queue other than the
/// compute queue.
struct arrival {
  logical_device* on = nullptr;
  char const* first = nullptr;
  std::int64_t bytes = 0;
  stamp when{};
};
struct arrival_list {
  mutex lock;
  dynamic_array<arrival> all;
};
LOCUS_SHARED_STATE inline arrival_list& arrivals() {
  static arrival_list* const list = new arrival_list;  // never destroyed
  return *list;
}
LOCUS_SHARED_STATE inline constinit int arrival_count = 0;

/// cost: a load
inline bool has_arrivals() { return __atomic_load_n(&arrival_count, __ATOMIC_RELAXED) != 0; }

/// means: registers pending bytes: they are not ordered in the compute queue before take_arrivals()
inline void leave_arrival(arrival const& a) {
  arrival_list& list = arrivals();
  lock_guard hold(list.lock);
  list.all.push(a);
  __atomic_store_n(&arrival_count, static_cast<int>(list.all.size()), __ATOMIC_RELAXED);
}
/// means: removes the pending results on d that overlap [first, first + bytes), and calls
///        visit(stamp) for each; first null: all on d
template <class Visit>
void take_arrivals(logical_device const& d, void const* first, std::int64_t bytes,
                   Visit const& visit) {
  auto const* const begin = static_cast<char const*>(first);
  arrival_list& list = arrivals();
  lock_guard hold(list.lock);
  for (std::size_t k = 0; k < list.all.size();) {
    arrival const a = list.all[k];
    bool const mine =
        a.on == &d && (!begin || (a.first < begin + bytes && begin < a.first + a.bytes));
    if (!mine) {
      ++k;
      continue;
    }
    visit(a.when);
    list.all.remove(k);
  }
  __atomic_store_n(&arrival_count, static_cast<int>(list.all.size()), __ATOMIC_RELAXED);
}
/// means: the last point at which pending results on the host overlap [first, first + bytes); first
///        null: all on it; host null: on any that is the host; unset: there are none
inline stamp last_arrival(logical_device const* host, void const* first, std::int64_t bytes) {
  auto const* const begin = static_cast<char const*>(first);
  stamp last;
  arrival_list& list = arrivals();
  lock_guard hold(list.lock);
  for (arrival const& a : list.all)
    if (a.on->is_host() && (!host || a.on == host) &&
        (!begin || (a.first < begin + bytes && begin < a.first + a.bytes)) &&
        a.when.ticket > last.ticket)
      last = a.when;
  return last;
}
/// means: removes the pending results of the queue of `until`, up to that point
inline void forget_arrivals(stamp until) noexcept {
  arrival_list& list = arrivals();
  lock_guard hold(list.lock);
  for (std::size_t k = list.all.size(); k-- > 0;)
    if (list.all[k].when.queue == until.queue && list.all[k].when.ticket <= until.ticket)
      list.all.remove(k);
  __atomic_store_n(&arrival_count, static_cast<int>(list.all.size()), __ATOMIC_RELAXED);
}
/// Results on the host may be pending when a plan of this thread ends (run/late_results.hpp).
LOCUS_SHARED_STATE inline thread_local constinit bool may_be_late = false;
/// means: removes all pending results, when devices end
inline void forget_arrivals() noexcept {
  if (!has_arrivals()) return;
  arrival_list& list = arrivals();
  lock_guard hold(list.lock);
  list.all.clear();
  __atomic_store_n(&arrival_count, 0, __ATOMIC_RELAXED);
}

}  // namespace locus::runtime

LOCUS_COLD_END
