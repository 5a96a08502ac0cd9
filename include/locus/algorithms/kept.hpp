// SPDX-License-Identifier: Apache-2.0
// The elements that a condition keeps, on the host: without gaps, in their order.
#pragma once
#include <cstdint>      // int64_t
#include <type_traits>  // conditional

#include <locus/algorithms/kept_values.hpp>  // keep_values
#include <locus/algorithms/workspace.hpp>    // workspace
#include <locus/core/macros.hpp>             // LOCUS_MODE
#include <locus/runtime/threads.hpp>         // parallel_for, threads_worth

namespace locus::algorithms::host {
inline namespace LOCUS_MODE {

/// means: values[j], or values(j), of a function
template <class Values>
constexpr auto value_of(Values const& values, std::int64_t j) {
  if constexpr (std::is_pointer_v<Values>)
    return values[j];
  else
    return values(j);
}

/// means: to = the n values from `first` on that have a flag, in rising order; returns their number
/// shape: n up to 1024
/// cost:  what a function says is written down first, by a loop of its own, which compilers put on
///        vectors; what lies in memory stays there
template <class Word, class R, class Flag, class Values>
std::int64_t keep_block(std::int64_t first, std::int64_t n, R* to, Flag const& flag,
                        Values const& values) {
  constexpr std::int64_t block = 1024, most_lanes = 16;
  bool written_flags[block];
  alignas(64) R written[block];
  bool const* flags = written_flags;
  R const* from = written;
  bool const whole = n == block;
  if constexpr (std::is_pointer_v<Flag>)
    if (whole) flags = flag + first;
  if constexpr (std::is_pointer_v<Values>)
    if (whole) from = values + first;
  if (flags == written_flags)
    for (std::int64_t j = 0; j < n; ++j) written_flags[j] = value_of(flag, first + j);
  if (from == written)
    for (std::int64_t j = 0; j < n; ++j) written[j] = value_of(values, first + j);
  for (; n % most_lanes != 0; ++n) written_flags[n] = false, written[n] = R();
  return LOCUS_CHOSEN(host, keep_values<Word>)(from, flags, n, to);
}

/// means: to = values[j] for each j of [first, end) with flag[j], in rising order; returns the place
///        behind the last one
/// cost:  a block is gathered in a cache, so no more than what is kept is written; no branch depends on
///        a flag
template <class R, class Flag, class Values>
R* keep_part(std::int64_t first, std::int64_t end, R* to, Flag const& flag, Values const& values) {
  constexpr std::int64_t block = 1024;
  alignas(64) R kept[block];
  for (; first < end; first += block) {
    std::int64_t const last = first + block < end ? first + block : end;
    std::int64_t found = 0;
    if constexpr (sizeof(R) == 4)
      found = keep_block<std::uint32_t>(first, last - first, kept, flag, values);
    else if constexpr (sizeof(R) == 8)
      found = keep_block<std::uint64_t>(first, last - first, kept, flag, values);
    else
      for (std::int64_t j = first; j < last; ++j) {
        kept[found] = value_of(values, j);
        found += value_of(flag, j) ? 1 : 0;
      }
    __builtin_memcpy(static_cast<void*>(to), kept, static_cast<std::size_t>(found) * sizeof(R));
    to += found;
  }
  return to;
}

/// means: to = values[j] for each j of [0, n) with flag[j], in rising order; returns their number
/// shape: flag, values: an address, or a function of j; to has room for all of them; null: they are
///        counted alone
/// cost:  one pass on one thread; on several, and for a count alone, a pass that counts comes first
template <class R, class Flag, class Values>
std::int64_t keep(std::int64_t n, R* to, Flag const& flag, Values const& values) {
  int const threads = threads_worth(static_cast<float>(n) * (to ? 1.f : 0.25f));
  if (to && threads == 1) return keep_part(0, n, to, flag, values) - to;
  std::int64_t const parts = threads == 1 ? 1 : 8 * threads;
  auto const begin = [&](std::int64_t k) { return k < parts ? n / parts * k : n; };
  workspace<std::int64_t> const memory(parts);
  std::int64_t *const counts = memory.data(), total = 0;
  parallel_for(static_cast<int>(parts), threads, [&](int k) {
    std::int64_t found = 0;
    for (std::int64_t j = begin(k), end = begin(k + 1); j < end; ++j)
      found += value_of(flag, j) ? 1 : 0;
    counts[k] = found;
  });
  for (std::int64_t k = 0; k < parts; ++k) {
    std::int64_t const own = counts[k];
    counts[k] = total;
    total += own;
  }
  if (to)
    parallel_for(static_cast<int>(parts), threads,
                 [&](int k) { keep_part(begin(k), begin(k + 1), to + counts[k], flag, values); });
  return total;
}

/// means: r = 0 from element `first` on
template <class T>
void clear_behind(T* r, std::int64_t first, std::int64_t end) {
  if (first < end)
    __builtin_memset(static_cast<void*>(r + first), 0,
                     static_cast<std::size_t>(end - first) * sizeof(T));
}

}  // namespace LOCUS_MODE
}  // namespace locus::algorithms::host
