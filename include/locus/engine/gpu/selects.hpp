// SPDX-License-Identifier: Apache-2.0
// Selections, runs and histograms on a GPU, as data, with loops on the host for a recorder.
#pragma once
#include <locus/engine/gpu/algorithm.hpp>  // algorithm_size

namespace locus::cuda_side {
inline namespace LOCUS_MODE {

/// means: out = the elements with a set flag, in order; *count = their number
/// shape: in, flags (n); out: room for n
template <class T>
struct select_flagged {
  static constexpr char const* name = "cub::DeviceSelect::Flagged";
  std::int64_t n;
  T const* in;
  bool const* flags;
  T* out;
  std::int64_t* count;

  algorithm_size size() const { return {n, 0}; }
  void host() const {
    std::int64_t found = 0;
    for (std::int64_t i = 0; i < n; ++i)
      if (flags[i]) out[found++] = in[i];
    *count = found;
  }
};

/// means: out = the i of [0, n) with a set flag, in order; *count = their number
/// shape: flags (n); out: room for n
template <class Number>
struct select_numbers {
  static constexpr char const* name = "cub::DeviceSelect::Flagged";
  std::int64_t n;
  bool const* flags;
  Number* out;
  std::int64_t* count;

  algorithm_size size() const { return {n, 0}; }
  void host() const {
    std::int64_t found = 0;
    for (std::int64_t i = 0; i < n; ++i)
      if (flags[i]) out[found++] = static_cast<Number>(i);
    *count = found;
  }
};

/// means: for each run of equal keys, its first key and the index of it; *count = number of runs
/// shape: keys (n); unique, first: room for n
template <class Key, class Number>
struct first_of_runs {
  static constexpr char const* name = "cub::DeviceSelect::UniqueByKey";
  std::int64_t n;
  Key const* keys;
  Key* unique;
  Number *first, *count;

  algorithm_size size() const { return {n, 0}; }
  void host() const {
    Number found = 0;
    for (std::int64_t i = 0; i < n; ++i)
      if (i == 0 || !(keys[i] == keys[i - 1]))
        unique[found] = keys[i], first[found++] = static_cast<Number>(i);
    *count = found;
  }
};

/// means: for each run of equal keys, its last key (-0.0 equals 0.0) and its length; *count =
///        number of runs
/// shape: keys (n), n below 2^31; unique, lengths: room for n
template <class Key>
struct run_lengths {
  static constexpr char const* name = "cub::DeviceRunLengthEncode::Encode";
  std::int64_t n;
  Key const* keys;
  Key* unique;
  std::int32_t* lengths;
  std::int64_t* count;

  algorithm_size size() const { return {n, 0}; }
  void host() const {
    std::int64_t found = 0;
    for (std::int64_t i = 0; i < n; ++i)
      if (i == 0 || !(keys[i] == keys[i - 1]))
        unique[found] = keys[i], lengths[found++] = 1;
      else
        unique[found - 1] = keys[i], ++lengths[found - 1];
    *count = found;
  }
};

/// means: counts[b] = number of x with levels[b] <= x < levels[b + 1]; NaN and values outside all
///        bins are not counted
/// shape: in (n); levels (bins + 1), rising; counts (bins)
template <class T>
struct histogram {
  static constexpr char const* name = "cub::DeviceHistogram::HistogramRange";
  std::int64_t n;
  T const* in;
  int bins;
  T const* levels;
  std::int32_t* counts;

  algorithm_size size() const { return {n, bins}; }
  void host() const {
    for (int b = 0; b < bins; ++b) counts[b] = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      if (!(in[i] >= levels[0] && in[i] < levels[bins])) continue;
      int low = 0, high = bins;  // levels[low] <= in[i] < levels[high]
      while (high - low > 1) {
        int const middle = (low + high) / 2;
        (in[i] < levels[middle] ? high : low) = middle;
      }
      ++counts[low];
    }
  }
};

/// means: counts[b] = number of numbers that are b, for b in [0, bins); other numbers are not
///        counted
/// shape: numbers (n), n below 2^31; counts (bins), bins > 0
template <class Number>
struct count_numbers {
  static constexpr char const* name = "cub::DeviceHistogram::HistogramEven";
  std::int64_t n;
  Number const* numbers;
  int bins;
  std::int32_t* counts;

  algorithm_size size() const { return {n, bins}; }
  void host() const {
    for (int b = 0; b < bins; ++b) counts[b] = 0;
    for (std::int64_t i = 0; i < n; ++i)
      if (numbers[i] >= 0 && numbers[i] < bins) ++counts[numbers[i]];
  }
};

}  // namespace LOCUS_MODE
}  // namespace locus::cuda_side
