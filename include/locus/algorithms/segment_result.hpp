// SPDX-License-Identifier: Apache-2.0
// The element type of a fold of segments.
#pragma once
#include <type_traits>  // conditional

#include <locus/device/device.hpp>  // reduction
#include <locus/shape/element.hpp>  // sum_t

namespace locus::algorithms {

/// means: that of sum(x) for sums, that of x for extrema
template <reduction R, class T>
using segment_result = std::conditional_t<R == reduction::sum, sum_t<T>, T>;

}  // namespace locus::algorithms
