// SPDX-License-Identifier: Apache-2.0
// Sorts of lines on a GPU: one stable sort of all elements, then one of their line numbers.
#pragma once
#include <type_traits>  // remove_pointer

#include <locus/core/error.hpp>               // shape_error
#include <locus/core/macros.hpp>              // LOCUS_HOST_DEVICE, LOCUS_MODE, LOCUS_COLD_BEGIN
#include <locus/engine/gpu/card_context.hpp>  // card_context
#include <locus/engine/gpu/sorts.hpp>         // sort_keys, sort_pairs

namespace locus::algorithms::cards {

LOCUS_COLD_BEGIN
/// fails: shape_error, for more elements than the numbers of a sort can name
inline void require_few(std::int64_t elements) {
  if (elements <= 2147483646) return;
  message text;
  throw shape_error(text << "locus: a sort of " << elements
                         << " elements is too large for a GPU, which counts them below 2147483647; "
                            "sort parts of the data");
}
LOCUS_COLD_END

inline namespace LOCUS_MODE {

/// Element i in the order of lines (outer, inner, n), and its number there.
template <class T>
struct elements_of_lines {
  std::int64_t n, inner;
  T const* x;
  T* keys = nullptr;
  std::int32_t* numbers = nullptr;
  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    std::int64_t const line = i / n, j = i % n;
    keys[i] = x[(line / inner * n + j) * inner + line % inner];
    numbers[i] = static_cast<std::int32_t>(i);
  }
};
template <class Number>
struct line_numbers {
  std::int64_t n;
  Number const* numbers;
  Number* lines;
  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    lines[i] = static_cast<Number>(numbers[i] / n);
  }
};
/// Element i of the lines, sorted: its value, or its place in its line.
template <bool Values, class T, class R>
struct sorted_elements {
  std::int64_t n, inner;
  T const* x;
  std::int32_t const* numbers;
  R* r;
  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    std::int64_t const line = i / n, j = i % n, place = numbers[i] % n;
    std::int64_t const first = line / inner * n * inner + line % inner;
    if constexpr (Values) {
      using order = cuda_side::key_order<T>;
      r[first + j * inner] = order::key(order::of(x[first + place * inner]));
    } else
      r[first + j * inner] = place;
  }
};
template <class Op, class T, class Place>
struct put_back {
  std::int64_t n, inner;
  T const* x;
  Place const* places;
  T* r;
  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    r[Op::target(i, places[i], n, inner)] = x[i];
  }
};

/// means: number k of the lines (outer, inner, n): which element of that order stands there, if the
///        keys of each line are sorted; `elements` writes keys[i] and numbers[i] = i in that order
/// shape: fewer than 2^31 - 1 elements
template <class Elements>
std::int32_t const* order_of_lines(card_context& here, Elements elements, std::int64_t lines,
                                   std::int64_t n) {
  using number = std::int32_t;
  using key = std::remove_pointer_t<decltype(elements.keys)>;
  std::int64_t const size = lines * n;
  require_few(size);
  key* const keys = elements.keys = here.take<key>(size);
  key* const sorted = here.take<key>(size);
  number* const numbers = elements.numbers = here.take<number>(size);
  number* const by_key = here.take<number>(size);
  here.needs(cuda_side::sort_pairs<number, number>{});
  here.each(size, elements);
  here.run(cuda_side::sort_pairs<key, number>{size, keys, numbers, sorted, by_key});
  if (lines == 1) return by_key;
  number* const line_of = here.take<number>(size);
  number* const sorted_lines = here.take<number>(size);
  number* const by_line = here.take<number>(size);
  int bits = 1;
  while (bits < 31 && (lines - 1) >> bits) ++bits;
  here.each(size, line_numbers<number>{n, by_key, line_of});
  here.run(
      cuda_side::sort_pairs<number, number>{size, line_of, by_key, sorted_lines, by_line, bits});
  return by_line;
}
/// means: the same, of the elements of x themselves
template <class T>
std::int32_t const* order_of_lines(card_context& here, T const* x, std::int64_t outer,
                                   std::int64_t n, std::int64_t inner) {
  return order_of_lines(here, elements_of_lines<T>{n, inner, x}, outer * inner, n);
}
/// means: as host::sort_lines, bit for bit
/// shape: fewer than 2^31 - 1 elements
template <bool Values, class T, class R>
void sort_lines(card_context& here, T const* x, R* r, std::int64_t outer, std::int64_t n,
                std::int64_t inner) {
  if constexpr (Values)
    if (outer * inner == 1 && here.has(cuda_side::sort_keys<T>{})) {
      here.needs(cuda_side::sort_pairs<T, std::int32_t>{});
      here.needs(cuda_side::sort_pairs<std::int32_t, std::int32_t>{});
      require_few(n);
      return here.run(cuda_side::sort_keys<T>{n, x, r});
    }
  std::int32_t const* const by_line = order_of_lines(here, x, outer, n, inner);
  here.each(outer * n * inner, sorted_elements<Values, T, R>{n, inner, x, by_line, r});
}

}  // namespace LOCUS_MODE
}  // namespace locus::algorithms::cards
