// SPDX-License-Identifier: Apache-2.0
// Results that still arrive, beside the compute queue of their device, when the plan that owes them
// has been issued: the compute queue goes on, and whoever touches those bytes waits for them first.
#pragma once
#include <locus/core/array.hpp>            // dynamic_array
#include <locus/core/lock.hpp>             // mutex
#include <locus/core/macros.hpp>           // LOCUS_SHARED_STATE, LOCUS_COLD_BEGIN
#include <locus/runtime/device_table.hpp>  // logical_device, stamp

LOCUS_COLD_BEGIN

namespace locus::runtime {

/// Bytes of a device that are complete at `when`, a point of another queue than its compute queue.
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
  static arrival_list* const list = new arrival_list;  // as long as the process
  return *list;
}
LOCUS_SHARED_STATE inline constinit int arrival_count = 0;

/// cost: a load
inline bool has_arrivals() { return __atomic_load_n(&arrival_count, __ATOMIC_RELAXED) != 0; }

/// means: those bytes are not in the order of the compute queue until somebody asks for them
inline void leave_arrival(arrival const& a) {
  arrival_list& list = arrivals();
  lock_guard hold(list.lock);
  list.all.push(a);
  __atomic_store_n(&arrival_count, static_cast<int>(list.all.size()), __ATOMIC_RELAXED);
}
/// means: visit(stamp) for whatever arrives on d in [first, first + bytes), which is then nobody's
///        concern any more; null: anywhere on d
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
/// means: the devices end: nothing arrives any more
inline void forget_arrivals() noexcept {
  if (!has_arrivals()) return;
  arrival_list& list = arrivals();
  lock_guard hold(list.lock);
  list.all.clear();
  __atomic_store_n(&arrival_count, 0, __ATOMIC_RELAXED);
}

}  // namespace locus::runtime

LOCUS_COLD_END
