// SPDX-License-Identifier: Apache-2.0
// Address, extents and strides of a tensor or view, for another library.
#pragma once
#include <type_traits>  // remove_cvref

#include <locus/tensor/view.hpp>  // Tensor, View, tensor_owner

namespace locus::interop {

namespace detail {
template <class X>
inline constexpr bool has_no_gaps = tensor_owner<X>;
template <class T, class E, class Where, bool Dense>
inline constexpr bool has_no_gaps<View<T, E, Where, Dense>> = Dense;
}  // namespace detail

/// means: X is a Tensor or a View
template <class X>
concept tensor_or_view = requires(std::remove_cvref_t<X>& x) {
  typename std::remove_cvref_t<X>::is_tensor;
  typename std::remove_cvref_t<X>::extents_type;
  x.data();
};
/// means: the type says that elements lie in row order without gaps
template <class X>
inline constexpr bool has_no_gaps = detail::has_no_gaps<std::remove_cvref_t<X>>;
/// means: the elements' type; const where they may only be read
template <class X>
using element_in_t = std::remove_pointer_t<decltype(std::declval<X&>().data())>;

/// means: X lies on one device
/// fails: at compile time, with a sentence
template <class X>
constexpr bool require_one_device() {
  constexpr bool on_one = single_device<typename std::remove_cvref_t<X>::policy>;
  static_assert(on_one, "locus: another library takes elements of one device; bring replicas "
                        "together with to<Device>(x)");
  return on_one;
}
/// means: and its elements live as long as the program keeps them; X is the type of a forwarding
///        reference
template <class X>
constexpr bool require_lasting_elements() {
  constexpr bool lasts = std::is_lvalue_reference_v<X> || !tensor_owner<std::remove_cvref_t<X>>;
  static_assert(lasts, "locus: the elements of a tensor without a name die with the statement, and "
                       "another library would read them later; give the tensor a name");
  return require_one_device<X>() && lasts;
}

/// means: strides[a] = elements between neighbours along axis a of a tensor or view
template <tensor_or_view X>
void strides_of(X const& x, std::int64_t* strides) {
  if constexpr (tensor_owner<X>)
    row_major(x.extents().as_shape(), strides);
  else
    for (int a = 0; a < X::rank(); ++a) strides[a] = x.stride(a);
}

/// means: "extents [2,3] and strides [3,1]", for errors
template <std::size_t N>
text_buffer<N>& tell_layout(text_buffer<N>& out, shape const& s, std::int64_t const* strides) {
  out << "extents " << s << " and strides [";
  for (int a = 0; a < s.rank; ++a) out << (a ? "," : "") << strides[a];
  return out << "]";
}

}  // namespace locus::interop
