// SPDX-License-Identifier: Apache-2.0
// Shapes as values, and the rules that give an operation's shape from its operands' shapes.
#pragma once
#include <cstdint>  // int64_t

#include <locus/core/dyn.hpp>   // dyn
#include <locus/core/text.hpp>  // text_buffer

namespace locus {

/// The most axes that a tensor has.
inline constexpr int max_rank = 8;

struct shape {
  int rank = 0;
  std::int64_t extent[max_rank]{};

  /// means: the i-th extent from the right; 1 for i beyond the rank
  constexpr std::int64_t from_right(int i) const { return i < rank ? extent[rank - 1 - i] : 1; }
  constexpr bool is_static() const {
    for (int i = 0; i < rank; ++i)
      if (extent[i] == dyn) return false;
    return true;
  }
  /// units: elements
  constexpr std::int64_t size() const {
    std::int64_t n = 1;
    for (int i = 0; i < rank; ++i) n *= extent[i];
    return n;
  }
  friend constexpr bool operator==(shape const& a, shape const& b) {
    if (a.rank != b.rank) return false;
    for (int i = 0; i < a.rank; ++i)
      if (a.extent[i] != b.extent[i]) return false;
    return true;
  }
};

/// The result of a rule for operands that do not fit.
inline constexpr shape no_shape{-1, {}};
constexpr bool fits(shape const& s) { return s.rank >= 0; }

/// means: a 64-bit number can hold the bytes of a value of that shape, rounded up to a block
constexpr bool countable(shape const& s, std::int64_t element_bytes) {
  for (int i = 0; i < s.rank; ++i)
    if (s.extent[i] == 0) return true;
  for (int i = 0; i < s.rank; ++i)
    if (__builtin_mul_overflow(element_bytes, s.extent[i], &element_bytes)) return false;
  return element_bytes <= INT64_MAX - 256;
}

/// means: multiplies `bytes`, the size of an element, by each extent that is not 0. False: an
///        extent is negative, or the product and a block exceed 63 bits; no array, not even an
///        empty one, has such extents
/// after: NumPy, which refuses such extents too
constexpr bool bytes_of_extents(std::int64_t const* extents, std::size_t rank,
                                std::int64_t& bytes) {
  for (std::size_t a = 0; a < rank; ++a)
    if (extents[a] < 0 || (extents[a] > 0 && __builtin_mul_overflow(bytes, extents[a], &bytes)))
      return false;
  return bytes <= INT64_MAX - 256;
}

/// means: [2,3]; ? for a dynamic extent
template <std::size_t N>
constexpr text_buffer<N>& operator<<(text_buffer<N>& out, shape const& s) {
  out << "[";
  for (int i = 0; i < s.rank; ++i) {
    out << (i ? "," : "");
    if (s.extent[i] == dyn)
      out << "?";
    else
      out << s.extent[i];
  }
  return out << "]";
}

/// A set of axes, bit a for axis a.
using axis_set = unsigned char;
constexpr bool has_axis(axis_set axes, int a) { return (axes >> a & 1) != 0; }
constexpr axis_set all_axes(int rank) { return static_cast<axis_set>((1u << rank) - 1); }

// ---- the rules; a dynamic extent fits any other one, and binding compares them again ----

/// after: NumPy broadcasting: shapes are aligned at the last axis, an extent of 1 stretches
constexpr shape broadcast(shape const& a, shape const& b) {
  if (!fits(a) || !fits(b)) return no_shape;
  shape r{a.rank > b.rank ? a.rank : b.rank, {}};
  for (int i = 0; i < r.rank; ++i) {
    auto const x = a.from_right(i), y = b.from_right(i);
    if (x != y && x != 1 && y != 1 && x != dyn && y != dyn) return no_shape;
    r.extent[r.rank - 1 - i] = x == 1 ? y : y == 1 ? x : x == dyn ? y : x;
  }
  return r;
}

/// means: (m,k) x (k,n) -> (m,n); with a batch of matrices on either side (B,m,n): a single matrix,
///        or a batch of 1, multiplies every matrix of the other side
constexpr shape contract(shape const& a, shape const& b) {
  bool const matrices = a.rank >= 2 && a.rank <= 3 && b.rank >= 2 && b.rank <= 3;
  if (!matrices) return no_shape;
  std::int64_t const k = a.from_right(0), inner = b.from_right(1);
  if (k != inner && k != dyn && inner != dyn) return no_shape;
  if (a.rank == 2 && b.rank == 2) return {2, {a.extent[0], b.extent[1]}};
  shape const batch = broadcast({1, {a.from_right(2)}}, {1, {b.from_right(2)}});
  return fits(batch) ? shape{3, {batch.extent[0], a.from_right(1), b.from_right(0)}} : no_shape;
}

/// means: the extents without those axes; with `keep`, 1 in their place
constexpr shape reduced(shape const& a, axis_set axes, bool keep) {
  if (!fits(a)) return no_shape;
  shape r;
  for (int i = 0; i < a.rank; ++i)
    if (!has_axis(axes, i))
      r.extent[r.rank++] = a.extent[i];
    else if (keep)
      r.extent[r.rank++] = 1;
  return r;
}

/// means: r.extent[i] = a.extent[order[i]]
constexpr shape permuted(shape const& a, signed char const* order) {
  shape r{a.rank, {}};
  for (int i = 0; i < a.rank; ++i) r.extent[i] = a.extent[order[i]];
  return r;
}

/// means: a with an axis of extent 1 inserted at that position
constexpr shape expanded(shape const& a, int axis) {
  if (!fits(a) || a.rank == max_rank || axis < 0 || axis > a.rank) return no_shape;
  shape r{a.rank + 1, {}};
  for (int i = 0; i < r.rank; ++i) r.extent[i] = i == axis ? 1 : a.extent[i < axis ? i : i - 1];
  return r;
}

/// means: a without that axis
constexpr shape without_axis(shape const& a, int axis) {
  if (!fits(a) || axis < 0 || axis >= a.rank) return no_shape;
  shape r{a.rank - 1, {}};
  for (int i = 0; i < r.rank; ++i) r.extent[i] = a.extent[i < axis ? i : i + 1];
  return r;
}

/// means: `to`, if it has as many elements as a; one extent of `to` may be dyn and is computed
constexpr shape reshaped(shape const& a, shape const& to) {
  if (!fits(a)) return no_shape;
  shape r = to;
  int open = -1;
  std::int64_t known = 1;
  for (int i = 0; i < to.rank; ++i) {
    if (to.extent[i] != dyn)
      known *= to.extent[i];
    else if (open >= 0)
      return a.is_static() ? no_shape : to;
    else
      open = i;
  }
  if (!a.is_static()) return r;
  if (open < 0) return known == a.size() ? r : no_shape;
  if (known == 0 || a.size() % known != 0) return no_shape;
  r.extent[open] = a.size() / known;
  return r;
}

/// means: the shape of a and b one after the other along an axis
constexpr shape joined(shape const& a, shape const& b, int axis) {
  if (!fits(a) || a.rank != b.rank || axis < 0 || axis >= a.rank) return no_shape;
  shape r = a;
  for (int i = 0; i < a.rank; ++i) {
    auto const x = a.extent[i], y = b.extent[i];
    if (i == axis)
      r.extent[i] = x == dyn || y == dyn ? dyn : x + y;
    else if (x != y && x != dyn && y != dyn)
      return no_shape;
    else
      r.extent[i] = x == dyn ? y : x;
  }
  return r;
}

/// means: the strides of dense elements in row order
constexpr void row_major(shape const& s, std::int64_t* strides) {
  std::int64_t step = 1;
  for (int i = s.rank; i-- > 0;) {
    strides[i] = step;
    step *= s.extent[i];
  }
}

}  // namespace locus
