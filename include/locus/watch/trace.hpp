// SPDX-License-Identifier: Apache-2.0
// A trace: which work ran when, and on which track. Kept in memory up to a limit.
#pragma once
#include <locus/core/lock.hpp>             // mutex
#include <locus/core/macros.hpp>           // LOCUS_SHARED_STATE, LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/core/text_pool.hpp>        // text_pool
#include <locus/device/device.hpp>         // device, device_list
#include <locus/runtime/device_table.hpp>  // queue_kind

LOCUS_COLD_BEGIN

namespace locus::runtime {

/// A row of the trace: a thread of the host, or a queue of a device.
struct trace_track {
  enum kind : short {
    thread,
    compute,
    copy,
    communication,
    collective,
    peer_copy,           // the peer of copies on the copy queue of `beside`
    peer_communication,  // the peer of copies on the communication queue of `beside`
  };
  kind what = thread;
  device of{}, beside{};
  int number = 0;  // of a thread of the host, from 0
  friend constexpr bool operator==(trace_track const&, trace_track const&) = default;
  /// the order of the rows; those of threads come first, and have numbers up to 2 10^8
  constexpr long order() const {
    long const device = of.is_none() ? 0 : of.is_gpu() ? 200 + of.ordinal() : 100 + of.ordinal();
    long const other = beside.is_none() ? 0 : 1 + beside.ordinal() + (beside.is_gpu() ? 100 : 0);
    return ((device * 8 + what) * 256 + other) * 1024 + number + 1;
  }
};

/// The name of a piece of work, made when it is issued; its times are known after it has run.
struct trace_span {
  int name = -1, details = -1;  // numbers of texts of the trace; -1: not traced
  unsigned trace = 0;           // number of the trace
  device to{}, from{};          // of a copy
  device_list replicas{};       // of a collective
  bool is_set() const { return name >= 0; }
};

struct trace_options {
  std::size_t max_events = 400'000;  // 56 bytes each; further events are only counted
};

/// means: the events of a trace, in memory until it is written
/// cost:  a lock and 56 bytes for each event
class tracer {
 public:
  struct event {
    std::int64_t start = 0;     // nanoseconds of the clock
    std::int64_t duration = 0;  // of a counter: its value
    trace_track track{};
    int name = -1, details = -1;
    int flow = 0;  // arrows: > 0 starts here, < 0 ends here
    bool counter = false;
  };

  /// means: begins a trace; the file is written when it stops     fails: never
  void start(trace_options const& options);
  /// means: names work that will run; `details` are further JSON members
  [[gnu::cold]] trace_span span(std::string_view name, std::string_view details);
  /// means: adds an event: the work of `s` ran on that track from begin to end
  [[gnu::cold]] void ran(trace_span const& s, trace_track const& on, std::int64_t begin,
                         std::int64_t end);
  /// units: bytes in use
  [[gnu::cold]] void memory(device of, std::int64_t bytes);
  /// counts work that entered a queue (+) or left it (-)
  void waits(int change) { __atomic_fetch_add(&waiting_, change, __ATOMIC_RELAXED); }
  /// counts work whose times are not known
  void lost();

  mutex& lock() { return lock_; }
  dynamic_array<event>& events() { return events_; }
  text_pool const& texts() const { return texts_; }
  std::int64_t begin() const { return begin_; }
  std::size_t dropped() const { return dropped_; }
  std::size_t unknown() const {
    return unknown_ + static_cast<std::size_t>(__atomic_load_n(&waiting_, __ATOMIC_RELAXED));
  }

 private:
  void add(event const& e);
  mutex lock_;
  dynamic_array<event> events_;
  text_pool texts_;
  std::int64_t begin_ = 0;
  std::size_t limit_ = 0, dropped_ = 0, unknown_ = 0;
  int flows_ = 0, waiting_ = 0;
  unsigned number_ = 0;
};
/// The tracer of the process. Never destroyed: work may run until the very end.
LOCUS_SHARED_STATE inline tracer& the_tracer() {
  static tracer* const t = new tracer;
  return *t;
}

/// means: the track of a device's queue
constexpr trace_track track_of(device d, queue_kind kind) {
  constexpr trace_track::kind tracks[] = {trace_track::compute, trace_track::copy,
                                          trace_track::communication};
  return {tracks[static_cast<int>(kind)], d, {}, 0};
}
/// means: the track of the calling thread
LOCUS_SHARED_STATE inline trace_track host_track() {
  static constinit int threads = 0;
  static thread_local int const mine = __atomic_fetch_add(&threads, 1, __ATOMIC_RELAXED);
  return {trace_track::thread, {}, {}, mine};
}

/// The span of the work that this thread issues now, for queues that run it later.
LOCUS_SHARED_STATE inline thread_local constinit trace_span const* issued_as = nullptr;

}  // namespace locus::runtime

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/watch/bodies/trace.hpp>  // bodies of the functions above
#endif
