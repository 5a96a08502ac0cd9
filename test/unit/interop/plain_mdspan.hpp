// SPDX-License-Identifier: Apache-2.0
// An mdspan in few lines, of no library: for layouts and accessors that the test needs, and for machines without
// another.
#pragma once
#include <array>
#include <cstddef>
#include <type_traits>

namespace plain {

inline constexpr std::size_t dynamic_extent = std::size_t(-1);

template <class Index, std::size_t... N>
struct extents {
  using index_type = Index;
  std::array<Index, sizeof...(N)> now{(N == dynamic_extent ? Index() : Index(N))...};
  constexpr extents() = default;
  template <class... X>
    requires(sizeof...(X) == sizeof...(N) && sizeof...(X) > 0)
  constexpr explicit extents(X... n) : now{Index(n)...} {}
  static constexpr std::size_t rank() { return sizeof...(N); }
  static constexpr std::size_t static_extent(std::size_t a) {
    return std::array<std::size_t, sizeof...(N)>{N...}[a];
  }
  constexpr Index extent(std::size_t a) const { return now[a]; }
};

/// rows first; with Strided, no promise about strides; with Left, columns first
template <bool Strided, bool Left = false>
struct layout {
  template <class E>
  struct mapping {
    using extents_type = E;
    using index_type = typename E::index_type;
    E e{};
    constexpr mapping() = default;
    constexpr explicit mapping(E const& given) : e(given) {}
    constexpr E const& extents() const { return e; }
    static constexpr bool is_always_strided() { return Strided; }
    static constexpr bool is_always_exhaustive() { return true; }
    static constexpr bool is_strided() { return Strided; }
    constexpr index_type required_span_size() const {
      index_type n = 1;
      for (std::size_t a = 0; a < E::rank(); ++a) n *= e.extent(a);
      return n;
    }
    constexpr index_type stride(std::size_t a) const {
      index_type n = 1;
      for (std::size_t b = Left ? 0 : a + 1; b < (Left ? a : E::rank()); ++b) n *= e.extent(b);
      return n;
    }
  };
};
struct layout_stride {
  template <class E>
  struct mapping {
    using extents_type = E;
    using index_type = typename E::index_type;
    E e{};
    std::array<index_type, E::rank()> steps{};
    constexpr mapping() = default;
    constexpr mapping(E const& given, std::array<index_type, E::rank()> const& s)
        : e(given), steps(s) {}
    constexpr E const& extents() const { return e; }
    constexpr auto strides() const { return steps; }
    static constexpr bool is_always_strided() { return true; }
    static constexpr bool is_always_exhaustive() { return false; }
    static constexpr bool is_strided() { return true; }
    constexpr index_type required_span_size() const { return 1; }
    constexpr index_type stride(std::size_t a) const { return steps[a]; }
  };
};

template <class T>
struct accessor {
  using reference = T&;
};
/// elements that are computed when they are read
template <class T>
struct doubling_accessor {
  using reference = std::remove_const_t<T>;
};

template <class T, class E, class Layout = layout<true>, class Accessor = accessor<T>>
struct mdspan {
  using element_type = T;
  using extents_type = E;
  using layout_type = Layout;
  using accessor_type = Accessor;
  using mapping_type = typename Layout::template mapping<E>;
  using data_handle_type = T*;
  using reference = typename Accessor::reference;
  T* data = nullptr;
  mapping_type map{};
  mdspan() = default;
  mdspan(T* p, mapping_type const& m) : data(p), map(m) {}
  explicit mdspan(T* p) : data(p) {}
  T* data_handle() const { return data; }
  auto const& extents() const { return map.extents(); }
  mapping_type const& mapping() const { return map; }
};
template <class T>
mdspan(T*) -> mdspan<T, extents<std::size_t>>;

}  // namespace plain
