// SPDX-License-Identifier: Apache-2.0
// The parts of an mdspan, by whatever library: std::mdspan, that of Kokkos, cuda::std::mdspan.
#pragma once
#include <concepts>     // same_as
#include <type_traits>  // bool_constant
#include <utility>      // index_sequence

#include <locus/shape/extents.hpp>  // Extents, shape, dyn

namespace locus {

/// means: a type with the parts of std::mdspan
template <class M>
concept mdspan_like = requires(M const& m) {
  m.data_handle();
  m.extents();
  m.mapping();
  typename M::element_type;
  typename M::layout_type;
  typename M::accessor_type;
};

namespace detail {

template <class E>
struct extents_of_library;
template <template <class, std::size_t...> class LibraryExtents, class Index, std::size_t... N>
struct extents_of_library<LibraryExtents<Index, N...>> {
  static constexpr std::int64_t number(std::size_t n) {
    return n == std::size_t(-1) ? dyn : static_cast<std::int64_t>(n);
  }
  using type = Extents<number(N)...>;
  /// extents of the same library with other numbers
  template <class OtherIndex, std::size_t... Other>
  using with = LibraryExtents<OtherIndex, Other...>;
};

/// means: a mapping of Layout for extents 2, 3, ... has the strides of rows
template <class Layout, class E, std::size_t... Axis>
constexpr bool maps_in_row_order(std::index_sequence<Axis...>) {
  using mapping = typename Layout::template mapping<
      typename extents_of_library<E>::template with<int, (Axis + 2)...>>;
  if constexpr (requires { typename std::bool_constant<(mapping{}.required_span_size() > 0)>; }) {
    constexpr shape probe{int(sizeof...(Axis)), {std::int64_t(Axis + 2)...}};
    std::int64_t rows[max_rank + 1]{};
    row_major(probe, rows);
    return mapping::is_always_strided() && mapping::is_always_exhaustive() &&
           ((std::int64_t(mapping{}.stride(Axis)) == rows[Axis]) && ...);
  } else
    return false;
}

}  // namespace detail

namespace internal {

/// means: the Extents of an mdspan's type
template <mdspan_like M>
using extents_of_mdspan_t = typename detail::extents_of_library<typename M::extents_type>::type;

/// means: the extents type of E's library with other numbers, indexed by int64
template <class E, std::size_t... N>
using extents_of_library_t =
    typename detail::extents_of_library<E>::template with<std::int64_t, N...>;

/// means: the extents of an mdspan, static where its type says so
template <mdspan_like M>
auto extents_of_mdspan(M const& m) {
  using E = extents_of_mdspan_t<M>;
  shape s{E::rank(), {}};
  for (int a = 0; a < s.rank; ++a)
    s.extent[a] = static_cast<std::int64_t>(m.extents().extent(static_cast<std::size_t>(a)));
  return E(s);
}

/// means: the layout of an mdspan is row order without gaps, by its type
template <mdspan_like M>
inline constexpr bool is_in_row_order =
    detail::maps_in_row_order<typename M::layout_type, typename M::extents_type>(
        std::make_index_sequence<M::extents_type::rank()>{});

/// means: element i of an mdspan is the number at its address plus an offset
template <mdspan_like M>
inline constexpr bool reads_by_address =
    std::same_as<typename M::reference, typename M::element_type&> &&
    std::same_as<typename M::data_handle_type, typename M::element_type*>;

}  // namespace internal
}  // namespace locus
