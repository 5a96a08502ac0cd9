// SPDX-License-Identifier: Apache-2.0
// A setting: the size of a value over ranks that may go to every rank.
#pragma once
#include <cstdint>  // int64_t

#include <locus/core/error.hpp>   // configuration_error
#include <locus/core/macros.hpp>  // LOCUS_SHARED_STATE

namespace locus {

namespace runtime {
LOCUS_SHARED_STATE inline constinit std::int64_t gather_limit = std::int64_t(1) << 30;
}  // namespace runtime

namespace config {
/// means: a value over ranks that has more bytes is not gathered on every rank, as to<CpuDevice>(x)
///        does: it would take that memory on each of them
/// units: bytes; the default is 1 GiB
/// fails: configuration_error for a negative number
inline void set_gather_limit(std::int64_t bytes) {
  if (bytes < 0) throw configuration_error("locus: the limit of gathers is negative; write bytes");
  __atomic_store_n(&runtime::gather_limit, bytes, __ATOMIC_RELAXED);
}
inline std::int64_t get_gather_limit() {
  return __atomic_load_n(&runtime::gather_limit, __ATOMIC_RELAXED);
}
}  // namespace config

}  // namespace locus
