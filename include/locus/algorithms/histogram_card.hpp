// SPDX-License-Identifier: Apache-2.0
// Counts of elements in bins on a GPU: each block counts a share of the elements, in shared memory if
// bins are few, and adds its counts to those of the result.
#pragma once
#include <locus/algorithms/lanes_card.hpp>  // each_in_turn
#include <locus/core/macros.hpp>  // LOCUS_HOST_DEVICE, LOCUS_EXEC_CHECK_DISABLE, LOCUS_MODE
#include <locus/engine/gpu/card_context.hpp>  // card_context

namespace locus::algorithms::cards {
inline namespace LOCUS_MODE {

/// Counts of a list of numbers, given in turn: a run of equal ones is added at once.
template <class Block, class Number>
struct counted_runs {
  Block const& block;
  Number* counts;
  std::int32_t last, bins;  // last: from 0 to bins, which is no bin
  Number run = 0;
  LOCUS_HOST_DEVICE void add(std::int32_t b) {
    if (b != last) end(), last = b, run = 0;
    ++run;
  }
  LOCUS_HOST_DEVICE void end() const {
    if (last < bins) block.add(counts[last], run);
  }
};
/// Every `step`-th element from `first` on.
struct elements_apart {
  std::int64_t first, step;
  LOCUS_HOST_DEVICE std::int64_t operator[](std::int64_t j) const { return first + j * step; }
};

template <class Number>
struct no_counts {
  Number* r;
  LOCUS_HOST_DEVICE void operator()(std::int64_t b) const { r[b] = 0; }
};
/// Few: bins fit in shared memory. Otherwise each count is added to the result in memory.
template <bool Few, class T, class Bins>
struct counts_of_shares {
  static constexpr std::int64_t most = 4096;  // bins, 16 KiB
  Bins number_of;
  T const* x;
  std::int64_t n;
  std::int64_t* r;
  LOCUS_EXEC_CHECK_DISABLE
  template <class Block>
  LOCUS_HOST_DEVICE void operator()(Block const& block) const {
    if constexpr (Few) {
      std::int32_t* const own = block.template shared<std::int32_t, unsigned(most)>();
      auto const bins = static_cast<unsigned>(number_of.count);
      block.each([&](unsigned t) {
        for (unsigned b = t; b < bins; b += block.size()) own[b] = 0;
      });
      block.each([&](unsigned t) { count(block, t, own); });
      block.apart([&](unsigned t) {
        for (unsigned b = t; b < bins; b += block.size())
          if (own[b] > 0) block.add(r[b], std::int64_t(own[b]));
      });
    } else
      block.apart([&](unsigned t) { count(block, t, r); });
  }

 private:
  LOCUS_EXEC_CHECK_DISABLE
  template <class Block, class Number>
  LOCUS_HOST_DEVICE void count(Block const& block, unsigned t, Number* counts) const {
    elements_apart const own{std::int64_t(block.number()) * block.size() + t,
                             std::int64_t(block.count()) * block.size()};
    auto const bins = static_cast<std::int32_t>(number_of.count);
    counted_runs<Block, Number> runs{block, counts, bins, bins};
    each_in_turn(own, x, 0, (n - own.first + own.step - 1) / own.step,
                 [&](std::int64_t, T v) { runs.add(number_of(v)); });
    runs.end();
  }
};

/// means: as host::count_in_bins
/// cost:  one pass; a block counts at least four elements for each bin, which it adds to the result
template <class T, class Bins>
void count_in_bins(card_context& here, T const* x, std::int64_t n, Bins const& number_of,
                   std::int64_t* r) {
  using few = counts_of_shares<true, T, Bins>;
  std::int64_t const bins = number_of.count, share = 4 * bins > 8192 ? 4 * bins : 8192,
                     blocks = (n + share - 1) / share, most = 1024;
  here.each(bins, no_counts<std::int64_t>{r});
  if (bins == 0 || n == 0) return;
  if (bins <= few::most)
    here.start(few{number_of, x, n, r}, blocks < most ? blocks : most);
  else
    here.start(counts_of_shares<false, T, Bins>{number_of, x, n, r}, (n + 2047) / 2048);
}

}  // namespace LOCUS_MODE
}  // namespace locus::algorithms::cards
