// SPDX-License-Identifier: Apache-2.0
// The begin and the end of an event that takes time: the sinks are the log, a span of the trace, a
// range of NVTX.
#pragma once

#include <locus/core/macros.hpp>          // LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/machine/launch_site.hpp>  // logical_device
#include <locus/watch/event.hpp>          // run_event
#include <locus/watch/trace.hpp>          // trace_span
#include <locus/watch/watch.hpp>          // watcher

LOCUS_COLD_BEGIN

namespace locus::runtime {

/// cost: nothing before begin; call begin only under a watcher
class event_scope {
 public:
  event_scope() = default;
  event_scope(event_scope const&) = delete;
  ~event_scope() {
    if (on_) end();
  }
  /// means: tells the sinks of e, which lasts until the end of the scope: work that is issued to
  ///        that queue of d. The span of a collective begins behind the compute queue. Errors (no
  ///        memory, CUDA) are dropped: the work itself reports them
  [[gnu::cold]] void begin(unsigned watchers, run_event& e, logical_device& d,
                           queue_kind queue = queue_kind::compute) noexcept;

 private:
  void push_range(std::string_view name);
  [[gnu::cold]] void end() noexcept;

  logical_device* on_ = nullptr;  // null: no span and no range
  queue_kind queue_ = queue_kind::compute;
  bool pushed_ = false;
  bool beside_ = false;  // the thread between ranks does the work
  trace_span span_{};
  std::int64_t begin_ = 0;
  void* mark_ = nullptr;  // of the machine's begin_span
};

/// means: begins a scope around a copy that a queue of `carrier` carries
[[gnu::cold]] LOCUS_FUNCTION void begin_copy(event_scope& scope, unsigned watchers,
                                             logical_device& carrier, queue_kind queue,
                                             logical_device const& to, logical_device const& from,
                                             std::int64_t bytes, step_record const& record);

}  // namespace locus::runtime

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/machine/bodies/event_scope.hpp>  // bodies of the functions above
#endif
