// SPDX-License-Identifier: Apache-2.0
// The second kernel of a fold that is cut into parts: it adds the parts of each output and finishes them.
#pragma once
#include <locus/backend/cuda/folds.hpp>  // fold_end, fold_facts
#include <locus/backend/cuda/lines.hpp>  // quotient, unravel

namespace locus::cuda_side {
inline namespace LOCUS_MODE {

/// The parts of all outputs: 2^across_bits slots side by side, the other threads of a block down the parts.
template <class Work>
struct fold_the_parts {
  using facts = fold_facts<Work>;
  using all = typename facts::all;
  using total = typename all::total;
  fold_end<Work> end;
  unsigned across_bits;
  // slot j * vectors + v is element j of vector v; of rows each output is a vector
  int vector;
  std::int64_t length;  // of a line of outputs
  quotient vectors, in_line;
  unravel kept;
  kernel::access operands[facts::operands];

  LOCUS_EXEC_CHECK_DISABLE
  template <class Block>
  LOCUS_HOST_DEVICE void operator()(Block const& block) const {
    auto* const v = block.template shared<total, block_threads>();
    unsigned const across = 1u << across_bits;
    std::int64_t const first = std::int64_t(block.number()) << across_bits;
    block.each([&](unsigned t) {
      total mine = all::identity();
      std::int64_t const slot = first + (t & (across - 1));
      if (slot < end.in_part) add(mine, end.partials + slot, t >> across_bits);
      v[t] = mine;
    });
    for (unsigned half = block_threads / 2; half >= across; half /= 2)
      block.each([&](unsigned t) {
        if (t < half) v[t] = all::combine(v[t], v[t + half]);
      });
    block.apart([&](unsigned t) {
      std::int64_t n = first + t;
      if (t >= across || n >= end.in_part) return;
      std::int64_t const j = vectors.divide(n), line = in_line.divide(n), begin = n * vector + j;
      if (begin >= length) return;
      std::int64_t at[facts::operands];
      kept.template offsets<facts::operands>(line * length + begin, operands, at);
      end.finish(v[t], operands, at);
    });
  }

 private:
  /// every so many-th part, four under way at once
  LOCUS_HOST_DEVICE void add(total& to, total const* from, std::int64_t part) const {
    std::int64_t const step = block_threads >> across_bits;
    while (part < end.parts) {
      total some[4];
      for (int k = 0; k < 4; ++k) {
        std::int64_t const p = part + k * step;
        some[k] = from[(p < end.parts ? p : part) * end.in_part];
      }
      for (int k = 0; k < 4; ++k, part += step)
        to = all::combine(to, part < end.parts ? some[k] : all::identity());
    }
  }
};

}  // namespace LOCUS_MODE
}  // namespace locus::cuda_side
