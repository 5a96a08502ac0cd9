// SPDX-License-Identifier: Apache-2.0
// Around work that is issued while somebody watches: a slice of the trace, a range of NVTX.
#pragma once
#include <utility>  // exchange

#include <locus/backend/far.hpp>       // gpus_of_program
#include <locus/core/clock.hpp>        // read_clock
#include <locus/core/config.hpp>       // LOCUS_COLD_BEGIN
#include <locus/core/json.hpp>         // json_text
#include <locus/device/name.hpp>       // text << device
#include <locus/runtime/cuda_api.hpp>  // gpu_api

LOCUS_COLD_BEGIN

namespace locus::runtime {

/// The watchers that want to hear of each piece of work.
inline constexpr unsigned work_watchers =
    static_cast<unsigned>(watcher::trace) | static_cast<unsigned>(watcher::ranges);

/// What work is called, and what a trace says besides.
struct work_label {
  std::string_view name, details;  // details: members of a JSON object
  device to{}, from{};             // of a copy
  device_list replicas{};          // of a collective
  bool behind_compute = false;     // it begins when the compute queue has come there
};

/// cost: nothing until begin is called; begin is called under a watcher alone
class work_scope {
 public:
  work_scope() = default;
  work_scope(work_scope const&) = delete;
  ~work_scope() {
    if (open_) end();
  }
  /// means: what is issued until the end of the scope, to that queue, is called so
  [[gnu::cold]] void begin(unsigned watchers, logical_device& d, queue_kind kind,
                           work_label const& label) noexcept try {
    on_ = &d, kind_ = kind, open_ = true;
    if (has_watcher(watchers, watcher::ranges)) push_range(label);
    if (!has_watcher(watchers, watcher::trace)) return;
    span_ = the_tracer().span(label.name, label.details);
    span_.replicas = label.replicas;
    if (d.how != backing::host) span_.to = label.to, span_.from = label.from;
    if (d.how == backing::host) begin_ = read_clock();
    if (d.how == backing::simulated) before_ = std::exchange(issued_as, &span_);
    if (d.how == backing::cuda)
      mark_ = gpus_of_program->mark_work(d, label.behind_compute ? queue_kind::compute : kind);
  } catch (...) {}  // no memory, or CUDA does not answer: the work itself will say so

 private:
  void push_range(work_label const& label) {
    if (!gpu_api || !gpu_api->range_push || on_->how == backing::simulated) return;
    text_buffer<256> text;
    gpu_api->range_push((text << label.name << " on " << on_->name).c_str());
    pushed_ = true;
  }
  [[gnu::cold]] void end() noexcept try {
    if (pushed_) gpu_api->range_pop();
    if (!span_.is_set()) return;
    if (on_->how == backing::host) the_tracer().ran(span_, host_track(), begin_, read_clock());
    if (on_->how == backing::simulated) issued_as = before_;
    if (on_->how == backing::cuda) gpus_of_program->add_work(span_, *on_, kind_, mark_);
  } catch (...) {}

  logical_device* on_ = nullptr;
  queue_kind kind_ = queue_kind::compute;
  bool open_ = false, pushed_ = false;
  trace_span span_{};
  trace_span const* before_ = nullptr;
  std::int64_t begin_ = 0;
  void* mark_ = nullptr;
};

/// means: bytes on their way, carried by a queue of one of the two devices
[[gnu::cold]] inline void begin_copy(work_scope& scope, unsigned watchers, logical_device& carrier,
                                     queue_kind kind, logical_device const& to,
                                     logical_device const& from, std::int64_t bytes,
                                     step_record const& record) {
  json_text details;
  text_buffer<16> target, source;
  details.member("bytes", bytes).member("from", (source << from.name).view());
  details.member("to", (target << to.name).view());
  if (record.number >= 0) details.member("step", record.number);
  work_label label{record.name, details.view()};
  label.to = to.name, label.from = from.name;
  scope.begin(watchers, carrier, kind, label);
}

}  // namespace locus::runtime

LOCUS_COLD_END
