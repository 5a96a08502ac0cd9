// SPDX-License-Identifier: Apache-2.0
// Runs of equal elements on a GPU: CUB selects the numbers of their first elements.
#pragma once
#include <locus/algorithms/kept_card.hpp>     // keep
#include <locus/algorithms/places.hpp>        // are_equal
#include <locus/core/macros.hpp>              // LOCUS_HOST_DEVICE, LOCUS_MODE
#include <locus/engine/gpu/card_context.hpp>  // card_context

namespace locus::algorithms::cards {
inline namespace LOCUS_MODE {

template <class T>
struct flags_of_runs {
  T const* x;
  bool* flags;
  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    flags[i] = i == 0 || !are_equal(x[i - 1], x[i]);
  }
};
/// Run k of the results; null: not stored.
template <class T>
struct stored_runs {
  std::int64_t n;
  kept_numbers first;
  T const* x;
  T* values;
  std::int64_t* lengths;
  LOCUS_HOST_DEVICE void operator()(std::int64_t k) const {
    std::int64_t const runs = *first.count, begin = k < runs ? first.numbers[k] : 0,
                       end = k + 1 < runs ? first.numbers[k + 1] : n;
    if (values) values[k] = k < runs ? x[begin] : T(0);
    if (lengths) lengths[k] = k < runs ? end - begin : 0;
  }
};

/// means: as host::find_runs, bit for bit; the number of runs goes to `count`, if it is not null
/// shape: n below 2^31 - 1
template <class T>
void find_runs(card_context& here, T const* x, std::int64_t n, T* values, std::int64_t* lengths,
               std::int64_t* count, std::int64_t room) {
  bool* const flags = here.take<bool>(n);
  here.each(n, flags_of_runs<T>{x, flags});
  kept_numbers const first = keep(here, n, flags, count);
  if (values || lengths || here.measuring())
    here.each(room, stored_runs<T>{n, first, x, values, lengths});
}

}  // namespace LOCUS_MODE
}  // namespace locus::algorithms::cards
