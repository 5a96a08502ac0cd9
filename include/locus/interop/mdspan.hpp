// SPDX-License-Identifier: Apache-2.0
// mdspan_of(x): the elements of a tensor or view as an mdspan of any library; view<CpuDevice>(m) is
// the other way. A program includes this header by name; <locus/locus.hpp> does not.
#pragma once
#include <type_traits>  // conditional
#include <utility>      // index_sequence
#include <version>      // __cpp_lib_mdspan
#if defined(__cpp_lib_mdspan)
#include <mdspan>  // mdspan
#endif

#include <locus/core/macros.hpp>         // LOCUS_MODE, LOCUS_COLD_BEGIN
#include <locus/interop/elements.hpp>    // strides_of, require_lasting_elements
#include <locus/run/same_bytes.hpp>      // repeats_elements
#include <locus/shape/mdspan_parts.hpp>  // extents_of_library_t
#include <locus/tensor/view.hpp>         // Tensor, View

namespace locus {

namespace interop {

LOCUS_COLD_BEGIN
/// fails: shape_error, always
[[noreturn]] inline void refuse_layout(shape const& s, std::int64_t const* strides,
                                       char const* remedy) {
  message text;
  text << "locus: the layout of this mdspan does not have the ";
  throw shape_error(tell_layout(text, s, strides) << " of the elements; " << remedy);
}
LOCUS_COLD_END

template <class Layout, class>
struct layout_or_default {
  using type = Layout;
};
template <class Mdspan>
struct layout_or_default<void, Mdspan> {
  using type = typename Mdspan::layout_type;
};

/// means: strides, but positive ones along axes that have no neighbours
inline void set_apart(shape s, std::int64_t const* strides, std::int64_t* to) {
  bool const is_empty = s.size() == 0;
  for (int a = 0; a < s.rank; ++a) {
    to[a] = s.extent[a] > 1 ? strides[a] : 1;
    if (s.extent[a] == 0) s.extent[a] = 1;
  }
  if (is_empty) row_major(s, to);
}

/// means: a mapping is made of extents and any strides, as that of layout_stride
template <class Mapping>
concept takes_strides = requires(Mapping const& m, typename Mapping::extents_type const& e) {
  Mapping(e, m.strides());
};

/// The parts of an mdspan of elements T with extents E, in the library that Mdspan is from. Layout
/// is void for the default one.
template <template <class...> class Mdspan, class Layout, class T, class E>
class mdspan_parts {
  using any = decltype(Mdspan(static_cast<T*>(nullptr)));  // knows extents and layout
  using axes = std::make_index_sequence<std::size_t(E::rank())>;
  template <std::size_t... Axis>
  static auto library_extents(std::index_sequence<Axis...>)
      -> internal::extents_of_library_t<typename any::extents_type,
                                        std::size_t(E::static_extent(int(Axis)))...>;

 public:
  using extents_type = decltype(library_extents(axes{}));
  using type = Mdspan<T, extents_type, typename layout_or_default<Layout, any>::type>;
  using mapping_type = typename type::mapping_type;

  /// fails: shape_error, where the layout cannot have these strides
  static mapping_type mapping(shape const& s, std::int64_t const* strides) {
    return mapping_of(s, strides, axes{});
  }

 private:
  template <std::size_t... Axis>
  static mapping_type mapping_of(shape const& s, std::int64_t const* strides,
                                 std::index_sequence<Axis...>) {
    extents_type const extents(s.extent[Axis]...);
    if constexpr (sizeof...(Axis) == 0)
      return mapping_type(extents);
    else {
      if constexpr (takes_strides<mapping_type>) {
        using list = std::remove_cvref_t<decltype(std::declval<mapping_type const&>().strides())>;
        std::int64_t apart[max_rank]{};
        set_apart(s, strides, apart);
        if (((apart[Axis] <= 0) || ...) || internal::repeats_elements(s.extent, apart, s.rank))
          refuse_layout(s, strides, "strides of an mdspan are positive and keep elements apart");
        return mapping_type(extents, list{apart[Axis]...});
      } else {
        mapping_type const made(extents);
        bool const fits = ((s.extent[Axis] == 1 || made.stride(Axis) == strides[Axis]) && ...);
        if (!fits && s.size() > 0)
          refuse_layout(s, strides, "write mdspan_of<std::mdspan, std::layout_stride>(x)");
        return made;
      }
    }
  }
};

}  // namespace interop

inline namespace LOCUS_MODE {

/// means: the elements of a tensor or view as an mdspan: mdspan_of<cuda::std::mdspan>(x). The
///        mdspan owns no element, and its index type is int64; x may change through it unless x is const
/// shape: that of x, static where its type is. The layout is the default one, layout_right, or the
///        one that is named: mdspan_of<cuda::std::mdspan, cuda::std::layout_stride>(x)
/// device: x's, which is one; the address is that of x.data()     cost: none
/// fails: at compile time, for replicas, for a tensor without a name, and for a view with strides
///        without a named layout; shape_error, where the layout cannot have the strides of x
/// after: P0009, std::mdspan
template <template <class...> class Mdspan, class Layout = void, interop::tensor_or_view X>
auto mdspan_of(X&& x) {
  constexpr bool has_layout = !std::is_void_v<Layout> || interop::has_no_gaps<X>;
  static_assert(has_layout, "locus: a view with strides needs an mdspan whose layout has strides; "
                            "write mdspan_of<std::mdspan, std::layout_stride>(x)");
  if constexpr (interop::require_lasting_elements<X>() && has_layout) {
    using T = interop::element_in_t<X>;
    using parts =
        interop::mdspan_parts<Mdspan, Layout, T, typename std::remove_cvref_t<X>::extents_type>;
    std::int64_t strides[max_rank]{};
    interop::strides_of(x, strides);
    return typename parts::type(x.data(), parts::mapping(x.extents().as_shape(), strides));
  }
}
#if defined(__cpp_lib_mdspan)
/// means: mdspan_of<std::mdspan>(x); the layout is layout_stride for a view with strides, otherwise
///        layout_right
template <interop::tensor_or_view X>
auto mdspan_of(X&& x) {
  using layout = std::conditional_t<interop::has_no_gaps<X>, std::layout_right, std::layout_stride>;
  return mdspan_of<std::mdspan, layout>(std::forward<X>(x));
}
#endif

}  // namespace LOCUS_MODE
}  // namespace locus
