// SPDX-License-Identifier: Apache-2.0
// What a loop kernel runs over: rows of elements, and where each operand lies in them. The types of
// elements are the kernel's; loop nests know bytes alone, and so stand once for all kernels.
#pragma once
#include <cstdint>  // int64_t, intptr_t

#include <locus/core/macros.hpp>  // LOCUS_RUN_MODE

namespace locus::host {
inline namespace LOCUS_RUN_MODE {

/// means: element j of row r lies at `at + r * row + j * step`; of an index operand, which has no
///        memory, that sum is the value     units: bytes; of an index operand 1
struct plane_operand {
  std::intptr_t at, step, row;
};

/// means: `rows` rows of n elements; inputs first, then outputs     streams: past the caches
struct plane {
  plane_operand const* operands;
  std::int64_t rows, n;
  bool streams;
};

/// What a kernel is called with: its functor, and the results of folds before it.
template <class Stage, class Folds>
struct map_context {
  Stage const& f;
  Folds const& folds;
};

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::host
