// SPDX-License-Identifier: Apache-2.0
// What follows a fold on a GPU.
#pragma once
#include <locus/backend/cuda/folds.hpp>   // fold_facts
#include <locus/backend/cuda/inputs.hpp>  // input_pack, output_pack

namespace locus::cuda_side {
inline namespace LOCUS_MODE {

/// What is done with totals: the end of an output, or a part of it for fold_the_parts.
template <class Work>
struct fold_end {
  using facts = fold_facts<Work>;
  using all = typename facts::all;
  using total = typename all::total;
  decltype(Work::rest) rest;
  decltype(Work::means) means;
  total* partials;  // [output * output_step + part * part_step]; null with one part
  std::int64_t parts, output_step, part_step;

  /// at: the operands' offsets of the output
  LOCUS_EXEC_CHECK_DISABLE
  LOCUS_HOST_DEVICE void finish(total const& t, kernel::access const* operands,
                                std::int64_t const* at) const {
    output_pack<typename facts::outs>::write(
        rest(input_pack<typename facts::rows>::at(operands + facts::row, at + facts::row),
             all::finish(t, means.of)),
        operands + facts::out, at + facts::out);
  }
};

}  // namespace LOCUS_MODE
}  // namespace locus::cuda_side
