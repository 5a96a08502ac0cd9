// SPDX-License-Identifier: Apache-2.0
// Vectors of Thrust, and of the standard library, as views.
#pragma once
#include <locus/tensor/view.hpp>  // view

namespace locus {
inline namespace LOCUS_MODE {

/// means: a view of the elements of a thrust::device_vector, a thrust::host_vector or a std::vector:
///            view<GpuDevice<0>>(v)
/// shape: one axis
/// device: Where: v lies in its memory     cost: none; v owns the elements, and keeps its size while the view is used
template <single_device Where, class V>
  requires(
      requires(V& v) { v.data().get(), v.size(); } ||
      requires(V& v) { *v.data(), v.size(), v.resize(v.size()); })
auto view(V& v) {
  auto const extents = Dextents<1>(static_cast<std::int64_t>(v.size()));
  if constexpr (requires { v.data().get(); })
    return view<Where>(v.data().get(), extents);
  else
    return view<Where>(v.data(), extents);
}

}  // namespace LOCUS_MODE
}  // namespace locus
