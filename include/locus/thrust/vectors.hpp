// SPDX-License-Identifier: Apache-2.0
// Vectors of Thrust, and of the standard library, as views.
#pragma once
#include <locus/tensor/view.hpp>  // view

namespace locus {
inline namespace LOCUS_MODE {

/// means: the elements of a thrust::device_vector or host_vector, as they lie: view<GpuDevice<0>>(v)
/// device: Where, on whose card v lies     cost: none; v stays the owner, and as large as it is
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
