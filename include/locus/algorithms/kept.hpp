// SPDX-License-Identifier: Apache-2.0
// The elements that a condition keeps, on the host: without gaps, in their order.
#pragma once
#include <locus/algorithms/workspace.hpp>  // workspace
#include <locus/core/macros.hpp>           // LOCUS_MODE
#include <locus/runtime/threads.hpp>       // parallel_for, threads_worth

namespace locus::algorithms::host {
inline namespace LOCUS_MODE {

/// means: to = value(j) for each j of [first, end) with flag(j), in rising order; returns the place
///        behind the last one
/// cost:  no branch depends on a flag; a block is gathered in a cache, so no more than what is kept
///        is written
template <class R, class Flag, class Value>
R* keep_part(std::int64_t first, std::int64_t end, R* to, Flag const& flag, Value const& value) {
  constexpr std::int64_t block = 1024;
  R kept[block];
  for (; first < end; first += block) {
    std::int64_t const last = first + block < end ? first + block : end;
    std::int64_t found = 0;
    for (std::int64_t j = first; j < last; ++j) {
      kept[found] = value(j);
      found += flag(j) ? 1 : 0;
    }
    __builtin_memcpy(static_cast<void*>(to), kept, static_cast<std::size_t>(found) * sizeof(R));
    to += found;
  }
  return to;
}

/// means: to = value(j) for each j of [0, n) with flag(j), in rising order; returns their number
/// shape: to has room for all of them; null: they are counted alone
/// cost:  one pass on one thread; on several, and for a count alone, a pass that counts comes first
template <class R, class Flag, class Value>
std::int64_t keep(std::int64_t n, R* to, Flag const& flag, Value const& value) {
  int const threads = threads_worth(static_cast<float>(n) * (to ? 1.f : 0.25f));
  if (to && threads == 1) return keep_part(0, n, to, flag, value) - to;
  std::int64_t const parts = threads == 1 ? 1 : 8 * threads;
  auto const begin = [&](std::int64_t k) { return k < parts ? n / parts * k : n; };
  workspace<std::int64_t> const memory(parts);
  std::int64_t *const counts = memory.data(), total = 0;
  parallel_for(static_cast<int>(parts), threads, [&](int k) {
    std::int64_t found = 0;
    for (std::int64_t j = begin(k), end = begin(k + 1); j < end; ++j) found += flag(j) ? 1 : 0;
    counts[k] = found;
  });
  for (std::int64_t k = 0; k < parts; ++k) {
    std::int64_t const own = counts[k];
    counts[k] = total;
    total += own;
  }
  if (to)
    parallel_for(static_cast<int>(parts), threads,
                 [&](int k) { keep_part(begin(k), begin(k + 1), to + counts[k], flag, value); });
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
