// SPDX-License-Identifier: Apache-2.0
// Memory and layouts of the values of a run: extents of pieces, views, byte ranges, overlaps.
#pragma once
#include <locus/core/macros.hpp>   // LOCUS_LEAN_BEGIN, LOCUS_FUNCTION
#include <locus/expr/builder.hpp>  // local_value
#include <locus/plan/data.hpp>     // plan_view
#include <locus/run/program.hpp>   // local_layout

namespace locus::detail {
/// means: the bytes of a value, from its lowest element to its highest one, gaps included
struct byte_range {
  void const* first = nullptr;
  std::int64_t bytes = 0;
  constexpr bool overlaps(byte_range const& o) const {
    auto const *x = static_cast<char const*>(first), *y = static_cast<char const*>(o.first);
    return x < y + o.bytes && y < x + bytes;
  }
  /// means: the bytes that both have
  constexpr byte_range common(byte_range const& o) const {
    auto const *x = static_cast<char const*>(first), *y = static_cast<char const*>(o.first),
               *begin = x < y ? y : x, *end = x + bytes < y + o.bytes ? x + bytes : y + o.bytes;
    return {begin, end > begin ? end - begin : 0};
  }
  friend constexpr bool operator==(byte_range const&, byte_range const&) = default;
};
}  // namespace locus::detail

LOCUS_LEAN_BEGIN

namespace locus {

namespace internal {

/// means: the extents of replica r of a value
LOCUS_FUNCTION void local_extents(shape const& whole, place const& where, int r, std::int64_t* out);

}  // namespace internal

namespace detail {

/// means: the value at `data`, with its elements in row order
LOCUS_FUNCTION local_value dense_value(void* data, shape const& whole, place const& where, int r,
                                       local_layout& layout);

/// means: the part [begin, begin + n) of one axis
LOCUS_FUNCTION local_value part_of(local_value const& v, int rank, int axis, std::int64_t begin,
                                   std::int64_t n, int element_bytes, local_layout& layout);

LOCUS_FUNCTION bool is_dense(local_value const& v, int rank);
LOCUS_FUNCTION std::int64_t size_of(local_value const& v, int rank);
/// means: for some order of the axes the elements lie without gaps: a copy of the block keeps the
///        strides
LOCUS_FUNCTION bool is_block(local_value const& v, int rank);
LOCUS_FUNCTION byte_range range_of(local_value const& v, int rank, int element_bytes);
/// means: a and b have the same elements at the same addresses
LOCUS_FUNCTION bool same_layout(local_value const& a, local_value const& b, int rank);

/// means: piece r of a whole value
LOCUS_FUNCTION local_value piece_of(local_value const& whole, int rank, place const& cut, int r,
                                    shape const& extents, int element_bytes, local_layout& layout);

/// means: view step i of the operand `from`, on replica r
LOCUS_FUNCTION local_value view_value(plan_view const& p, short i, int r, local_value const& from,
                                      shape const* extents, void const* const* objects,
                                      local_layout& layout);

}  // namespace detail

}  // namespace locus

LOCUS_LEAN_END

namespace locus::detail {
/// A value that a kernel reads or writes.
struct memory_value {
  local_value at;
  int rank, element_bytes;
};
/// The overlap of two values. none: their byte ranges are disjoint; same: the same elements at the
/// same indices; other: anything else.
enum class overlap : unsigned char { none, same, other };
/// means: the overlap of a and b. With `none` a kernel may read a and write b; with `same`, only if
///        it reads an element at the index that it writes
inline overlap find_overlap(memory_value const& a, memory_value const& b) {
  if (!range_of(a.at, a.rank, a.element_bytes).overlaps(range_of(b.at, b.rank, b.element_bytes)))
    return overlap::none;
  bool const same =
      a.rank == b.rank && a.element_bytes == b.element_bytes && same_layout(a.at, b.at, a.rank);
  return same ? overlap::same : overlap::other;
}
}  // namespace locus::detail

#if LOCUS_HAS_BODIES
#include <locus/run/bodies/values.hpp>  // bodies of the functions above
#endif
