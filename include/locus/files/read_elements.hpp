// SPDX-License-Identifier: Apache-2.0
// The rest of a file as the elements of a tensor.
#pragma once
#include <optional>  // optional

#include <locus/files/gzip_file.hpp>  // gzip_file
#include <locus/tensor/tensor.hpp>    // Tensor

namespace locus::data {

/// means: reads a tensor of those extents in row order; the file must end after it
/// cost:  the tensor is allocated only when the file is known to have the elements
template <class T, class E>
Tensor<T, E, CpuDevice> read_elements(gzip_file& file, E const& extents,
                                      call_site where = call_site::here()) {
  std::optional<Tensor<T, E, CpuDevice>> t;
  std::int64_t const bytes = extents.as_shape().size() * std::int64_t(sizeof(T));
  file.read_claimed(bytes, [&] { return t.emplace(extents, where).data(); });
  if (!t) t.emplace(extents, where);
  file.require_end();
  return *std::move(t);
}

}  // namespace locus::data
