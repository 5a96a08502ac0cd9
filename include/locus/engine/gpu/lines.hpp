// SPDX-License-Identifier: Apache-2.0
// A space as lines along its last axis, cut into vectors: the place of each vector, and the layout
// of each operand along the lines.
#pragma once
#include <locus/core/macros.hpp>         // LOCUS_LEAN_BEGIN
#include <locus/engine/gpu/vectors.hpp>  // lay, unravel
#include <locus/work/call.hpp>           // space, access

LOCUS_LEAN_BEGIN

namespace locus::cuda_side {
inline namespace LOCUS_MODE {

/// means: n / d and n % d; by one multiplication if every n is below 2^31
struct quotient {
  divider narrow;
  std::int64_t wide = 1;
  bool is_small = true;
  quotient() = default;
  /// shape: d is at least 1, n at most `most`
  quotient(std::int64_t d, std::int64_t most)
      : narrow(most < (std::int64_t(1) << 31) ? static_cast<std::uint32_t>(d) : 1), wide(d),
        is_small(most < (std::int64_t(1) << 31)) {}
  LOCUS_HOST_DEVICE std::int64_t divide(std::int64_t& n) const {
    if (is_small) {
      auto const m = static_cast<std::uint32_t>(n);
      std::uint32_t const q = narrow.divide(m);
      n = m - q * narrow.by;
      return q;
    }
    std::int64_t const q = n / wide;
    n -= q * wide;
    return q;
  }
};

/// means: the index of element j of vector v; by_warps: 32 neighbouring vectors are interleaved, so
///        that their elements number j are contiguous
template <int Size>
LOCUS_HOST_DEVICE std::int64_t element_of_vector(std::int64_t v, int j, bool by_warps) {
  std::int64_t const lane = v & 31;
  return by_warps ? (v - lane) * Size + lane + j * 32 : v * Size + j;
}

/// Count operands over axes of which the last is cut into vectors of Size elements; vector numbers
/// run along a line first. The first vector begins with the line; the last one of a line may be
/// incomplete.
template <int Count, int Size>
struct lines {
  std::int64_t length = 1, vectors = 0, in_line = 1, count = 1;  // count: lines
  quotient line;
  unravel outer;
  kernel::access operands[Count];
  lay how[Count];

  /// a vector: offsets of its line in all operands; its elements [begin, begin + Size) of the line
  struct place {
    std::int64_t at[Count], begin;
  };
  LOCUS_HOST_DEVICE place find(std::int64_t v) const {
    place p;
    if (count == 1)
      for (int k = 0; k < Count; ++k) p.at[k] = 0;
    else
      outer.template offsets<Count>(line.divide(v), operands, p.at);
    p.begin = v * Size;
    return p;
  }
  LOCUS_HOST_DEVICE std::int64_t stride(int k) const { return operands[k].stride[max_rank - 1]; }

  lines() = default;
  /// takes the axes of `all` that are in `axes`; bytes: size of an element of each operand, 0 for
  /// an operand without memory
  lines(kernel::space const& all, axis_set axes, kernel::access const* from, int const* bytes) {
    kernel::space before;
    int last = -1;
    for (int k = 0; k < Count; ++k) operands[k] = {from[k].data, from[k].base, {}};
    for (int d = 0; d < all.rank; ++d) {
      if (!has_axis(axes, d)) continue;
      if (last >= 0) {
        for (int k = 0; k < Count; ++k) operands[k].stride[before.rank] = from[k].stride[last];
        before.extent[before.rank++] = all.extent[last];
      }
      last = d;
    }
    length = last < 0 ? 1 : all.extent[last], count = before.size();
    for (int k = 0; k < Count; ++k)
      operands[k].stride[max_rank - 1] = last < 0 ? 0 : from[k].stride[last];
    in_line = (length + Size - 1) / Size, vectors = count * in_line;
    line = quotient(in_line < 1 ? 1 : in_line, vectors);
    outer = unravel(before);
    for (int k = 0; k < Count; ++k) {
      how[k] = lay::strided;
      if (bytes[k] == 0 || stride(k) > 1 || stride(k) < 0) continue;
      how[k] = lay::constant;
      if (stride(k) == 0) continue;
      bool fits = place_in_vector<Size>(from[k], bytes[k]) == 0;
      for (int d = 0; d < all.rank; ++d)
        fits = fits && (d == last || all.extent[d] == 1 || from[k].stride[d] % Size == 0);
      how[k] = fits ? lay::aligned : lay::shifted;
    }
  }
};

}  // namespace LOCUS_MODE
}  // namespace locus::cuda_side

LOCUS_LEAN_END
