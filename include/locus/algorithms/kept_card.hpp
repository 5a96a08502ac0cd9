// SPDX-License-Identifier: Apache-2.0
// The elements that a condition keeps, on a GPU: their numbers, without gaps, by CUB's selection.
#pragma once
#include <locus/core/error.hpp>               // shape_error
#include <locus/core/macros.hpp>              // LOCUS_HOST_DEVICE, LOCUS_MODE, LOCUS_COLD_BEGIN
#include <locus/engine/gpu/card_context.hpp>  // card_context
#include <locus/engine/gpu/selects.hpp>       // select_numbers

namespace locus::algorithms::cards {

LOCUS_COLD_BEGIN
/// fails: shape_error, for more elements than the numbers of a selection can name
inline void require_selection(std::int64_t elements) {
  if (elements <= 2147483646) return;
  message text;
  throw shape_error(text << "locus: a selection from " << elements
                         << " elements is too large for a GPU, which counts them below 2147483647; "
                            "select from parts of the data");
}
LOCUS_COLD_END

inline namespace LOCUS_MODE {

/// The numbers of the elements that are kept, and how many they are.
struct kept_numbers {
  std::int32_t const* numbers;
  std::int64_t const* count;
};

// a template, so that a unit compiles it when it is used
template <class Number>
struct store_number {
  Number const* from;  // null: 0
  Number* to;
  LOCUS_HOST_DEVICE void operator()(std::int64_t) const { *to = from ? *from : Number(0); }
};

/// means: the j of [0, n) with flags[j], in rising order; their number is stored at `result` too,
///        where it is not null
/// shape: fewer than 2^31 - 1 elements
template <class Flag>
kept_numbers keep(card_context& here, std::int64_t n, Flag const* flags, std::int64_t* result) {
  using number = std::int32_t;
  require_selection(n);
  number* const kept = here.take<number>(n);
  std::int64_t* const count = here.take<std::int64_t>(1);
  here.needs(cuda_side::select_numbers<number>{});
  if (n > 0)
    here.run(cuda_side::select_numbers<number>{n, flags, kept, count});
  else
    here.each(1, store_number<std::int64_t>{nullptr, count});
  if (result) here.each(1, store_number<std::int64_t>{count, result});
  return {kept, count};
}

}  // namespace LOCUS_MODE
}  // namespace locus::algorithms::cards
