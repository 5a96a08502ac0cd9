// SPDX-License-Identifier: Apache-2.0
// The operands of a loop kernel: rows of elements. The kernel knows element types; loop nests know
// bytes only, and are shared by all kernels.
#pragma once
#include <cstdint>  // int64_t, intptr_t

#include <locus/core/macros.hpp>  // LOCUS_RUN_MODE

namespace locus::host {
inline namespace LOCUS_RUN_MODE {

/// means: element j of row r is at `at + r * row + j * step`; an index operand has no memory: that
///        sum is its value     units: bytes; 1 for an index operand
struct plane_operand {
  std::intptr_t at, step, row;
};

/// means: `rows` rows of n elements; inputs, then outputs     streams: uses streaming stores
struct plane {
  plane_operand const* operands;
  std::int64_t rows, n;
  bool streams;
};

/// The functor of a kernel, and the results of the folds before it: those of row r are
/// folds[r * each], so that all rows have the same if each is 0.
template <class Stage, class Folds>
struct map_context {
  Stage const& f;
  Folds const* folds;
  std::int64_t each = 0;
};

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::host
