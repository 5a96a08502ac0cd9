// SPDX-License-Identifier: Apache-2.0
// A span of the trace and a range of NVTX around work that is issued while a watcher listens.
#pragma once

#include <locus/core/macros.hpp>          // LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/device/device.hpp>        // device
#include <locus/device/name.hpp>          // text << device
#include <locus/machine/launch_site.hpp>  // logical_device
#include <locus/watch/trace.hpp>          // trace_span
#include <locus/watch/watch.hpp>          // watcher

LOCUS_COLD_BEGIN

namespace locus::runtime {

/// The watchers that hear of each piece of work.
inline constexpr unsigned work_watchers =
    static_cast<unsigned>(watcher::trace) | static_cast<unsigned>(watcher::ranges);

/// The name of a piece of work, and its other facts in a trace.
struct work_label {
  std::string_view name, details;  // details: members of a JSON object
  device to{}, from{};             // of a copy
  device_list replicas{};          // of a collective
  bool behind_compute = false;     // the span starts on the compute queue, not on its own queue
};

/// cost: nothing before begin; call begin only under a watcher
class work_scope {
 public:
  work_scope() = default;
  work_scope(work_scope const&) = delete;
  ~work_scope() {
    if (open_) end();
  }
  /// means: labels the work that is issued to that queue until the end of the scope
  [[gnu::cold]] void begin(
      unsigned watchers, logical_device& d, queue_kind kind,
      work_label const&
          label) noexcept;  // drops its errors (no memory, CUDA): the work itself reports them

 private:
  void push_range(work_label const& label);
  [[gnu::cold]] void end() noexcept;

  logical_device* on_ = nullptr;
  queue_kind kind_ = queue_kind::compute;
  bool open_ = false, pushed_ = false;
  trace_span span_{};
  std::int64_t begin_ = 0;
  void* mark_ = nullptr;  // of the machine's begin_span
};

/// means: begins a scope around a copy that a queue of `carrier` carries
[[gnu::cold]] LOCUS_FUNCTION void begin_copy(work_scope& scope, unsigned watchers,
                                             logical_device& carrier, queue_kind kind,
                                             logical_device const& to, logical_device const& from,
                                             std::int64_t bytes, step_record const& record);

}  // namespace locus::runtime

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/machine/bodies/work_scope.hpp>  // bodies of the functions above
#endif
