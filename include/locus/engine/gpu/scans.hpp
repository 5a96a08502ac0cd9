// SPDX-License-Identifier: Apache-2.0
// Scans and segmented folds on a GPU, as data, with loops on the host for a recorder.
#pragma once
#include <locus/engine/gpu/algorithm.hpp>  // algorithm_size
#include <locus/work/reducer.hpp>          // add_fn, maximum_fn, below_all

namespace locus::cuda_side {
inline namespace LOCUS_MODE {

/// means: the sum, maximum or minimum of a and b, as T; NaN if one of them is NaN
template <reduction R, class T>
struct combine_fn {
  LOCUS_HOST_DEVICE constexpr T operator()(T a, T b) const {
    if constexpr (R == reduction::sum)
      return static_cast<T>(add_fn{}(a, b));
    else if constexpr (R == reduction::max)
      return maximum_fn{}(a, b);
    else
      return minimum_fn{}(a, b);
  }
  /// the fold of no values
  static constexpr T identity = R == reduction::sum   ? T(0)
                                : R == reduction::max ? kernel::below_all<T>
                                                      : kernel::above_all<T>;
};

/// means: out[i] = the fold of in[0] ... in[i]; of in[0] ... in[i - 1] if Exclusive
/// shape: in (n), out (n); out may be in
/// after: CUB's decoupled look-back: float sums have no fixed order, so that their last bits vary
template <bool Exclusive, reduction R, class T>
struct scan {
  static constexpr char const* name =
      Exclusive ? "cub::DeviceScan::ExclusiveScan" : "cub::DeviceScan::InclusiveScan";
  std::int64_t n;
  T const* in;
  T* out;

  algorithm_size size() const { return {n, 0}; }
  void host() const {
    T total = combine_fn<R, T>::identity;
    for (std::int64_t i = 0; i < n; ++i) {
      T const before = total, own = in[i];
      total = i == 0 ? own : combine_fn<R, T>{}(total, own);
      out[i] = Exclusive ? before : total;
    }
  }
};

/// means: out[s] = the fold of in[offsets[s]] ... in[offsets[s + 1] - 1]; the identity for an empty
///        segment
/// shape: in (n), offsets (segments + 1), out (segments)
/// after: a block for each segment: the order depends on the card's generation only
template <reduction R, class T>
struct fold_segments {
  static constexpr char const* name = "cub::DeviceSegmentedReduce::Reduce";
  std::int64_t segments;
  T const* in;
  std::int64_t const* offsets;
  T* out;

  algorithm_size size() const { return {segments, 0}; }
  void host() const {
    for (std::int64_t s = 0; s < segments; ++s) {
      T total = combine_fn<R, T>::identity;
      for (std::int64_t i = offsets[s]; i < offsets[s + 1]; ++i)
        total = combine_fn<R, T>{}(total, in[i]);
      out[s] = total;
    }
  }
};

/// means: for each run of equal keys, its last key (-0.0 equals 0.0) and the fold of its values;
///        *count = number of runs
/// shape: keys, in (n); unique, out: room for n
/// after: CUB's look-back: float sums have no fixed order; each NaN is a run of its own
template <reduction R, class Key, class T>
struct fold_by_key {
  static constexpr char const* name = "cub::DeviceReduce::ReduceByKey";
  std::int64_t n;
  Key const* keys;
  T const* in;
  Key* unique;
  T* out;
  std::int64_t* count;

  algorithm_size size() const { return {n, 0}; }
  void host() const {
    std::int64_t found = 0;
    for (std::int64_t i = 0; i < n; ++i)
      if (i == 0 || !(keys[i] == keys[i - 1]))
        unique[found] = keys[i], out[found++] = in[i];
      else
        unique[found - 1] = keys[i], out[found - 1] = combine_fn<R, T>{}(out[found - 1], in[i]);
    *count = found;
  }
};

}  // namespace LOCUS_MODE
}  // namespace locus::cuda_side
