// SPDX-License-Identifier: Apache-2.0
// Results whose true extent data decide: with room for the worst case, or as many as were counted.
#pragma once
#include <locus/shape/shape.hpp>  // shape

namespace locus::algorithms {

// An operation with a count has a rule with
//   static constexpr shape infer_for(std::int64_t room, int result, shape... operands)
//       the extents of a result with that room; dyn: room for the worst case
// and bodies that store as many as there are, then zeros up to the extent of the result. Its last
// result is the count.

/// Whose room is that of the worst case, which the extents of the operands say.
template <class Rule>
struct with_room : Rule {
  template <class... Shapes>
  static constexpr shape infer(int r, Shapes const&... s) {
    return Rule::infer_for(dyn, r, s...);
  }
};
/// Whose room is known when the program runs.
template <class Rule>
struct with_count : Rule {
  std::int64_t room = dyn;
  template <class... Shapes>
  constexpr shape infer(int r, Shapes const&... s) const {
    return Rule::infer_for(room, r, s...);
  }
};

}  // namespace locus::algorithms
