// SPDX-License-Identifier: Apache-2.0
// Thrust's vectors on a GPU as views; vectors on the host are ranges, see view.hpp.
#pragma once
#include <locus/tensor/view.hpp>  // view

namespace locus {
inline namespace LOCUS_MODE {

/// means: a view of the elements of a thrust::device_vector: view<GpuDevice<0>>(v)
/// shape: one axis
/// device: Where, the device of v's memory     cost: none; v owns the elements and must keep its
///        size while the view is used
template <single_device Where, class V>
  requires requires(V& v) { v.data().get(), v.size(); }
auto view(V& v) {
  return view<Where>(v.data().get(), Dextents<1>(static_cast<std::int64_t>(v.size())));
}

}  // namespace LOCUS_MODE
}  // namespace locus
