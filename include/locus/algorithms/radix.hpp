// SPDX-License-Identifier: Apache-2.0
// Stable sorts of keys as unsigned numbers on the host, digit by digit; alone, or with what they carry.
#pragma once
#include <algorithm>  // copy, count_if, merge
#include <cstdint>    // int64_t, uint32_t

#include <locus/core/macros.hpp>      // LOCUS_MODE
#include <locus/runtime/caches.hpp>   // last_level_cache
#include <locus/runtime/threads.hpp>  // parallel_for
#include <locus/simd/native.hpp>      // vector, stream, end_of_stream

namespace locus::algorithms::host {
inline namespace LOCUS_MODE {

/// A key, and what moves with it.
template <class Bits, class Value>
struct keyed {
  Bits key;
  Value value;
};
template <class Bits>
constexpr Bits key_in(Bits b) {
  return b;
}
template <class Bits, class Value>
constexpr Bits key_in(keyed<Bits, Value> const& p) {
  return p.key;
}
template <class Item>
using key_of_item = decltype(key_in(Item()));

/// means: the 64 bytes at `from`, stored past the caches at `to`, where a line of a cache begins
LOCUS_VECTORS_BEGIN
LOCUS_VECTOR_FUNCTION void stream_line(void* to, void const* from) {
  for (int i = 0; i < 64; i += 16) {
    simd::vector<float, 4> v;
    __builtin_memcpy(&v, static_cast<char const*>(from) + i, sizeof v);
    simd::stream(static_cast<char*>(to) + i, v);
  }
}
LOCUS_VECTORS_END

template <class Item>
void sort_by_insertion(Item* a, std::int64_t n) {
  for (std::int64_t i = 1; i < n; ++i) {
    Item const item = a[i];
    std::int64_t j = i;
    for (; j > 0 && key_in(item) < key_in(a[j - 1]); --j) a[j] = a[j - 1];
    a[j] = item;
  }
}
/// means: count[k] = the sum of those in front of it
template <class Count>
void begins_of_counts(Count* count, int n) {
  Count before = 0;
  for (int k = 0; k < n; ++k) {
    Count const own = count[k];
    count[k] = before;
    before += own;
  }
}

/// means: sorts a by the lowest `bits` bits of its keys; true: the result is in b
/// shape: n from 1 to 2^32 - 1; b: room for n
/// cost:  a pass for counts, one for each digit of Digit bits
template <int Digit, class Item>
bool sort_from_lowest(Item* a, Item* b, std::int64_t n, int bits) {
  constexpr int most = (8 * int(sizeof(key_of_item<Item>)) + Digit - 1) / Digit, all = 1 << Digit;
  int const digits = (bits + Digit - 1) / Digit;
  auto const digit_of = [](Item const& item, int d) {
    return static_cast<unsigned>(key_in(item) >> (Digit * d)) & (all - 1);
  };
  std::uint32_t counts[most][all];
  for (int d = 0; d < digits; ++d)
    for (int k = 0; k < all; ++k) counts[d][k] = 0;
  if (digits == 2)  // the usual number, without a loop
    for (std::int64_t i = 0; i < n; ++i) {
      Item const item = a[i];
      ++counts[0][digit_of(item, 0)], ++counts[1 % most][digit_of(item, 1)];
    }
  else
    for (std::int64_t i = 0; i < n; ++i)
      for (int d = 0; d < digits; ++d) ++counts[d][digit_of(a[i], d)];
  bool in_b = false;
  for (int d = 0; d < digits; ++d) {
    std::uint32_t* const count = counts[d];
    if (count[digit_of(a[0], d)] == n) continue;
    begins_of_counts(count, all);
    for (std::int64_t i = 0; i < n; ++i) {
      Item const item = a[i];
      b[count[digit_of(item, d)]++] = item;
    }
    Item* const other = a;
    a = b, b = other, in_b = !in_b;
  }
  return in_b;
}

/// means: for each item of a (n): b[at[part_of(item)]++] = item, by stores past the caches
/// shape: at: where each of `parts` parts begins, at most 1024; b lies at a multiple of the size of an item
/// cost:  a line of each part is gathered in a cache, and then stored at once. Plain stores to many parts
///        miss the caches: places of parts of one length meet in one set of a cache
template <class Item, class PartOf>
[[gnu::noinline]] void move_past_caches(Item const* a, Item* b, std::int64_t n, std::int64_t* at,
                                        int parts, PartOf const& part_of) {
  constexpr std::int64_t items_of_line = 64 / std::int64_t(sizeof(Item));
  alignas(64) Item lines[1024][items_of_line];
  std::int64_t begin[1024];
  std::copy(at, at + parts, begin);
  auto const before = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(b) % 64) /
                      std::int64_t(sizeof(Item));  // b[0] is this slot of a line
  auto const slot_of = [=](std::int64_t place) { return (place + before) & (items_of_line - 1); };
  for (std::int64_t i = 0; i < n; ++i) {
    Item const item = a[i];
    int const k = part_of(item);
    std::int64_t const place = at[k]++, slot = slot_of(place), first = place - slot;
    lines[k][slot] = item;
    if (slot < items_of_line - 1) continue;
    if (first >= begin[k])
      stream_line(b + first, lines[k]);
    else
      std::copy(lines[k] + (begin[k] - first), lines[k] + items_of_line, b + begin[k]);
  }
  for (int k = 0; k < parts; ++k) {
    std::int64_t const first = at[k] - slot_of(at[k]), from = first > begin[k] ? first : begin[k];
    std::copy(lines[k] + (from - first), lines[k] + (at[k] - first), b + from);
  }
  simd::end_of_stream();
}

/// means: sorts a by its keys, into b if to_b; equal keys keep their order
/// shape: b: room for n; what it holds is lost; Counted: the most items that sort_from_lowest counts
/// cost:  what does not fit in a cache is cut into up to 1024 parts by the highest bits in which keys
///        differ; parts that fit are sorted from their lowest digit
template <std::int64_t Counted = UINT32_MAX, class Item>
void sort_by_digits(Item* a, Item* b, std::int64_t n, bool to_b = false) {
  using key = key_of_item<Item>;
  constexpr std::int64_t fits = 128 * 1024 / std::int64_t(sizeof(Item));
  auto const deliver = [&](bool in_b) {
    if (in_b && !to_b) std::copy(b, b + n, a);
    if (!in_b && to_b) std::copy(a, a + n, b);
  };
  if (n <= 64) {
    sort_by_insertion(a, n);
    return deliver(false);
  }
  key differ = 0;
  for (std::int64_t i = 0; i < n; ++i) differ |= static_cast<key>(key_in(a[i]) ^ key_in(a[0]));
  int bits = 0;
  while (bits < 8 * int(sizeof(key)) && (differ >> bits) != 0) ++bits;
  if (bits == 0) return deliver(false);  // all keys are equal: no digit makes parts of them
  if (n < 4096) return deliver(sort_from_lowest<8>(a, b, n, bits));
  if (n <= fits || (bits <= 11 && n <= Counted))
    return deliver(sort_from_lowest<11>(a, b, n, bits));
  int split = 4;
  while (split < 10 && n >> split > 8192) ++split;
  int const shift = bits > split ? bits - split : 0, parts = 1 << split;
  auto const part_of = [&](Item const& item) {
    return static_cast<int>(key_in(item) >> shift) & (parts - 1);
  };
  std::int64_t at[1024]{};
  for (std::int64_t i = 0; i < n; ++i) ++at[part_of(a[i])];
  // where most parts are alike in length, their ends meet in few sets of the caches
  constexpr bool fills_lines = 64 % sizeof(Item) == 0;
  auto const long_parts = std::count_if(at, at + parts, [=](auto c) { return c > n / 2048; });
  bool const past_caches = fills_lines && long_parts >= parts / 2 &&
                           reinterpret_cast<std::uintptr_t>(b) % sizeof(Item) == 0 &&
                           2 * n * std::int64_t(sizeof(Item)) > runtime::last_level_cache();
  begins_of_counts(at, parts);
  if (past_caches) {
    if constexpr (fills_lines) move_past_caches(a, b, n, at, parts, part_of);
  } else
    for (std::int64_t i = 0; i < n; ++i) {
      Item const item = a[i];
      b[at[part_of(item)]++] = item;
    }
  for (int k = 0; k < parts; ++k) {  // now at[k] is where part k ends
    std::int64_t const begin = k > 0 ? at[k - 1] : 0;
    sort_by_digits<Counted>(b + begin, a + begin, at[k] - begin, !to_b);
  }
}

/// means: as sort_by_digits, on several threads: parts are sorted, and merged two by two
template <class Item>
void sort_in_parts(Item* a, Item* b, std::int64_t n, int threads) {
  std::int64_t parts = 1;
  while (parts < threads) parts *= 2;
  auto const begin = [&](std::int64_t k) { return k < parts ? n / parts * k : n; };
  parallel_for(static_cast<int>(parts), threads,
               [&](int k) { sort_by_digits(a + begin(k), b + begin(k), begin(k + 1) - begin(k)); });
  Item* const first = a;
  for (std::int64_t width = 1; width < parts; width *= 2) {
    parallel_for(static_cast<int>(parts / width / 2), threads, [&](int k) {
      std::int64_t const low = begin(2 * width * k), middle = begin(2 * width * k + width),
                         high = begin(2 * width * (k + 1));
      std::merge(a + low, a + middle, a + middle, a + high, b + low,
                 [](Item const& p, Item const& q) { return key_in(p) < key_in(q); });
    });
    Item* const other = a;
    a = b, b = other;
  }
  if (a != first) std::copy(a, a + n, first);
}

}  // namespace LOCUS_MODE
}  // namespace locus::algorithms::host
