// SPDX-License-Identifier: Apache-2.0
// Folds of numbers by segment on a GPU where segments are few and numbers many: a warp takes a part of
// the numbers in their order, with the totals of all segments in shared memory. No ids are sorted.
#pragma once
#include <locus/core/macros.hpp>       // LOCUS_HOST_DEVICE, LOCUS_UNROLLED, LOCUS_MODE
#include <locus/engine/gpu/block.hpp>  // warp_threads

namespace locus::algorithms::cards {
inline namespace LOCUS_MODE {

/// Part p of (outer, parts): totals[p, s] = the fold, in turn, of its x[j] with ids[j] == s. The warp takes
/// 32 numbers at a time; the first lane of each id folds those of its id.
template <class Fold, class T, class Id>
struct segments_in_parts {
  using total = typename Fold::total;
  static constexpr unsigned threads = cuda_side::warp_threads;
  static constexpr std::int64_t most = 1024;  // segments
  static constexpr int groups = 8;            // of 32 numbers that are loaded together
  struct numbers {
    total totals[most];
    alignas(16) total values[2][threads];
  };
  T const* x;
  Id const* ids;
  total* totals;
  std::int64_t n, outer, parts, part, segments;

  LOCUS_EXEC_CHECK_DISABLE
  template <class Block>
  LOCUS_HOST_DEVICE void operator()(Block const& block) const {
    numbers& s = *block.template shared<numbers, 1>();
    typename Block::template own<loads> now, next;
    typename Block::template own<std::int32_t> id;
    constexpr std::int64_t step = groups * std::int64_t(threads);
    for (std::int64_t p = block.number(); p < outer * parts; p += block.count()) {
      std::int64_t const first = p % parts * part, end = n - first < part ? n : first + part;
      T const* const from = x + p / parts * n;
      block.each([&](unsigned t) {
        for (std::int64_t i = t; i < segments; i += threads) s.totals[i] = Fold::identity();
        load(next[t], from, first + t, end);
      });
      for (std::int64_t j = first; j < end; j += step) {
        block.apart([&](unsigned t) {
          now[t] = next[t];
          load(next[t], from, j + step + t, end);
        });
        LOCUS_UNROLLED
        for (int g = 0; g < groups; ++g) {
          // the values of the group in front are still read while these are stored
          total* const values = s.values[g % 2];
          block.each([&](unsigned t) {
            id[t] = now[t].ids[g], values[t] = Fold::widen(now[t].values[g]);
          });
          block.apart([&](unsigned t) { fold(s.totals, values, id[t], t, block.equals(id, t)); });
        }
      }
      block.each([](unsigned) {});  // all totals are stored
      block.each([&](unsigned t) {
        for (std::int64_t i = t; i < segments; i += threads) totals[p * segments + i] = s.totals[i];
      });
    }
  }

 private:
  struct loads {
    T values[groups];
    std::int32_t ids[groups];
  };
  /// means: adds the values of a lane's id to its total, in turn; equal: the lanes with that id
  LOCUS_HOST_DEVICE void fold(total* of, total const* values, std::int32_t id, unsigned lane,
                              std::uint32_t equal) const {
    if (id >= segments || (equal & ((std::uint32_t(1) << lane) - 1)) != 0) return;
    total t = of[id];
    if (equal == ~std::uint32_t(0)) {
      LOCUS_UNROLLED
      for (unsigned l = 0; l < threads; ++l) t = Fold::combine(t, values[l]);
    } else
      for (std::uint32_t left = equal; left != 0; left &= left - 1)
        t = Fold::combine(t, values[LOCUS_BY_SIDE(__ffs(int(left)) - 1, __builtin_ctz(left))]);
    of[id] = t;
  }
  /// means: numbers j, j + 32, ...; those behind the end have an id without a segment
  LOCUS_HOST_DEVICE void load(loads& to, T const* from, std::int64_t j, std::int64_t end) const {
    LOCUS_UNROLLED
    for (int g = 0; g < groups; ++g) {
      std::int64_t const k = j + g * std::int64_t(threads);
      bool const is_there = k < end;
      to.values[g] = is_there ? from[k] : T(0);
      auto const id = is_there ? static_cast<std::int64_t>(ids[k]) : segments;
      to.ids[g] = static_cast<std::int32_t>(id < 0 || id > segments ? segments : id);
    }
  }
};

}  // namespace LOCUS_MODE
}  // namespace locus::algorithms::cards
