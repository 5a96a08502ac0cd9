// SPDX-License-Identifier: Apache-2.0
// The second kernel of a fold in parts: it combines the parts of each output and finishes the
// output.
#pragma once
#include <locus/core/macros.hpp>         // LOCUS_LEAN_BEGIN
#include <locus/engine/gpu/folds.hpp>    // fold_end, fold_facts
#include <locus/engine/gpu/lines.hpp>    // quotient, unravel
#include <locus/engine/gpu/vectors.hpp>  // keep_loads_in_front

LOCUS_LEAN_BEGIN

namespace locus::cuda_side {
inline namespace LOCUS_MODE {

/// A block takes 2^across_bits neighbouring slots; its other threads share the parts of each slot.
template <class Work>
struct fold_the_parts {
  using facts = fold_facts<Work>;
  using all = typename facts::all;
  using total = typename all::total;
  fold_end<Work> end;
  unsigned across_bits;
  // slot j * vectors + v is element j of vector v; in folds along rows, each output is a vector of
  // its own
  int vector;
  std::int64_t length;  // of a line of outputs
  bool by_warps;        // elements of a vector are not contiguous
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
      std::int64_t const j = vectors.divide(n), line = in_line.divide(n),
                         begin = by_warps ? element_of_vector<facts::vector>(n, int(j), true)
                                          : n * vector + j;
      if (begin >= length) return;
      std::int64_t at[facts::operands];
      kept.template offsets<facts::operands>(line * length + begin, operands, at);
      end.finish(v[t], operands, at);
    });
  }

 private:
  /// combines every step-th part; four loads at once
  LOCUS_HOST_DEVICE void add(total& to, total const* from, std::int64_t part) const {
    std::int64_t const step = block_threads >> across_bits;
    for (; part + 3 * step < end.parts; part += 4 * step) {
      total some[4];
      for (int k = 0; k < 4; ++k) some[k] = from[(part + k * step) * end.in_part];
      keep_loads_in_front();
      for (total const& one : some) to = all::combine(to, one);
    }
    for (; part < end.parts; part += step) to = all::combine(to, from[part * end.in_part]);
  }
};

}  // namespace LOCUS_MODE
}  // namespace locus::cuda_side

LOCUS_LEAN_END
