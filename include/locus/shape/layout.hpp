// SPDX-License-Identifier: Apache-2.0
// Strides of a layout: mdspan's layouts, and any mapping that has strides.
#pragma once
#include <cstdint>  // int64_t

#include <locus/core/error.hpp>   // shape_error
#include <locus/shape/shape.hpp>  // shape

namespace locus {

/// the last axis is contiguous, as in C
struct layout_right {};
/// the first axis is contiguous, as in Fortran
struct layout_left {};
/// each axis has its own stride, in elements
struct layout_stride {
  std::int64_t stride[max_rank]{};
};

namespace internal {

/// means: out[a]: elements between neighbours along axis a of a tensor of shape s
inline void strides_of(layout_right, shape const& s, std::int64_t* out) { row_major(s, out); }
inline void strides_of(layout_left, shape const& s, std::int64_t* out) {
  std::int64_t step = 1;
  for (int a = 0; a < s.rank; ++a) {
    out[a] = step;
    step *= s.extent[a];
  }
}
inline void strides_of(layout_stride const& l, shape const& s, std::int64_t* out) {
  for (int a = 0; a < s.rank; ++a) out[a] = l.stride[a];
}

/// means: the strides of a mapping of std::mdspan
/// fails: shape_error for a mapping without strides
template <class Mapping>
  requires requires(Mapping const& m) { m.is_strided(); }
void strides_of(Mapping const& m, shape const& s, std::int64_t* out) {
  if (!m.is_strided())
    throw shape_error(
        "locus: a view needs a layout with strides; copy the elements into a Tensor first");
  if constexpr (requires { m.stride(0); })  // a mapping without axes has none
    for (int a = 0; a < s.rank; ++a)
      out[a] = static_cast<std::int64_t>(m.stride(static_cast<std::size_t>(a)));
}

}  // namespace internal

}  // namespace locus
