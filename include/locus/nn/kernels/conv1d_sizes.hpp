// SPDX-License-Identifier: Apache-2.0
// The sizes of a convolution along one axis, with the pool behind it: every kernel reads them here.
#pragma once
#include <cstdint>  // int64_t

#include <locus/core/macros.hpp>  // LOCUS_HOST_DEVICE

namespace locus::nn {

/// The sizes of one convolution: x (batch, steps, channels), kernel (taps, channels / groups,
/// filters), y (batch, rows, filters).
struct conv1d_sizes {
  std::int64_t steps, channels, filters, taps;
  std::int64_t stride = 1, dilation = 1, groups = 1;
  std::int64_t left = 0, windows = 0;  // zeros in front of the example; rows of the convolution
  std::int64_t pool = 1;               // rows of which the largest is kept
  bool relu = false;

  LOCUS_HOST_DEVICE constexpr std::int64_t rows() const { return windows / pool; }
  LOCUS_HOST_DEVICE constexpr std::int64_t used() const {
    return rows() * pool;
  }  // windows that a pool reads
  LOCUS_HOST_DEVICE constexpr std::int64_t span() const { return (taps - 1) * dilation + 1; }
  LOCUS_HOST_DEVICE constexpr std::int64_t group_channels() const { return channels / groups; }
  LOCUS_HOST_DEVICE constexpr std::int64_t group_filters() const { return filters / groups; }
  LOCUS_HOST_DEVICE constexpr std::int64_t weights() const {
    return taps * group_channels() * filters;
  }
  /// units: multiplications for one example
  LOCUS_HOST_DEVICE constexpr std::int64_t work() const {
    return used() * taps * group_channels() * filters;
  }
  /// a window is one run of an example
  LOCUS_HOST_DEVICE constexpr bool contiguous() const { return dilation == 1 && groups == 1; }
};

}  // namespace locus::nn
