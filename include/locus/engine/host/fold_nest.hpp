// SPDX-License-Identifier: Apache-2.0
// The outer axes of a fold, and a group of its columns.
#pragma once
#include <cstdint>  // int64_t

#include <locus/work/call.hpp>  // space, access

namespace locus::host {
inline namespace LOCUS_MODE {

/// means: the outer axes of a space: kept axes and folded axes, each in loop order
struct fold_nest {
  kernel::space kept, folded;  // outer axes; the innermost axis of the space is in neither
  int kept_axis[max_rank]{}, folded_axis[max_rank]{};
  bool inner_folded = false;

  explicit fold_nest(kernel::space const& s) {
    inner_folded = has_axis(s.axes, s.rank - 1);
    for (int d = 0; d < s.rank - 1; ++d) {
      bool const fold = has_axis(s.axes, d);
      kernel::space& to = fold ? folded : kept;
      (fold ? folded_axis : kept_axis)[to.rank] = d;
      to.extent[to.rank++] = s.extent[d];
    }
  }
  /// means: the longest kept axis and the innermost kept axis change places
  void bring_longest_inside() {
    int const last = kept.rank - 1;
    int d = last;
    for (int other = last; other >= 0; --other)
      if (kept.extent[other] > kept.extent[d]) d = other;
    int const axis = kept_axis[d];
    std::int64_t const extent = kept.extent[d];
    kept_axis[d] = kept_axis[last], kept.extent[d] = kept.extent[last];
    kept_axis[last] = axis, kept.extent[last] = extent;
  }
  /// offset of an operand at point i of the kept, or of the folded, outer axes
  static std::int64_t offset(kernel::space const& part, int const* axes, kernel::access const& a,
                             std::int64_t i) {
    if (part.rank == 1) return i * a.stride[axes[0]];
    std::int64_t at = 0;
    for (int d = part.rank; d-- > 0;) {
      at += i % part.extent[d] * a.stride[axes[d]];
      i /= part.extent[d];
    }
    return at;
  }
  std::int64_t kept_offset(kernel::access const& a, std::int64_t i) const {
    return offset(kept, kept_axis, a, i);
  }
  std::int64_t folded_offset(kernel::access const& a, std::int64_t i) const {
    return offset(folded, folded_axis, a, i);
  }
};

/// Columns [first, first + width) of a fold whose innermost axis is kept; lines [begin, end).
struct column_run {
  fold_nest const& nest;
  kernel::access const* operands;
  std::int64_t const* at;  // offset of each operand at the first line
  int last;                // the innermost axis
  int first_element_out;   // number of the first element output
  std::int64_t first, width, begin, end;
  bool from_memory;  // the fold reads more bytes than the caches hold
};

}  // namespace LOCUS_MODE
}  // namespace locus::host
