// SPDX-License-Identifier: Apache-2.0
// Sums over the rows of a batch, one for each channel: the gradients of gamma and beta.
#pragma once
#include <utility>  // integer_sequence

#include <locus/ops/reduce.hpp>  // sum

namespace locus::nn::detail {

/// means: r[c] = the sum of x[i, ..., c] over all axes but the last; Rank: of x
/// shape: (rows, ..., C) -> (C)
template <int Rank, class X>
auto sum_over_rows(X&& x) {
  return [&]<int... Axes>(std::integer_sequence<int, Axes...>) {
    return sum<Axes...>(x);
  }(std::make_integer_sequence<int, Rank - 1>{});
}

}  // namespace locus::nn::detail
