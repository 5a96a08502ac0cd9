// SPDX-License-Identifier: Apache-2.0
// A space as lines along its last axis, cut into vectors: which vector lies where, and how each
// operand lies along the lines.
#pragma once
#include <locus/backend/cuda/vectors.hpp>  // lay, unravel
#include <locus/kernel/call.hpp>           // space, access

namespace locus::cuda_side {
inline namespace LOCUS_MODE {

/// means: n / d and n % d; one multiplication where every n is below 2^31
struct quotient {
  divider narrow;
  std::int64_t wide = 1;
  bool small = true;
  quotient() = default;
  /// d at least 1, n at most `most`
  quotient(std::int64_t d, std::int64_t most)
      : narrow(most < (std::int64_t(1) << 31) ? static_cast<std::uint32_t>(d) : 1), wide(d),
        small(most < (std::int64_t(1) << 31)) {}
  LOCUS_HOST_DEVICE std::int64_t divide(std::int64_t& n) const {
    if (small) {
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

/// Count operands over axes of which the last is cut into vectors of Size elements; vector numbers
/// run along a line first. With a leader, vectors begin where the leader's addresses are multiples
/// of a vector, so that the first and the last of a line may be parts; without, only the last may.
template <int Count, int Size, bool HasLeader>
struct lines {
  static constexpr int places = Count + (HasLeader ? 1 : 0);
  std::int64_t length = 1, vectors = 0, in_line = 1, count = 1;  // count: lines
  quotient line;
  unravel outer;
  kernel::access operands[places];  // behind them: the leader's phase
  lay how[Count];

  /// a vector: offsets of the operands' lines, and its elements [begin, begin + Size) of the line
  struct place {
    std::int64_t at[places], begin;
    LOCUS_HOST_DEVICE bool is_whole(std::int64_t line_length) const {
      return begin >= 0 && begin + Size <= line_length;
    }
  };
  LOCUS_HOST_DEVICE place find(std::int64_t v) const {
    place p;
    if (count == 1)
      for (int k = 0; k < places; ++k) p.at[k] = 0;
    else
      outer.template offsets<places>(line.divide(v), operands, p.at);
    p.begin = v * Size;
    if constexpr (HasLeader)  // Size is a power of two, and the phase may be negative
      p.begin -= (operands[Count].base + p.at[Count]) & (Size - 1);
    return p;
  }
  LOCUS_HOST_DEVICE std::int64_t stride(int k) const { return operands[k].stride[max_rank - 1]; }

  lines() = default;
  /// the axes of `all` that are in `axes`; bytes: of an element of each operand, 0 for one without
  /// memory
  lines(kernel::space const& all, axis_set axes, kernel::access const* from, int const* bytes,
        int leader) {
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
    std::int64_t phase = 0, most = 0;
    if constexpr (HasLeader) {
      operands[Count] = {};
      if (leader >= 0) {
        operands[Count] = operands[leader];
        operands[Count].base = phase = element_number(from[leader], bytes[leader]);
        most = phase;
        for (int d = 0; d < before.rank; ++d)
          if (operands[leader].stride[d] % Size != 0) most = Size - 1;
      }
    }
    in_line = (length + most + Size - 1) / Size, vectors = count * in_line;
    line = quotient(in_line < 1 ? 1 : in_line, vectors);
    outer = unravel(before);
    for (int k = 0; k < Count; ++k) {
      how[k] = lay::strided;
      if (bytes[k] == 0 || stride(k) > 1 || stride(k) < 0) continue;
      how[k] = lay::constant;
      if (stride(k) == 0) continue;
      bool fits = (element_number(from[k], bytes[k]) - phase) % Size == 0;
      for (int d = 0; d < all.rank; ++d)
        if (d != last && all.extent[d] != 1)
          fits =
              fits && (from[k].stride[d] - (leader < 0 ? 0 : from[leader].stride[d])) % Size == 0;
      how[k] = fits ? lay::aligned : lay::shifted;
    }
  }

 private:
  static std::int64_t element_number(kernel::access const& a, int bytes) {
    return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(a.data) /
                                     static_cast<unsigned>(bytes) % Size);
  }
};

}  // namespace LOCUS_MODE
}  // namespace locus::cuda_side
