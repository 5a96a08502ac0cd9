// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that backend/cuda/timing.hpp declares.
#pragma once
#include <cstdio>   // remove
#include <utility>  // swap

#include <locus/backend/cuda/timing.hpp>  // the declarations
#include <locus/core/clock.hpp>           // read_clock
#include <locus/core/macros.hpp>          // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/machine/card_scope.hpp>   // card_scope
#include <locus/runtime/cuda_api.hpp>     // gpu_api

LOCUS_COLD_BEGIN

namespace locus::runtime {

LOCUS_FUNCTION void* cuda_timing::mark(short card, void* stream) noexcept try {
  lock_guard hold(lock_);
  find_base(card, stream);
  void* const e = take_event(card);
  if (e && gpu_api->event_record(e, stream) == 0) return e;
  if (e) free_.push({card, e});
  return nullptr;
} catch (...) {
  return nullptr;
}

LOCUS_FUNCTION void cuda_timing::add(trace_span const& s, trace_track const& on, short card,
                                     void* begin, void* end) noexcept try {
  lock_guard hold(lock_);
  pending_.push({s, on, card, begin, end});
  if (pending_.size() > most_pending) resolve(most_pending / 2);
} catch (...) {}

LOCUS_FUNCTION void cuda_timing::finish() noexcept try {
  lock_guard hold(lock_);
  resolve(pending_.size());
} catch (...) {}

LOCUS_FUNCTION void cuda_timing::forget(short card) noexcept try {
  lock_guard hold(lock_);
  if (bases_.empty() && free_.empty() && pending_.empty()) return;
  resolve(pending_.size());
  card_scope const scope(card);
  for (std::size_t i = bases_.size(); i-- > 0;)
    if (bases_[i].card == card) gpu_api->event_destroy(bases_[i].event), bases_.remove(i);
  for (std::size_t i = free_.size(); i-- > 0;)
    if (free_[i].card == card) gpu_api->event_destroy(free_[i].event), free_.remove(i);
} catch (...) {}

LOCUS_FUNCTION void* cuda_timing::take_event(short card) {
  for (std::size_t i = free_.size(); i-- > 0;)
    if (free_[i].card == card) {
      void* const e = free_[i].event;
      free_.remove(i);
      return e;
    }
  void* e = nullptr;
  return gpu_api->timed_event_create(&e) == 0 ? e : nullptr;
}

LOCUS_FUNCTION cuda_timing::card_event* cuda_timing::base_of(short card) {
  for (card_event& b : bases_)
    if (b.card == card) return &b;
  return nullptr;
}

LOCUS_FUNCTION void cuda_timing::find_base(short card, void* stream) {
  if (base_of(card)) return;
  void* const e = take_event(card);
  if (!e) return;
  if (gpu_api->event_record(e, stream) != 0 || gpu_api->event_synchronize(e) != 0) {
    free_.push({card, e});
    return;
  }
  bases_.push({card, e, read_clock()});
}

LOCUS_FUNCTION bool cuda_timing::nanoseconds_between(void* begin, void* end, std::int64_t& out) {
  float milliseconds = 0;
  if (gpu_api->event_elapsed(&milliseconds, begin, end) != 0) return false;
  out = static_cast<std::int64_t>(static_cast<double>(milliseconds) * 1e6);
  return true;
}

LOCUS_FUNCTION void cuda_timing::resolve(std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    pending& p = pending_[i];
    card_scope const scope(p.card);
    card_event* const base = base_of(p.card);
    std::int64_t begin = 0, length = 0;
    if (base && p.begin && p.end && gpu_api->event_synchronize(p.end) == 0 &&
        nanoseconds_between(base->event, p.begin, begin) &&
        nanoseconds_between(p.begin, p.end, length)) {
      begin += base->time;
      the_tracer().ran(p.span, p.on, begin, begin + length);
      base->time = begin + length;
      std::swap(base->event, p.end);
    } else {
      gpu_api->last_error();
      the_tracer().lost();
    }
    if (p.begin) free_.push({p.card, p.begin});
    if (p.end) free_.push({p.card, p.end});
  }
  for (std::size_t i = n; i < pending_.size(); ++i) pending_[i - n] = pending_[i];
  pending_.resize(pending_.size() - n);
}

}  // namespace locus::runtime

LOCUS_COLD_END
