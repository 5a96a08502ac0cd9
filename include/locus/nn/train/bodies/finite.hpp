// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that nn/train/finite.hpp declares.
#pragma once
#include <locus/core/macros.hpp>      // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/nn/train/finite.hpp>  // the declarations

LOCUS_COLD_BEGIN

namespace locus::nn::detail {

LOCUS_FUNCTION bool is_not_finite(tensor_block const& b) {
  if (row_of(b.type).kind != element_kind::floating) return false;
  block_owner const host =
      locus::internal::make_storage(single(cpu(0)), b.extents, b.type, b.element_bytes);
  locus::internal::move_block(b, *host.get());
  void const* const data = host->pieces[0].data;
  std::int64_t const n = b.extents.size();
  return b.type == element::f32   ? has_no_number<float>(data, n)
         : b.type == element::f64 ? has_no_number<double>(data, n)
         : b.type == element::f16 ? has_no_number<half>(data, n)
                                  : has_no_number<bfloat16>(data, n);
}

LOCUS_FUNCTION void refuse_loss(std::int64_t step, int epoch, std::int64_t batch,
                                std::string_view bad_part, std::string const& layer,
                                std::vector<stored> const& weights) {
  message text;
  text << "locus: the loss is no finite number in step " << step << " (epoch " << epoch + 1
       << ", batch " << batch + 1 << "): ";
  std::string_view bad_weight;
  for (stored const& w : weights)
    if (bad_weight.empty() && is_not_finite(*w.block)) bad_weight = w.name;
  if (!bad_part.empty())
    text << bad_part
         << " NaN or infinity; look at the data, or write "
            ".require_finite() behind the dataset";
  else if (!layer.empty()) {
    text << "the first layer that makes NaN or infinity is '" << std::string_view(layer) << "'";
    if (!bad_weight.empty())
      text << ", and '" << bad_weight << "' holds some already; lower the learning rate, or clip";
    else
      text << ", whose weights are finite; scale the data or lower the learning rate";
  } else
    text << "all layers, targets and weights are finite, so it is the loss: a label that is no "
            "class, a logarithm of 0, or a number that is too large";
  throw not_finite(text);
}

}  // namespace locus::nn::detail

LOCUS_COLD_END
