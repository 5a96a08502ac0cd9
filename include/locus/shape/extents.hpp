// SPDX-License-Identifier: Apache-2.0
// Extents<2, 3>, Extents<dyn, 784>, Dextents<2>: extents in the type, as far as they are known.
#pragma once
#include <concepts>     // integral
#include <type_traits>  // is_convertible
#include <utility>      // index_sequence

#include <locus/core/error.hpp>    // shape_error
#include <locus/core/forward.hpp>  // Extents, Dextents
#include <locus/shape/shape.hpp>   // shape, dyn

namespace locus {

/// means: E is an Extents type
template <class E>
inline constexpr bool is_extents = requires { E::pattern; };

namespace internal {
/// fails: shape_error, always
[[noreturn, gnu::cold]] inline void refuse_axis(int axis, shape const& s) {
  message text;
  throw shape_error(text << "locus: extent(" << axis << ") of extents " << s
                         << ", which have no such axis; -1 is the last one, -2 the one before");
}
/// means: the extent of an axis; a negative one counts from the end
/// fails: shape_error for an axis that s does not have
constexpr std::int64_t extent_at(shape const& s, int axis) {
  int const at = axis < 0 ? axis + s.rank : axis;
  if (at < 0 || at >= s.rank) refuse_axis(axis, s);
  return s.extent[at];
}
}  // namespace internal

/// means: the extents of a tensor; the constructor takes the dynamic ones, or all
/// after: std::mdspan's extents, with signed numbers
template <std::int64_t... E>
class Extents {
  static_assert(sizeof...(E) <= std::size_t(max_rank),
                "locus: a tensor has at most 8 axes; reshape it");
  static_assert(((E >= dyn) && ...), "locus: an extent is negative; write dyn for one known later");

 public:
  static constexpr shape pattern{sizeof...(E), {E...}};
  static constexpr int rank() { return sizeof...(E); }
  static constexpr int rank_dynamic() { return (int(E == dyn) + ... + 0); }
  static constexpr std::int64_t static_extent(int i) { return pattern.extent[i]; }

  constexpr Extents() : value_(pattern) {
    for (int i = 0; i < rank(); ++i)
      if (value_.extent[i] == dyn) value_.extent[i] = 0;
  }
  /// one number for each dynamic extent, or one for every extent
  template <std::integral... N>
    requires(sizeof...(N) > 0 &&
             (sizeof...(N) == sizeof...(E) || int(sizeof...(N)) == rank_dynamic()))
  constexpr explicit Extents(N... n) : value_(pattern) {
    std::int64_t const given[] = {static_cast<std::int64_t>(n)...};
    for (int i = 0, k = 0; i < rank(); ++i) {
      bool const take = sizeof...(N) == sizeof...(E) || pattern.extent[i] == dyn;
      if (take) set(i, given[k++]);
    }
  }
  constexpr explicit Extents(shape const& s) : value_(pattern) {
    if (s.rank != rank()) refuse(s);
    for (int i = 0; i < rank(); ++i) set(i, s.extent[i]);
  }

  /// means: the extent of axis i; a negative one counts from the end
  constexpr std::int64_t extent(int i) const { return internal::extent_at(value_, i); }
  constexpr shape const& as_shape() const { return value_; }
  friend constexpr bool operator==(Extents const& a, Extents const& b) {
    return a.value_ == b.value_;
  }

 private:
  [[noreturn]] static void refuse(shape const& s) {
    message text;
    throw shape_error(text << "locus: extents " << s << " do not fit " << pattern
                           << "; give one number of at least 0 for each open extent");
  }
  constexpr void set(int i, std::int64_t n) {
    if (n < 0 || (pattern.extent[i] != dyn && n != pattern.extent[i])) {
      shape s = value_;
      s.extent[i] = n;
      refuse(s);
    }
    value_.extent[i] = n;
  }
  shape value_;
};

namespace detail {
template <class Has, std::size_t... Idx>
Extents<Has::value.extent[Idx]...> extents_from(std::index_sequence<Idx...>);
}  // namespace detail

/// means: the Extents whose pattern is Has::value (a static member: g++ 12 and nvcc 13 need a type)
template <class Has>
using extents_of_shape_t =
    decltype(detail::extents_from<Has>(std::make_index_sequence<std::size_t(Has::value.rank)>{}));

}  // namespace locus
