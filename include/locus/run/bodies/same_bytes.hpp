// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that run/same_bytes.hpp declares.
#pragma once
#include <locus/run/same_bytes.hpp>  // the declarations
#include <locus/run/values.hpp>      // byte_range

LOCUS_COLD_BEGIN

namespace locus::detail {

/// means: a search for steps along the axes of two values that lead from a byte of one to the same
///        byte of the other; or of one value, from one of its elements to itself
/// cost:  a few tries for two views of one tensor; after 100,000 tries it gives up, and meet() and
///        returns() are false
class ways_between {
 public:
  ways_between(local_value const& a, int rank_a, int bytes_a, local_value const& b, int rank_b,
               int bytes_b)
      : distance_(static_cast<char const*>(b.data) - static_cast<char const*>(a.data)) {
    for (int k = 0; k < rank_a; ++k) add(a.strides[k] * bytes_a, 0, a.extents[k] - 1);
    for (int k = 0; k < rank_b; ++k) add(b.strides[k] * bytes_b, 1 - b.extents[k], 0);
    add(1, 1 - bytes_b, bytes_a - 1);
    order();
  }
  ways_between(std::int64_t const* extents, std::int64_t const* strides, int rank) : distance_(0) {
    for (int k = 0; k < rank; ++k) add(strides[k], 1 - extents[k], extents[k] - 1);
    order();
  }
  /// means: the two values have a byte in common
  bool meet() { return goes(0, distance_); }
  /// means: some steps, not all 0, lead back to the element where they began
  bool returns() {
    for (int k = 0; k < count_; ++k) {  // the longest step that is taken goes forward
      std::int64_t const step = axes_[k].step, last = high_[k + 1] / step;
      for (std::int64_t n = 1; n <= (last < axes_[k].most ? last : axes_[k].most); ++n) {
        if (++tried_ > most_tries) return false;
        if (goes(k + 1, -n * step)) return true;
      }
    }
    return false;
  }

 private:
  struct axis {
    std::int64_t step, least, most;
  };
  void order() {
    for (int i = 1; i < count_; ++i)  // the longest step first
      for (int k = i; k > 0 && axes_[k].step > axes_[k - 1].step; --k) {
        axis const longer = axes_[k];
        axes_[k] = axes_[k - 1], axes_[k - 1] = longer;
      }
    for (int k = count_; k-- > 0;) {
      low_[k] = low_[k + 1] + axes_[k].step * axes_[k].least;
      high_[k] = high_[k + 1] + axes_[k].step * axes_[k].most;
    }
  }
  void add(std::int64_t step, std::int64_t least, std::int64_t most) {
    if (step == 0 || least == most) return;
    if (step < 0) {
      std::int64_t const other = -least;
      step = -step, least = -most, most = other;
    }
    for (int k = 0; k < count_; ++k)
      if (axes_[k].step == step) {
        axes_[k].least += least, axes_[k].most += most;
        return;
      }
    axes_[count_++] = {step, least, most};
  }
  static std::int64_t floor_of(std::int64_t a, std::int64_t b) {
    return a / b - (a % b != 0 && a < 0);
  }
  /// means: steps along the axes from k on add up to `distance`
  bool goes(int k, std::int64_t distance) {
    if (k == count_) return distance == 0;
    axis const& me = axes_[k];
    std::int64_t const first = -floor_of(high_[k + 1] - distance, me.step),
                       last = floor_of(distance - low_[k + 1], me.step);
    for (std::int64_t n = first > me.least ? first : me.least;
         n <= (last < me.most ? last : me.most); ++n) {
      if (++tried_ > most_tries) return false;
      if (goes(k + 1, distance - n * me.step)) return true;
    }
    return false;
  }
  static constexpr int room = 2 * max_rank + 1, most_tries = 100'000;
  axis axes_[room];
  std::int64_t low_[room + 1]{}, high_[room + 1]{};
  std::int64_t distance_;
  int count_ = 0, tried_ = 0;
};

LOCUS_FUNCTION bool share_bytes(local_value const& a, int rank_a, int bytes_a, local_value const& b,
                                int rank_b, int bytes_b) {
  byte_range const x = range_of(a, rank_a, bytes_a), y = range_of(b, rank_b, bytes_b);
  if (x.bytes == 0 || y.bytes == 0 || !x.overlaps(y)) return false;
  return ways_between(a, rank_a, bytes_a, b, rank_b, bytes_b).meet();
}

}  // namespace locus::detail

namespace locus::internal {

LOCUS_FUNCTION bool repeats_elements(std::int64_t const* extents, std::int64_t const* strides,
                                     int rank) {
  std::int64_t lengths[max_rank], steps[max_rank];  // of axes with steps, the shortest step first
  int count = 0;
  for (int a = 0; a < rank; ++a)
    if (extents[a] == 0) return false;
  for (int a = 0; a < rank; ++a) {
    if (extents[a] == 1) continue;
    if (strides[a] == 0) return true;
    std::int64_t const step = strides[a] < 0 ? -strides[a] : strides[a];
    int k = count++;
    for (; k > 0 && steps[k - 1] > step; --k) steps[k] = steps[k - 1], lengths[k] = lengths[k - 1];
    steps[k] = step, lengths[k] = extents[a];
  }
  bool nested = true;  // each step is longer than all shorter ones together reach
  for (std::int64_t k = 0, reach = 0; k < count; ++k) {
    nested = nested && steps[k] > reach;
    reach += steps[k] * (lengths[k] - 1);
  }
  if (nested) return false;
  for (int a = 0; a < count; ++a)
    for (int b = 0; b < a; ++b) {
      std::int64_t x = steps[a], y = steps[b];
      while (y != 0) {
        std::int64_t const rest = x % y;
        x = y, y = rest;
      }
      if (steps[b] / x < lengths[a] && steps[a] / x < lengths[b]) return true;
    }
  return count > 2 && detail::ways_between(lengths, steps, count).returns();
}

}  // namespace locus::internal

LOCUS_COLD_END
