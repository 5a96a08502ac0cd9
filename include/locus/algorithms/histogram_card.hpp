// SPDX-License-Identifier: Apache-2.0
// Counts of elements in bins on a GPU: numbers of bins first, which CUB counts.
#pragma once
#include <locus/core/macros.hpp>              // LOCUS_HOST_DEVICE, LOCUS_MODE
#include <locus/engine/gpu/card_context.hpp>  // card_context
#include <locus/engine/gpu/selects.hpp>       // count_numbers

namespace locus::algorithms::cards {
inline namespace LOCUS_MODE {

template <class T, class Bins>
struct numbers_of_bins {
  Bins number_of;
  T const* x;
  std::int32_t* numbers;
  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const { numbers[i] = number_of(x[i]); }
};
/// Bin b: the counts of one part of the elements are added to those in front of it.
template <class Number>
struct added_counts {
  bool first;
  Number const* part;  // null: no elements
  std::int64_t* r;
  LOCUS_HOST_DEVICE void operator()(std::int64_t b) const {
    r[b] = (first ? 0 : r[b]) + (part ? part[b] : 0);
  }
};

/// means: as host::count_in_bins
/// cost:  parts of 2^23 elements, whose numbers take 32 MiB of workspace: two kernels and CUB's
///        histogram for each part
template <class T, class Bins>
void count_in_bins(card_context& here, T const* x, std::int64_t n, Bins const& number_of,
                   std::int64_t* r) {
  using number = std::int32_t;
  std::int64_t const bins = number_of.count, most = std::int64_t(1) << 23,
                     room = n < most ? n : most;
  if (bins == 0) return;
  number* const numbers = here.take<number>(room);
  number* const counts = here.take<number>(n > 0 ? bins : 0);
  if (n == 0) here.each(bins, added_counts<number>{true, nullptr, r});
  for (std::int64_t i = 0; i < n; i += most) {
    std::int64_t const part = n - i < most ? n - i : most;
    here.each(part, numbers_of_bins<T, Bins>{number_of, x + i, numbers});
    here.run(cuda_side::count_numbers<number>{part, numbers, static_cast<int>(bins), counts});
    here.each(bins, added_counts<number>{i == 0, counts, r});
  }
}

}  // namespace LOCUS_MODE
}  // namespace locus::algorithms::cards
