// SPDX-License-Identifier: Apache-2.0
// The origin of a NaN: the batch, a weight, a layer, or the loss.
#pragma once
#include <string>       // string
#include <string_view>  // string_view
#include <vector>       // vector

#include <locus/core/error.hpp>                  // error
#include <locus/core/is_finite.hpp>              // is_finite
#include <locus/core/macros.hpp>                 // LOCUS_FUNCTION, LOCUS_HAS_TRAINING_BODIES
#include <locus/nn/layers/checkpoint_entry.hpp>  // stored
#include <locus/nn/layers/layer.hpp>             // pass_watch

LOCUS_COLD_BEGIN

namespace locus::nn {

/// The loss of a training is not finite.
struct not_finite : error {
  using error::error;
};

namespace detail {

template <class T>
bool has_no_number(void const* data, std::int64_t n) {
  using wide = std::conditional_t<sizeof(T) < 4, float, T>;
  for (std::int64_t i = 0; i < n; ++i) {
    if (!locus::internal::is_finite(static_cast<wide>(static_cast<T const*>(data)[i]))) return true;
  }
  return false;
}
/// means: some element is NaN or infinite
LOCUS_FUNCTION bool is_not_finite(tensor_block const& b);

/// the first layer with an output that is not finite
struct finite_watch : pass_watch {
  std::string first;
  void saw(std::string_view layer, tensor_block const& y) override {
    if (first.empty() && is_not_finite(y)) first = layer;
  }
};

/// bad_part: the part of the batch with NaN or infinity and its verb, or nothing
[[noreturn]] LOCUS_FUNCTION void refuse_loss(std::int64_t step, int epoch, std::int64_t batch,
                                             std::string_view bad_part, std::string const& layer,
                                             std::vector<stored> const& weights);

}  // namespace detail
}  // namespace locus::nn

LOCUS_COLD_END

#if LOCUS_HAS_TRAINING_BODIES
#include <locus/nn/train/bodies/finite.hpp>  // bodies of the functions above
#endif
