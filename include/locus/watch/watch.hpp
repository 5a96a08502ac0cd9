// SPDX-License-Identifier: Apache-2.0
// The watchers of the program: one word of bits, which is zero without watchers.
#pragma once
#include <cstdint>  // int64_t

#include <locus/core/array.hpp>      // dynamic_array
#include <locus/core/call_site.hpp>  // call_site
#include <locus/core/clock.hpp>      // read_clock
#include <locus/core/lock.hpp>       // mutex
#include <locus/core/macros.hpp>     // LOCUS_SHARED_STATE

namespace locus::runtime {

/// The watchers, one bit each.
enum class watcher : unsigned {
  log = 1,      // the placement log
  trace = 2,    // a trace of what ran when
  ranges = 4,   // NVTX
  report = 8,   // LOCUS_EXPLAIN: a report of every plan at the end
  copies = 16,  // the copy policy, where it is not silent
  kept = 32,    // devices keep copies: writes must be known
  plans = 64,   // a thread listens to each plan that it runs (run/report.hpp)
};
constexpr unsigned operator|(watcher a, watcher b) {
  return static_cast<unsigned>(a) | static_cast<unsigned>(b);
}
constexpr unsigned operator|(unsigned set, watcher w) { return set | static_cast<unsigned>(w); }
/// The watchers of work: each launch, copy and collective is a span, or a range.
inline constexpr unsigned work_watchers = watcher::trace | watcher::ranges;
/// The watchers of the events of a run.
inline constexpr unsigned event_watchers = work_watchers | watcher::log;
LOCUS_SHARED_STATE inline constinit unsigned watching = 0;

inline unsigned watched() { return __atomic_load_n(&watching, __ATOMIC_RELAXED); }
constexpr bool has_watcher(unsigned set, watcher w) {
  return (set & static_cast<unsigned>(w)) != 0;
}
inline bool is_watched(watcher w) { return has_watcher(watched(), w); }
inline void set_watcher(watcher w, bool on) {
  auto const bit = static_cast<unsigned>(w);
  if (on)
    __atomic_fetch_or(&watching, bit, __ATOMIC_RELAXED);
  else
    __atomic_fetch_and(&watching, ~bit, __ATOMIC_RELAXED);
}
/// Held while a setting and the bit of its watcher change together.
LOCUS_SHARED_STATE inline constinit mutex watchers_lock;
/// means: setting = value, and sets or clears the watcher's bit, as one change
template <class T>
void set_watched(watcher w, bool on, T& setting, T value) {
  lock_guard hold(watchers_lock);
  __atomic_store(&setting, &value, __ATOMIC_RELAXED);
  set_watcher(w, on);
}

/// means: the address of the caller, if there is a watcher; for operators, which take no call_site
[[gnu::always_inline]] inline call_site site_of_operator() {
  return __builtin_expect(watched() != 0, 0) ? call_site::of_code(code_here()) : call_site{};
}

/// units: nanoseconds since the first call, which is made with the device table
LOCUS_SHARED_STATE inline std::int64_t time_since_start() {
  static std::int64_t const start = read_clock();
  return read_clock() - start;
}

/// means: true at the first call with this `what` and call site
/// cost:  a search, so only for logs
[[gnu::cold]] LOCUS_SHARED_STATE inline bool first_time(void const* what, call_site where) {
  struct entry {
    void const* what = nullptr;
    call_site where;
  };
  struct memory {
    mutex lock;
    dynamic_array<entry> entries;
  };
  static memory* const seen = new memory;  // never destroyed: tensors outlive static objects
  lock_guard hold(seen->lock);
  for (entry const& e : seen->entries)
    if (e.what == what && e.where == where) return false;
  seen->entries.push({what, where});
  return true;
}

}  // namespace locus::runtime
