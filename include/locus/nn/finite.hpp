// SPDX-License-Identifier: Apache-2.0
// Where a NaN came from: the batch, a layer's weights, a layer, or the loss.
#pragma once
#include <string>  // string
#include <vector>  // vector

#include <locus/core/error.hpp>  // error
#include <locus/nn/layer.hpp>    // pass_watch
#include <locus/nn/stored.hpp>   // read_values

LOCUS_COLD_BEGIN

namespace locus::nn {

/// The loss of a training is no finite number.
struct not_finite : error {
  using error::error;
};

namespace detail {

template <class T>
bool has_no_number(void const* data, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    T const v = static_cast<T const*>(data)[i];
    if (!(v - v == T(0))) return true;
  }
  return false;
}
/// means: NaN or an infinity is among the elements
inline bool is_not_finite(tensor_block const& b) {
  if (b.type != element::f32 && b.type != element::f64) return false;
  block_owner const host =
      locus::detail::make_storage(single(cpu(0)), b.extents, b.type, b.element_bytes);
  locus::detail::move_block(b, *host.get());
  void const* const data = host->pieces[0].data;
  return b.type == element::f32 ? has_no_number<float>(data, b.extents.size())
                                : has_no_number<double>(data, b.extents.size());
}

/// the first layer whose output is not finite
struct finite_watch : pass_watch {
  std::string first;
  void saw(std::string_view layer, tensor_block const& y) override {
    if (first.empty() && is_not_finite(y)) first = layer;
  }
};

[[noreturn]] inline void refuse_loss(std::int64_t step, int epoch, std::int64_t batch,
                                     bool in_batch, std::string const& layer,
                                     std::vector<stored> const& weights) {
  message text;
  text << "locus: the loss is no finite number in step " << step << " (epoch " << epoch + 1
       << ", batch " << batch + 1 << "): ";
  std::string_view bad_weight;
  for (stored const& w : weights)
    if (bad_weight.empty() && is_not_finite(*w.block)) bad_weight = w.name;
  if (in_batch)
    text << "the batch itself holds NaN or infinity; look at the data, or write "
            ".require_finite() behind the dataset";
  else if (!layer.empty()) {
    text << "the first layer that makes NaN or infinity is '" << std::string_view(layer) << "'";
    if (!bad_weight.empty())
      text << ", and '" << bad_weight << "' holds some already; lower the learning rate, or clip";
    else
      text << ", whose weights are finite; scale the data or lower the learning rate";
  } else
    text << "all layers are finite, so it is the loss: a label that is no class, or a logarithm of "
            "0";
  throw not_finite(text);
}

}  // namespace detail
}  // namespace locus::nn

LOCUS_COLD_END
