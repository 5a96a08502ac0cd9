// SPDX-License-Identifier: Apache-2.0
// One element of an operand, for kernels that work element by element.
#pragma once
#include <cstdint>      // int64_t
#include <type_traits>  // is_same

#include <locus/work/call.hpp>  // access, own_offset

namespace locus::host {
inline namespace LOCUS_MODE {

/// means: the value of an operand at an offset     units: elements
template <class Kind>
typename Kind::type element_at(kernel::access const& a, std::int64_t offset) {
  if constexpr (std::is_same_v<Kind, kernel::own_offset>)
    return a.base + offset;
  else
    return static_cast<typename Kind::type const*>(a.data)[offset];
}

}  // namespace LOCUS_MODE
}  // namespace locus::host
