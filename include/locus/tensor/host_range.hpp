// SPDX-License-Identifier: Apache-2.0
// host_range: a std::vector, std::span or std::array of contiguous elements on the host.
#pragma once
#include <cstddef>      // size_t
#include <type_traits>  // remove_reference
#include <utility>      // declval

#include <locus/core/error.hpp>    // shape_error
#include <locus/expr/operand.hpp>  // tensor_operand
#include <locus/shape/shape.hpp>   // shape, bytes_of_extents

namespace locus {

namespace detail {
/// elements at strides of their own, as those of a matrix or a block of Eigen
template <class R>
concept range_of_strides = requires(R& r) { r.innerStride(); };
}  // namespace detail

/// means: data() is the address of size() elements, one behind the other
template <class R>
concept host_range = !tensor_operand<R> && !detail::range_of_strides<R> && requires(R& r) {
  requires std::is_pointer_v<decltype(r.data())>;
  *r.data();
  static_cast<std::size_t>(r.size());
};
/// the element type of a host_range; const if the elements are const
template <host_range R>
using element_of_range_t = std::remove_reference_t<decltype(*std::declval<R&>().data())>;

namespace detail {
/// fails: shape_error, where `given` elements do not fill the extents, or 64 bits cannot count those
///        that do
inline void require_size(std::int64_t given, shape const& extents) {
  std::int64_t count = 1;
  bool const fits = bytes_of_extents(extents.extent, static_cast<std::size_t>(extents.rank), count);
  if (fits && given == extents.size()) return;
  message text;
  text << "locus: a tensor with extents " << extents << " is made from " << given << " elements; ";
  if (fits)
    text << "give " << extents.size();
  else
    text << "give extents whose product 64 bits can count";
  throw shape_error(text);
}
}  // namespace detail

}  // namespace locus
