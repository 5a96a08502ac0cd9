// SPDX-License-Identifier: Apache-2.0
// The letters of einsum: which axes two operands share, and which the result keeps.
#pragma once
#include <initializer_list>  // initializer_list
#include <string_view>       // string_view

#include <locus/shape/shape.hpp>  // shape

namespace locus::detail {

/// The letters of the axes of a value, in their order.
struct letters {
  char of[max_rank]{};
  int count = 0;
  bool fits = true;  // at most max_rank letters, each a letter and each once

  constexpr int find(char letter) const {
    for (int i = 0; i < count; ++i)
      if (of[i] == letter) return i;
    return -1;
  }
  constexpr void add(char letter) {
    bool const known = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
    if (!known || count == max_rank || find(letter) >= 0)
      fits = false;
    else
      of[count++] = letter;
  }
  /// means: the letters that are in o, too
  constexpr letters only(letters const& o) const {
    letters r;
    for (int i = 0; i < count; ++i)
      if (o.find(of[i]) >= 0) r.add(of[i]);
    return r;
  }
  friend constexpr letters operator-(letters const& x, letters const& y) {
    letters r;
    for (int i = 0; i < x.count; ++i)
      if (y.find(x.of[i]) < 0) r.add(x.of[i]);
    return r;
  }
  friend constexpr letters operator+(letters const& x, letters const& y) {
    letters r = x;
    for (int i = 0; i < y.count; ++i) r.add(y.of[i]);
    return r;
  }
  friend constexpr bool operator==(letters const&, letters const&) = default;
};

struct einsum_text {
  letters a, b, result;
  int operands = 1;
  bool fits = true;
};
/// means: "ij,jk->ik" taken apart
constexpr einsum_text read_einsum(std::string_view text) {
  einsum_text r;
  letters* at = &r.a;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ',' && at == &r.a)
      at = &r.b, r.operands = 2;
    else if (text[i] == '-' && at != &r.result && i + 1 < text.size() && text[i + 1] == '>')
      at = &r.result, ++i;
    else
      at->add(text[i]);
  }
  r.fits = at == &r.result && r.a.fits && r.b.fits && r.result.fits &&
           (r.result - (r.a + r.b)).count == 0;
  return r;
}

/// Chars: a char_list
template <class Chars>
struct einsum_rule {
  static constexpr einsum_text text = read_einsum(Chars::view());
  static constexpr letters a = text.a, b = text.b, result = text.result;
  static constexpr letters shared = a.only(b);
  static constexpr letters batch = result.only(shared), inner = shared - result;
  static constexpr letters rows = result.only(a) - b, columns = result.only(b) - a;
  static constexpr letters a_alone = a - b - result, b_alone = b - a - result;
  static constexpr bool has_room = (result + inner).fits;  // in one pass over all letters
};

template <class Rule, int RankOfA, int RankOfB>
consteval bool require_rule() {
  constexpr bool fits = Rule::text.fits && Rule::has_room;
  static_assert(
      fits, "locus: einsum reads a letter for each axis, each once in an operand, and behind -> "
            "letters that an operand has: einsum<\"ij,jk->ik\">(a, b); write diagonal(x) for "
            "equal indices");
  constexpr bool ranks =
      !fits || (Rule::text.operands == (RankOfB < 0 ? 1 : 2) && Rule::a.count == RankOfA &&
                (RankOfB < 0 || Rule::b.count == RankOfB));
  static_assert(ranks, "locus: einsum names more or fewer axes, or operands, than there are");
  return fits && ranks;
}

/// means: no letter certainly has two extents
constexpr bool letters_fit(letters const& a, shape const& of_a, letters const& b,
                           shape const& of_b) {
  for (int i = 0; i < a.count; ++i) {
    int const k = b.find(a.of[i]);
    if (k < 0 || of_a.extent[i] == dyn || of_b.extent[k] == dyn) continue;
    if (of_a.extent[i] != of_b.extent[k]) return false;
  }
  return true;
}

/// means: s, whose axes are merged, so many to one each; none: an extent of 1
constexpr shape merged(shape const& s, std::initializer_list<int> sizes) {
  shape r{0, {}};
  int at = 0;
  for (int const size : sizes) {
    std::int64_t n = 1;
    for (int i = 0; i < size; ++i, ++at)
      n = n == dyn || s.extent[at] == dyn ? dyn : n * s.extent[at];
    r.extent[r.rank++] = n;
  }
  return r;
}
/// means: the extents of letters `to`, from the operands that have them
constexpr shape by_letters(letters const& to, letters const& a, shape const& of_a, letters const& b,
                           shape const& of_b) {
  shape r{to.count, {}};
  for (int i = 0; i < to.count; ++i) {
    int const in_a = a.find(to.of[i]), in_b = b.find(to.of[i]);
    std::int64_t const of_first = in_a >= 0 ? of_a.extent[in_a] : dyn;
    r.extent[i] = of_first != dyn || in_b < 0 ? of_first : of_b.extent[in_b];
  }
  return r;
}

}  // namespace locus::detail
