// SPDX-License-Identifier: Apache-2.0
// Times of GPU work for a trace: pairs of events, whose times are read later.
#pragma once

#include <locus/core/macros.hpp>  // LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/watch/trace.hpp>  // trace_span, trace_track

LOCUS_COLD_BEGIN

namespace locus::runtime {

/// No function throws: work whose time CUDA refuses is counted as lost. The lock is held during
/// queries, so that a stream is closed after the queries about it.
class cuda_timing {
 public:
  /// means: records an event after all work of the stream; the card is CUDA's current device
  [[gnu::cold]] void* mark(short card, void* stream) noexcept;
  /// means: the work of the span ran between the two marks
  [[gnu::cold]] void add(trace_span const& s, trace_track const& on, short card, void* begin,
                         void* end) noexcept;
  /// means: waits until all times are read
  [[gnu::cold]] void finish() noexcept;
  /// means: reads all times and drops the events of a card whose streams are about to close
  void forget(short card) noexcept;

 private:
  static constexpr std::size_t most_pending = 4096;
  struct pending {
    trace_span span{};
    trace_track on{};
    short card = -1;
    void *begin = nullptr, *end = nullptr;
  };
  struct card_event {
    short card = -1;
    void* event = nullptr;
    std::int64_t time = 0;  // of a base: time of the host's clock
  };
  void* take_event(short card);
  card_event* base_of(short card);
  /// makes the base of a card: an event whose time on the host's clock is known
  void find_base(short card, void* stream);
  static bool nanoseconds_between(void* begin, void* end, std::int64_t& out);
  /// reads the times of the first n spans; the last event of a card becomes its base, so that
  /// differences stay small
  void resolve(std::size_t n);

  mutex lock_;
  dynamic_array<pending> pending_;
  dynamic_array<card_event> bases_, free_;
};
/// Never destroyed: streams may close when the program ends.
LOCUS_SHARED_STATE inline cuda_timing& the_cuda_timing() {
  static cuda_timing* const t = new cuda_timing;
  return *t;
}

}  // namespace locus::runtime

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/backend/cuda/bodies/timing.hpp>  // bodies of the functions above
#endif
