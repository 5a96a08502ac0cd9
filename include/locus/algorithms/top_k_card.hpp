// SPDX-License-Identifier: Apache-2.0
// The first k elements of lines on a GPU: lines are sorted by merit, and their first elements taken.
#pragma once
#include <locus/algorithms/sort_card.hpp>     // order_of_lines
#include <locus/algorithms/top_k_order.hpp>   // merit_of, top_rows
#include <locus/core/macros.hpp>              // LOCUS_HOST_DEVICE, LOCUS_MODE
#include <locus/engine/gpu/card_context.hpp>  // card_context
#include <locus/engine/gpu/key_order.hpp>     // key_bits

namespace locus::algorithms::cards {
inline namespace LOCUS_MODE {

/// The type of keys: one that units of CUB sort anyway.
template <class T>
using merit_key = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;

/// Element i in the order of lines (outer, inner, n): a key, less for an element that comes first,
/// and its number there.
template <bool Smallest, class T>
struct merits_of_lines {
  std::int64_t n, inner;
  T const* x;
  merit_key<T>* keys = nullptr;
  std::int32_t* numbers = nullptr;
  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    std::int64_t const line = i / n, j = i % n;
    using bits = cuda_side::key_bits<merit_key<T>>;
    constexpr auto sign = static_cast<bits>(bits(1) << (8 * sizeof(bits) - 1));
    auto const merit =
        static_cast<bits>(merit_of<Smallest>(x[(line / inner * n + j) * inner + line % inner]));
    keys[i] = __builtin_bit_cast(merit_key<T>, static_cast<bits>(~merit ^ sign));
    numbers[i] = static_cast<std::int32_t>(i);
  }
};
/// Number i of the result (outer, rows, inner).
template <class T>
struct first_of_lines {
  std::int64_t n, inner;
  std::int64_t k;
  top_rows to;
  T const* x;
  std::int32_t const* numbers;  // of elements, line by line, in their order
  T* values;
  std::int64_t* places;
  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    std::int64_t const c = i % inner, row = i / inner % to.rows, o = i / inner / to.rows,
                       j = row - to.first;
    bool const is_there = j >= 0 && j < k && j < n;
    std::int64_t const place = is_there ? numbers[(o * inner + c) * n + j] % n : 0;
    if (values) values[i] = is_there ? x[(o * n + place) * inner + c] : T(0);
    if (places) places[i] = is_there ? to.base + place : 0;
  }
};
template <class T>
struct zeros_at {
  T* r;
  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const { r[i] = T(0); }
};
template <class Op, class T>
struct put_at {
  std::int64_t k, n, inner;
  T const* x;
  std::int64_t const* places;
  T* r;
  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    r[Op::target(i, places[i], k, n, inner)] = x[i];
  }
};

/// means: as host::top_of_lines, bit for bit
/// shape: fewer than 2^31 - 1 elements
template <bool Smallest, std::int64_t K, class T>
void top_of_lines(card_context& here, T const* x, T* values, std::int64_t* places,
                  std::int64_t outer, std::int64_t n, std::int64_t inner, top_rows const& to) {
  std::int32_t const* const by_line =
      order_of_lines(here, merits_of_lines<Smallest, T>{n, inner, x}, outer * inner, n);
  here.each(outer * to.rows * inner,
            first_of_lines<T>{n, inner, K, to, x, by_line, values, places});
}

}  // namespace LOCUS_MODE
}  // namespace locus::algorithms::cards
