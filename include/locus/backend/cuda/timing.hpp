// SPDX-License-Identifier: Apache-2.0
// When GPUs ran what a trace shows: pairs of events, asked for their times later.
#pragma once

#include <locus/core/macros.hpp>  // LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/watch/trace.hpp>  // trace_span, trace_track

LOCUS_COLD_BEGIN

namespace locus::runtime {

/// Nothing here throws: what CUDA refuses is work without a time. The lock is held while CUDA is
/// asked, so that a stream closes behind what was asked about it.
class cuda_timing {
 public:
  /// means: an event behind all that the stream was given; the card is CUDA's current device
  [[gnu::cold]] void* mark(short card, void* stream) noexcept;
  /// means: what that span is called ran between two marks
  [[gnu::cold]] void add(trace_span const& s, trace_track const& on, short card, void* begin,
                         void* end) noexcept;
  /// means: all times are known
  [[gnu::cold]] void finish() noexcept;
  /// means: the card's streams end: nothing of it is left
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
    std::int64_t time = 0;  // of a base: by the clock of the host
  };
  void* take_event(short card);
  card_event* base_of(short card);
  /// an event whose time the host knows
  void find_base(short card, void* stream);
  static bool nanoseconds_between(void* begin, void* end, std::int64_t& out);
  /// the first n; the last event of a card is its base from then on, so that distances stay short
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
