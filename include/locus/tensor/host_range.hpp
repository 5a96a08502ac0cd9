// SPDX-License-Identifier: Apache-2.0
// host_range: a std::vector, std::span or std::array of elements that lie side by side on the host.
#pragma once
#include <cstddef>      // size_t
#include <type_traits>  // remove_reference
#include <utility>      // declval

#include <locus/expr/operand.hpp>  // tensor_operand

namespace locus {

/// means: data() is the address of size() elements
template <class R>
concept host_range = !tensor_operand<R> && requires(R& r) {
  requires std::is_pointer_v<decltype(r.data())>;
  *r.data();
  static_cast<std::size_t>(r.size());
};
/// the element type of a host_range, const where its elements are
template <host_range R>
using element_of_range_t = std::remove_reference_t<decltype(*std::declval<R&>().data())>;

}  // namespace locus
