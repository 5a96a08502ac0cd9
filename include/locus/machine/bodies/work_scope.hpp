// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that machine/work_scope.hpp declares.
#pragma once
#include <locus/core/clock.hpp>          // read_clock
#include <locus/core/json.hpp>           // json_text
#include <locus/core/macros.hpp>         // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/machine/machine_of.hpp>  // machine_of
#include <locus/machine/work_scope.hpp>  // the declarations
#include <locus/runtime/cuda_api.hpp>    // gpu_api

LOCUS_COLD_BEGIN

namespace locus::runtime {

LOCUS_FUNCTION void work_scope::begin(unsigned watchers, logical_device& d, queue_kind kind,
                                      work_label const& label) noexcept try {
  on_ = &d, kind_ = kind, open_ = true;
  if (has_watcher(watchers, watcher::ranges)) push_range(label);
  if (!has_watcher(watchers, watcher::trace)) return;
  span_ = the_tracer().span(label.name, label.details);
  span_.replicas = label.replicas;
  if (!d.is_host()) span_.to = label.to, span_.from = label.from;
  if (d.is_host())
    begin_ = read_clock();
  else
    mark_ = machine_of(d).begin_span(d, label.behind_compute ? queue_kind::compute : kind, span_);
} catch (...) {}

LOCUS_FUNCTION void work_scope::push_range(work_label const& label) {
  if (!gpu_api || !gpu_api->range_push || on_->is_simulated()) return;
  text_buffer<256> text;
  gpu_api->range_push((text << label.name << " on " << on_->name).c_str());
  pushed_ = true;
}

LOCUS_FUNCTION void work_scope::end() noexcept try {
  if (pushed_) gpu_api->range_pop();
  if (!span_.is_set()) return;
  if (on_->is_host())
    the_tracer().ran(span_, host_track(), begin_, read_clock());
  else
    machine_of(*on_).end_span(*on_, kind_, span_, mark_);
} catch (...) {}

LOCUS_FUNCTION void begin_copy(work_scope& scope, unsigned watchers, logical_device& carrier,
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
