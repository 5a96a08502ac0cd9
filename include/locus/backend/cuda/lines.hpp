// SPDX-License-Identifier: Apache-2.0
// A space as lines along its last axis, cut into vectors: which vector lies where, and how each
// operand lies along the lines.
#pragma once
#include <locus/backend/cuda/vectors.hpp>  // lay, unravel
#include <locus/kernel/call.hpp>           // space, access

namespace locus::cuda {
inline namespace LOCUS_MODE {

/// means: n / d and n % d; one multiplication where every n is below 2^31
struct quotient {
  divider narrow;
  std::int64_t wide = 1;
  bool small = true;
  quotient() = default;
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

/// Count operands over a space whose last axis is cut into vectors of Size elements. Vector numbers
/// run along a line first. With a leader, vectors begin where the leader's addresses are multiples
/// of a vector, so that the first one and the last one of a line may be parts.
template <int Count, int Size>
struct lines {
  std::int64_t length = 1, vectors = 0, in_line = 1, count = 1;  // count: lines
  quotient line;
  unravel outer;
  kernel::access operands[Count + 1];  // behind them: the leader's phase
  lay how[Count];

  /// a vector: offsets of the operands' lines, and its elements [begin, begin + Size) of the line
  struct place {
    std::int64_t at[Count + 1], begin;
  };
  LOCUS_HOST_DEVICE place find(std::int64_t v) const {
    place p;
    if (count == 1)
      for (int k = 0; k <= Count; ++k) p.at[k] = 0;
    else
      outer.template offsets<Count + 1>(line.divide(v), operands, p.at);
    // of a power of two; of a negative number, too
    std::int64_t const phase = (operands[Count].base + p.at[Count]) & (Size - 1);
    p.begin = v * Size - phase;
    return p;
  }
  LOCUS_HOST_DEVICE std::int64_t stride(int k) const { return operands[k].stride[max_rank - 1]; }

  lines() = default;
  /// leader: the operand that every vector must fit; -1: element 0 of a line begins a vector
  /// bytes: of an element of each operand, 0 for one without memory
  lines(kernel::space const& s, kernel::access const* all, int const* bytes, int leader) {
    int const last = s.rank - 1;
    kernel::space before = s;
    before.rank = last;
    length = s.extent[last], count = before.size();
    for (int k = 0; k < Count; ++k) {
      operands[k] = all[k];
      operands[k].stride[max_rank - 1] = all[k].stride[last];
    }
    kernel::access& phase = operands[Count];
    phase = {};
    if (leader >= 0) {
      for (int d = 0; d < last; ++d) phase.stride[d] = all[leader].stride[d];
      phase.base = element_number(all[leader], bytes[leader]);
    }
    std::int64_t most = leader < 0 ? 0 : phase.base & (Size - 1);
    for (int d = 0; d < last; ++d)
      if (s.extent[d] > 1 && phase.stride[d] % Size != 0) most = Size - 1;
    in_line = (length + most + Size - 1) / Size, vectors = count * in_line;
    line = quotient(in_line, vectors);
    outer = unravel(before);
    for (int k = 0; k < Count; ++k)
      how[k] = bytes[k] == 0 ? lay::strided : lay_of(s, all[k], phase, bytes[k]);
  }

 private:
  static std::int64_t element_number(kernel::access const& a, int bytes) {
    return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(a.data) /
                                     static_cast<unsigned>(bytes) % Size);
  }
  static lay lay_of(kernel::space const& s, kernel::access const& a, kernel::access const& phase,
                    int bytes) {
    int const last = s.rank - 1;
    if (a.stride[last] == 0) return lay::constant;
    if (a.stride[last] != 1) return lay::strided;
    bool fits = (element_number(a, bytes) - phase.base) % Size == 0;
    for (int d = 0; d < last; ++d)
      fits = fits && (s.extent[d] == 1 || (a.stride[d] - phase.stride[d]) % Size == 0);
    return fits ? lay::aligned : lay::shifted;
  }
};

}  // namespace LOCUS_MODE
}  // namespace locus::cuda
