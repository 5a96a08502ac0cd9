// SPDX-License-Identifier: Apache-2.0
// The first k elements of lines, on the host.
#pragma once
#include <algorithm>  // nth_element, sort

#include <locus/algorithms/line_blocks.hpp>  // for_blocks_of_lines
#include <locus/algorithms/top_k_order.hpp>  // merit_of, top_rows
#include <locus/core/array.hpp>              // dynamic_array
#include <locus/core/macros.hpp>             // LOCUS_MODE
#include <locus/runtime/threads.hpp>         // parallel_for, threads_worth

namespace locus::algorithms::host {
inline namespace LOCUS_MODE {

/// The merit of the worst of the best elements: what is not above it is passed over.
template <bool Smallest, class T>
class merit_bar {
 public:
  using bits = cuda_side::key_bits<T>;
  bool is_set() const { return is_set_; }
  /// no element has more merit
  bool is_highest() const { return merit_ == highest; }
  bool is_below(bits merit) const { return !is_set_ || merit > merit_; }
  /// means: the same for an element, once the bar is set, and not the highest
  bool is_below_element(T x) const {
    auto const v = static_cast<compute_t<T>>(x);
    return Smallest ? !(v >= value_) : !(v <= value_);
  }
  void set(bits merit) {
    is_set_ = true, merit_ = merit;
    value_ = static_cast<compute_t<T>>(
        cuda_side::key_order<T>::key(Smallest ? static_cast<bits>(highest ^ merit) : merit));
  }

 private:
  static constexpr bits highest = static_cast<bits>(-1);
  bool is_set_ = false;
  bits merit_ = 0;
  compute_t<T> value_ = 0;
};

/// The best K elements, few of them, in their order.
template <bool Smallest, class T, std::int64_t K>
class few_best {
 public:
  using bits = cuda_side::key_bits<T>;
  merit_bar<Smallest, T> bar;

  void insert(bits merit, std::int64_t place) {
    if (!bar.is_below(merit)) return;
    std::int64_t j = count_ < K ? count_++ : K - 1;
    for (; j > 0 && merits_[j - 1] < merit; --j)
      merits_[j] = merits_[j - 1], places_[j] = places_[j - 1];
    merits_[j] = merit, places_[j] = place;
    if (count_ == K) bar.set(merits_[K - 1]);
  }
  /// means: puts the elements into their order; returns their number
  std::int64_t sort() { return count_; }
  void clear() { count_ = 0, bar = {}; }
  std::int64_t place(std::int64_t j) const { return places_[j]; }
  bits merit(std::int64_t j) const { return merits_[j]; }

 private:
  std::int64_t count_ = 0;
  bits merits_[K];
  std::int64_t places_[K];
};
/// The best K elements, many of them: candidates gather, and when there are 2 K, the worse ones go.
template <bool Smallest, class T, std::int64_t K>
class many_best {
 public:
  using bits = cuda_side::key_bits<T>;
  merit_bar<Smallest, T> bar;

  void insert(bits merit, std::int64_t place) {
    if (!bar.is_below(merit)) return;
    items_.push({merit, place});
    if (items_.size() == 2 * most) keep_best();
  }
  std::int64_t sort() {
    if (items_.size() > most) keep_best();
    std::sort(items_.begin(), items_.end());
    return static_cast<std::int64_t>(items_.size());
  }
  void clear() { items_.clear(), bar = {}; }
  std::int64_t place(std::int64_t j) const { return items_[std::size_t(j)].place; }
  bits merit(std::int64_t j) const { return items_[std::size_t(j)].merit; }

 private:
  static constexpr auto most = static_cast<std::size_t>(K);
  struct item {
    bits merit;
    std::int64_t place;
    friend bool operator<(item const& a, item const& b) {
      return a.merit != b.merit ? a.merit > b.merit : a.place < b.place;
    }
  };
  void keep_best() {
    std::nth_element(items_.begin(), items_.begin() + K - 1, items_.end());
    items_.resize(most);
    bar.set(items_[most - 1].merit);
  }
  dynamic_array<item> items_;
};
template <bool Smallest, class T, std::int64_t K>
using best_elements =
    std::conditional_t<(K <= 64), few_best<Smallest, T, K>, many_best<Smallest, T, K>>;

/// means: offers x[i], which stands at place + i, behind all places that were offered before
/// cost:  64 elements of which none is above the bar are one loop of comparisons
template <bool Smallest, class T, class Best>
void offer(Best& best, T const* x, std::int64_t n, std::int64_t place) {
  constexpr std::int64_t block = 64;
  std::int64_t i = 0;
  for (; i < n && !best.bar.is_set(); ++i) best.insert(merit_of<Smallest>(x[i]), place + i);
  while (i < n && !best.bar.is_highest()) {
    std::int64_t const end = i + block < n ? i + block : n;
    if (end == i + block) {
      auto const bar = best.bar;
      int any = 0;
      for (std::int64_t j = 0; j < block; ++j) any |= int(bar.is_below_element(x[i + j]));
      if (!any) {
        i = end;
        continue;
      }
    }
    for (; i < end; ++i)
      if (best.bar.is_below_element(x[i])) best.insert(merit_of<Smallest>(x[i]), place + i);
  }
}

/// means: values, places [o, to.first + j, c] = element j of x[o, ., c] in the order of merit, and
///        its place + to.base, for j in [0, K) that the line has; other rows are 0
/// shape: x (outer, n, inner); values, places (outer, to.rows, inner), or null
/// cost:  one pass; lines, or parts of long lines, on several threads
template <bool Smallest, std::int64_t K, class T>
void top_of_lines(T const* x, T* values, std::int64_t* places, std::int64_t outer, std::int64_t n,
                  std::int64_t inner, top_rows const& to) {
  using best = best_elements<Smallest, T, K>;
  constexpr std::int64_t most = 8, rows_at_once = 512;  // columns and rows of a tile
  std::int64_t const bands = (inner + most - 1) / most, lines = outer * bands;
  if (to.rows != K || n < K)
    for (std::int64_t i = 0; i < outer * to.rows * inner; ++i) {
      if (values) values[i] = T(0);
      if (places) places[i] = 0;
    }
  if (outer * n * inner == 0) return;
  auto const width_of = [&](std::int64_t line) {
    std::int64_t const rest = inner - line % bands * most;
    return rest < most ? rest : most;
  };
  // rows [first, end) of the columns of a band
  auto const offer_rows = [&](std::int64_t line, std::int64_t first, std::int64_t end, best* all) {
    T const* const from = x + line / bands * n * inner + line % bands * most;
    if (inner == 1) return offer<Smallest>(*all, from + first, end - first, first);
    T tile[most][rows_at_once];
    for (std::int64_t j = first; j < end; j += rows_at_once) {
      std::int64_t const rows = end - j < rows_at_once ? end - j : rows_at_once,
                         width = width_of(line);
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t w = 0; w < width; ++w) tile[w][r] = from[(j + r) * inner + w];
      for (std::int64_t w = 0; w < width; ++w) offer<Smallest>(all[w], tile[w], rows, j);
    }
  };
  auto const deliver = [&](std::int64_t line, best* all) {
    std::int64_t const o = line / bands, c = line % bands * most;
    for (std::int64_t w = 0; w < width_of(line); ++w)
      for (std::int64_t j = 0, found = all[w].sort(); j < found; ++j) {
        std::int64_t const place = all[w].place(j),
                           at = (o * to.rows + to.first + j) * inner + c + w;
        if (values) values[at] = x[(o * n + place) * inner + c + w];
        if (places) places[at] = to.base + place;
      }
  };
  int const threads = threads_worth(static_cast<float>(outer * n * inner) * 0.5f);
  if (lines >= threads || n < 65536) {
    std::int64_t const wide = inner < most ? inner : most;
    for_blocks_of_lines(lines, n * wide, threads, [&](std::int64_t first, std::int64_t end) {
      best all[most];
      for (std::int64_t line = first; line < end; ++line) {
        for (std::int64_t w = 0; w < wide; ++w) all[w].clear();
        offer_rows(line, 0, n, all);
        deliver(line, all);
      }
    });
    return;
  }
  for (std::int64_t line = 0; line < lines; ++line) {  // parts of a line on several threads
    std::int64_t const width = width_of(line), each = n / threads, lists = threads * width;
    dynamic_array<best> all;
    all.resize(static_cast<std::size_t>(lists));
    parallel_for(threads, threads, [&](int part) {
      offer_rows(line, part * each, part + 1 < threads ? (part + 1) * each : n,
                 all.begin() + part * width);
    });
    for (std::int64_t k = width; k < lists; ++k) {
      best &from = all[static_cast<std::size_t>(k)], &to_line = all[std::size_t(k % width)];
      for (std::int64_t j = 0, found = from.sort(); j < found; ++j)
        to_line.insert(from.merit(j), from.place(j));
    }
    deliver(line, all.begin());
  }
}

}  // namespace LOCUS_MODE
}  // namespace locus::algorithms::host
