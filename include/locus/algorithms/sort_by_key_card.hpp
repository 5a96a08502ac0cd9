// SPDX-License-Identifier: Apache-2.0
// sort_by_key on a GPU: CUB's radix sort moves the values of one line that are words; otherwise it gives the
// order of the keys, and a thread moves each element.
#pragma once
#include <locus/algorithms/sort_card.hpp>     // order_of_lines, require_few
#include <locus/core/macros.hpp>              // LOCUS_HOST_DEVICE, LOCUS_MODE
#include <locus/engine/gpu/card_context.hpp>  // card_context
#include <locus/engine/gpu/key_order.hpp>     // key_order

namespace locus::algorithms::cards {
inline namespace LOCUS_MODE {

/// Element i of the lines (outer, inner, n), sorted; a result that is null is not stored.
template <class Key, class Value>
struct moved_by_key {
  std::int64_t n, inner;
  Key const* keys;
  Value const* values;
  std::int32_t const* numbers;
  Key* sorted_keys;
  Value* sorted_values;
  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    using order = cuda_side::key_order<Key>;
    std::int64_t const line = i / n, first = line / inner * n * inner + line % inner,
                       to = first + i % n * inner, from = first + numbers[i] % n * inner;
    if (sorted_keys) sorted_keys[to] = order::key(order::of(keys[from]));
    if (sorted_values) sorted_values[to] = values[from];
  }
};

template <class Number>
struct count_up {
  Number* numbers;
  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const { numbers[i] = static_cast<Number>(i); }
};

/// means: as host::sort_lines_by_key, bit for bit
/// shape: fewer than 2^31 - 1 elements
template <class Key, class Value>
void sort_lines_by_key(card_context& here, Key const* keys, Value const* values, Key* sorted_keys,
                       Value* sorted_values, std::int64_t outer, std::int64_t n,
                       std::int64_t inner) {
  using number = std::int32_t;
  if (outer * inner == 1) {  // the sort gives the keys themselves
    here.needs(cuda_side::sort_pairs<number, number>{});
    require_few(n);
    Key* const to = sorted_keys ? sorted_keys : here.take<Key>(n);
    if constexpr (sizeof(Value) == sizeof(number)) {
      auto const* const words = reinterpret_cast<number const*>(values);
      auto* const moved =
          sorted_values ? reinterpret_cast<number*>(sorted_values) : here.take<number>(n);
      here.run(cuda_side::sort_pairs<Key, number>{n, keys, words, to, moved});
    } else {
      number* const numbers = here.take<number>(n);
      number* const order = here.take<number>(n);
      here.each(n, count_up<number>{numbers});
      here.run(cuda_side::sort_pairs<Key, number>{n, keys, numbers, to, order});
      here.each(n, moved_by_key<Key, Value>{n, 1, keys, values, order, nullptr, sorted_values});
    }
    return;
  }
  number const* const by_line = order_of_lines(here, keys, outer, n, inner);
  here.each(outer * n * inner,
            moved_by_key<Key, Value>{n, inner, keys, values, by_line, sorted_keys, sorted_values});
}

}  // namespace LOCUS_MODE
}  // namespace locus::algorithms::cards
