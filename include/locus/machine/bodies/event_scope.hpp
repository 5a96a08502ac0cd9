// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that machine/event_scope.hpp declares.
#pragma once
#include <locus/core/clock.hpp>           // read_clock
#include <locus/core/json.hpp>            // json_text
#include <locus/core/macros.hpp>          // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/machine/event_scope.hpp>  // the declarations
#include <locus/machine/machine_of.hpp>   // machine_of
#include <locus/runtime/cuda_api.hpp>     // gpu_api
#include <locus/runtime/rank_queue.hpp>   // between_ranks
#include <locus/watch/log.hpp>            // log

LOCUS_COLD_BEGIN

namespace locus::runtime {

LOCUS_FUNCTION void event_scope::begin(unsigned watchers, run_event& e, logical_device& d,
                                       queue_kind queue) noexcept try {
  if (has_watcher(watchers, watcher::log)) log(e);
  if ((watchers & work_watchers) == 0) return;
  on_ = &d, queue_ = queue;
  if (has_watcher(watchers, watcher::ranges)) push_range(e.name);
  if (!has_watcher(watchers, watcher::trace)) return;
  json_text details;
  write_details(details, e);
  span_ = the_tracer().span(e.name, details.view());
  if (e.kind == event_kind::collective) span_.replicas = e.over.asked.devices;
  beside_ = between_ranks && d.is_host() && e.kind == event_kind::collective &&
            queue == queue_kind::communication;
  if (beside_) return between_ranks->mark(span_, false);
  if (d.is_host()) {
    begin_ = read_clock();
    return;
  }
  if (e.kind == event_kind::copy) span_.to = e.on.used, span_.from = e.from.used;
  mark_ = machine_of(d).begin_span(
      d, e.kind == event_kind::collective ? queue_kind::compute : queue, span_);
} catch (...) {}

LOCUS_FUNCTION void event_scope::push_range(std::string_view name) {
  if (!gpu_api || !gpu_api->range_push || on_->is_simulated()) return;
  text_buffer<256> text;
  gpu_api->range_push((text << name << " on " << on_->name).c_str());
  pushed_ = true;
}

LOCUS_FUNCTION void event_scope::end() noexcept try {
  if (pushed_) gpu_api->range_pop();
  if (!span_.is_set()) return;
  if (beside_) return between_ranks->mark(span_, true);
  if (on_->is_host())
    the_tracer().ran(span_, host_track(), begin_, read_clock());
  else
    machine_of(*on_).end_span(*on_, queue_, span_, mark_);
} catch (...) {}

LOCUS_FUNCTION void begin_copy(event_scope& scope, unsigned watchers, logical_device& carrier,
                               queue_kind queue, logical_device const& to,
                               logical_device const& from, std::int64_t bytes,
                               step_record const& record) {
  run_event e{.kind = event_kind::copy, .step = record.number, .name = record.name};
  e.on.used = to.name, e.from.used = from.name, e.bytes = bytes;
  scope.begin(watchers, e, carrier, queue);
}

}  // namespace locus::runtime

LOCUS_COLD_END
