// SPDX-License-Identifier: Apache-2.0
// compress on a GPU: CUB selects the elements of a list, or the numbers of rows, and a thread copies
// each element of these.
#pragma once
#include <locus/algorithms/kept_card.hpp>     // keep, require_selection
#include <locus/core/macros.hpp>              // LOCUS_HOST_DEVICE, LOCUS_MODE
#include <locus/engine/gpu/card_context.hpp>  // card_context
#include <locus/engine/gpu/lines.hpp>         // quotient

namespace locus::algorithms::cards {
inline namespace LOCUS_MODE {

/// Element k of the result (outer, room, inner).
template <class T>
struct compressed_rows {
  cuda_side::quotient inner, room;
  std::int64_t n;
  kept_numbers kept;
  T const* x;
  T* r;
  LOCUS_HOST_DEVICE void operator()(std::int64_t k) const {
    std::int64_t c = k;
    std::int64_t j = inner.divide(c);
    std::int64_t const o = room.divide(j);
    r[k] = j < *kept.count ? x[(o * n + kept.numbers[j]) * inner.wide + c] : T(0);
  }
};

template <class T>
struct zeros_behind {
  std::int64_t const* count;
  T* r;
  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    if (i >= *count) r[i] = T(0);
  }
};

/// means: as host::compress_rows, bit for bit; the number of rows goes to `count`, if it is not null
/// shape: fewer than 2^31 - 1 rows
template <class T>
void compress_rows(card_context& here, T const* x, bool const* mask, T* r, std::int64_t* count,
                   std::int64_t outer, std::int64_t n, std::int64_t inner, std::int64_t room) {
  here.needs(cuda_side::select_numbers<std::int32_t>{});
  bool const is_list = outer == 1 && inner == 1 && n > 0 && n <= room;
  if (is_list && r && here.has(cuda_side::select_flagged<T>{})) {
    require_selection(n);
    std::int64_t* const number = count ? count : here.take<std::int64_t>(1);
    here.run(cuda_side::select_flagged<T>{n, x, mask, r, number});
    here.each(room, zeros_behind<T>{number, r});
    return;
  }
  kept_numbers const kept = keep(here, n, mask, count);
  std::int64_t const size = outer * room * inner;
  if (size > 0 && (r || here.measuring()))
    here.each(size, compressed_rows<T>{{inner, size}, {room, outer * room}, n, kept, x, r});
}

}  // namespace LOCUS_MODE
}  // namespace locus::algorithms::cards
