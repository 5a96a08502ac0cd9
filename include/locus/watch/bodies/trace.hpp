// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that watch/trace.hpp declares.
#pragma once
#include <locus/core/clock.hpp>   // read_clock
#include <locus/core/macros.hpp>  // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/watch/trace.hpp>  // the declarations

LOCUS_COLD_BEGIN

namespace locus::runtime {

LOCUS_FUNCTION void tracer::start(trace_options const& options) {
  lock_guard hold(lock_);
  events_.clear(), texts_.clear();
  dropped_ = 0, flows_ = 0, unknown_ = 0;
  limit_ = options.max_events;
  begin_ = read_clock();
  ++number_;
}

LOCUS_FUNCTION trace_span tracer::span(std::string_view name, std::string_view details) {
  lock_guard hold(lock_);
  trace_span s;
  s.trace = number_;
  if (events_.size() >= limit_) {  // the event would be dropped
    s.name = s.details = 0;
    if (texts_.size() > 0) return s;
  }
  s.name = texts_.number_of(name), s.details = texts_.number_of(details);
  return s;
}

LOCUS_FUNCTION void tracer::ran(trace_span const& s, trace_track const& on, std::int64_t begin,
                                std::int64_t end) {
  lock_guard hold(lock_);
  if (s.trace != number_) return;  // issued for an earlier trace
  event e{begin, end - begin, on, s.name, s.details, 0, false};
  bool const crosses = !s.to.is_none() && !(s.to == s.from);
  if (crosses) e.flow = on.of == s.from ? flows_ + 1 : -(flows_ + 1);
  add(e);
  if (crosses) {
    e.track = {on.what == trace_track::communication ? trace_track::peer_communication
                                                     : trace_track::peer_copy,
               on.of == s.from ? s.to : s.from, on.of, 0};
    e.flow = -e.flow;
    add(e);
    ++flows_;
  }
  for (int r = 0; r < s.replicas.size(); ++r) {
    e.track = {trace_track::collective, s.replicas[r], {}, 0};
    add(e);
  }
}

LOCUS_FUNCTION void tracer::memory(device of, std::int64_t bytes) {
  lock_guard hold(lock_);
  add({read_clock(), bytes, {trace_track::compute, of, {}, 0}, -1, -1, 0, true});
}

LOCUS_FUNCTION void tracer::lost() {
  lock_guard hold(lock_);
  ++unknown_;
}

LOCUS_FUNCTION void tracer::add(event const& e) {
  if (events_.size() < limit_)
    events_.push(e);
  else
    ++dropped_;
}

}  // namespace locus::runtime

LOCUS_COLD_END
