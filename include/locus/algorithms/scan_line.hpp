// SPDX-License-Identifier: Apache-2.0
// Scans of single lines on the host. Each step of a chunk waits for the step in front, so several
// chunks take their steps at the same time.
#pragma once
#include <locus/algorithms/scan_floats.hpp>  // scan_of_floats
#include <locus/algorithms/scan_fold.hpp>    // scan_chunk
#include <locus/algorithms/workspace.hpp>    // workspace
#include <locus/core/macros.hpp>             // LOCUS_MODE
#include <locus/runtime/threads.hpp>         // parallel_for

namespace locus::algorithms::host {
inline namespace LOCUS_MODE {

// the loop over four chunks for the instructions of this process
#define LOCUS_SCAN_LOOP(name) \
  LOCUS_CHOSEN(host, scan_of_floats<multiplies<Fold>, Exclusive, Backwards>::name)

/// means: Fold is that of scan_fold, of sums or products in double
template <class Fold>
inline constexpr bool multiplies = false;
template <class T>
inline constexpr bool multiplies<scan_fold<scan_kind::product, T>> = true;
template <class Fold>
inline constexpr bool adds_in_double = false;
template <scan_kind K>
inline constexpr bool adds_in_double<scan_fold<K, float>> = scan_fold<K, float>::adds;

/// A line of n elements x, whose scan is r, in chunks; chunk k has its elements in the order of the
/// scan.
template <class Fold, bool Exclusive, bool Backwards, class T>
struct line_in_chunks {
  using total = typename Fold::total;
  // more would meet in one set of a cache: chunks lie powers of two apart
  static constexpr int lanes = 4;
  static constexpr std::int64_t step = Backwards ? -1 : 1;
  T const* x;
  typename Fold::result* r;
  std::int64_t n;
  [[no_unique_address]] Fold fold{};
  std::int64_t chunk = scan_chunk(n), chunks = (n + chunk - 1) / chunk;

  std::int64_t begin(std::int64_t k) const { return Backwards ? n - 1 - k * chunk : k * chunk; }
  std::int64_t length(std::int64_t k) const {
    return k * chunk + chunk < n ? chunk : n - k * chunk;
  }

  /// means: t[l] = the fold of chunk k + l
  template <int Lanes>
  void fold_chunks(std::int64_t k, total* t) const {
    T const* from[Lanes];
    total own[Lanes];
    for (int l = 0; l < Lanes; ++l) from[l] = x + begin(k + l), own[l] = fold.identity();
    for (std::int64_t j = 0, size = length(k); j < size; ++j)
      LOCUS_UNROLL for (int l = 0; l < Lanes; ++l) own[l] =
          fold.combine(own[l], fold.widen(from[l][j * step]));
    for (int l = 0; l < Lanes; ++l) t[l] = own[l];
  }
  /// means: r of chunk k + l, which begins with t[l]
  template <int Lanes>
  void scan(std::int64_t k, total const* t) const {
    std::int64_t at[Lanes];
    total own[Lanes];
    for (int l = 0; l < Lanes; ++l) at[l] = begin(k + l), own[l] = t[l];
    for (std::int64_t j = 0, size = length(k); j < size; ++j)
      LOCUS_UNROLL for (int l = 0; l < Lanes; ++l) {
        total const next = fold.combine(own[l], fold.widen(x[at[l] + j * step]));
        r[at[l] + j * step] = fold.finish(Exclusive ? own[l] : next);
        own[l] = next;
      }
  }
  /// floats that are added or multiplied
  static constexpr bool by_registers = std::is_same_v<T, float> && adds_in_double<Fold>;
  locus::host::four_chunks group(std::int64_t k, total* t) const {
    std::int64_t const lowest = Backwards ? n - (k + 1) * chunk : k * chunk;
    return {x + lowest, r + lowest, Backwards ? -chunk : chunk, chunk, t};
  }
  /// means: chunks k ... k + lanes - 1 exist, and are of one length
  bool has_group(std::int64_t k) const { return (k + lanes) * chunk <= n; }
  void fold_group(std::int64_t k, total* t) const {
    if (has_group(k)) {
      if constexpr (by_registers)
        return LOCUS_SCAN_LOOP(fold)(group(k, t));
      else
        return fold_chunks<lanes>(k, t);
    }
    for (int l = 0; l < lanes && k + l < chunks; ++l) fold_chunks<1>(k + l, t + l);
  }
  void scan_group(std::int64_t k, total* t) const {
    if (has_group(k)) {
      if constexpr (by_registers)
        return LOCUS_SCAN_LOOP(scan)(group(k, t));
      else
        return scan<lanes>(k, t);
    }
    for (int l = 0; l < lanes && k + l < chunks; ++l) scan<1>(k + l, t + l);
  }
  /// means: t[l] = where chunk k + l begins, given their folds; returns where the next group begins
  total begin_chunks(std::int64_t k, total start, total* t) const {
    for (int l = 0; l < lanes && k + l < chunks; ++l) {
      total const own = t[l];
      t[l] = start;
      start = fold.combine(start, own);
    }
    return start;
  }

  /// means: this line and the three behind it, each of one chunk; line l begins with t[l]
  void scan_four_lines(total* t) const {
    std::int64_t const whole = n / 4 * 4, lowest = Backwards ? n - whole : 0;
    LOCUS_SCAN_LOOP(scan)(locus::host::four_chunks{x + lowest, r + lowest, n, whole, t});
    for (int l = 0; l < 4; ++l)
      for (std::int64_t j = whole; j < n; ++j) {
        std::int64_t const at = l * n + (Backwards ? n - 1 - j : j);
        total const next = fold.combine(t[l], fold.widen(x[at]));
        r[at] = fold.finish(Exclusive ? t[l] : next);
        t[l] = next;
      }
  }

  /// means: the scan of all whole groups, two or more, from start on, which becomes where the rest
  ///        begins; returns the first chunk of the rest
  std::int64_t scan_groups(total& start) const {
    workspace<float> const memory(2 * lanes * chunk);
    float *kept = memory.data(), *keep = kept + lanes * chunk;
    total t[lanes], next[lanes];
    LOCUS_SCAN_LOOP(fold_first)(group(0, t), kept);
    std::int64_t k = 0;
    for (; has_group(k + lanes); k += lanes) {
      start = begin_chunks(k, start, t);
      LOCUS_SCAN_LOOP(both)(group(k, t), kept, group(k + lanes, next), keep);
      for (int l = 0; l < lanes; ++l) t[l] = next[l];
      float* const other = kept;
      kept = keep, keep = other;
    }
    start = begin_chunks(k, start, t);
    scan_group(k, t);
    return k + lanes;
  }
  /// cost:  one pass over memory: a group is folded and scanned while it is in a cache
  void scan_from(total start) const {
    if (chunks == 1) return scan<1>(0, &start);
    std::int64_t k = 0;
    if constexpr (by_registers)
      if (has_group(lanes)) k = scan_groups(start);
    total t[lanes];
    for (; k < chunks; k += lanes) {
      fold_group(k, t);
      start = begin_chunks(k, start, t);
      scan_group(k, t);
    }
  }
  /// cost:  two passes, groups of chunks on several threads
  void scan_from(total start, int threads) const {
    std::int64_t const groups = (chunks + lanes - 1) / lanes;
    workspace<total> const memory(groups * lanes);
    total* const t = memory.data();
    auto const each_group = [&](auto const& f) {
      parallel_for(static_cast<int>(groups), threads, [&](int g) { f(g * lanes, t + g * lanes); });
    };
    each_group([&](std::int64_t k, total* own) { fold_group(k, own); });
    for (std::int64_t k = 0; k < chunks; k += lanes) start = begin_chunks(k, start, t + k);
    each_group([&](std::int64_t k, total* own) { scan_group(k, own); });
  }
};

#undef LOCUS_SCAN_LOOP

}  // namespace LOCUS_MODE
}  // namespace locus::algorithms::host
