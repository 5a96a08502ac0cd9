// SPDX-License-Identifier: Apache-2.0
// nonzero on a GPU: CUB selects the numbers of the elements, then a thread writes each place.
#pragma once
#include <locus/algorithms/kept_card.hpp>     // keep
#include <locus/algorithms/places.hpp>        // is_not_zero, unravel_into
#include <locus/core/macros.hpp>              // LOCUS_HOST_DEVICE, LOCUS_MODE
#include <locus/engine/gpu/card_context.hpp>  // card_context
#include <locus/shape/shape.hpp>              // shape

namespace locus::algorithms::cards {
inline namespace LOCUS_MODE {

template <class T>
struct flags_of_elements {
  T const* x;
  bool* flags;
  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const { flags[i] = is_not_zero(x[i]); }
};
/// Row k of the result (room, rank).
template <class Number>
struct stored_places {
  shape extents;
  kept_numbers kept;
  Number* r;
  LOCUS_HOST_DEVICE void operator()(std::int64_t k) const {
    Number* const place = r + k * extents.rank;
    if (k < *kept.count) return unravel_into(place, kept.numbers[k], extents);
    for (int a = 0; a < extents.rank; ++a) place[a] = 0;
  }
};

/// means: as host::find_places; the number of elements goes to `count`, if it is not null
/// shape: fewer than 2^31 - 1 elements
template <class T>
void find_places(card_context& here, T const* x, shape const& extents, std::int64_t* r,
                 std::int64_t* count, std::int64_t room) {
  std::int64_t const n = extents.size();
  bool* const flags = here.take<bool>(n);
  here.each(n, flags_of_elements<T>{x, flags});
  kept_numbers const kept = keep(here, n, flags, count);
  if (r || here.measuring()) here.each(room, stored_places<std::int64_t>{extents, kept, r});
}

}  // namespace LOCUS_MODE
}  // namespace locus::algorithms::cards
