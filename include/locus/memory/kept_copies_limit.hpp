// SPDX-License-Identifier: Apache-2.0
// The limit of kept copies for each device; 0, which is off, until a program sets it.
#pragma once
#include <cstdint>  // int64_t

#include <locus/core/hooks.hpp>   // kept_copy_functions
#include <locus/core/macros.hpp>  // LOCUS_SHARED_STATE

namespace locus {

struct tensor_block;

namespace runtime {

struct logical_device;

/// units: bytes for each device; 0: no copies are kept
LOCUS_SHARED_STATE inline constinit std::int64_t copy_cache_limit = 0;
/// acquire: copies of an earlier limit are dropped by then
inline bool keeps_copies() { return __atomic_load_n(&copy_cache_limit, __ATOMIC_ACQUIRE) != 0; }

/// The functions of the copy cache. Null until the first limit is set: a program without a cache
/// compiles none.
struct copy_cache_functions {
  bool (*drop)(logical_device&);  // frees kept copies, before out_of_memory
  void (*forget)(tensor_block const&);
  void (*forget_bytes)(void const* first, std::int64_t bytes);
};

/// the functions, while copies may be kept; null: there are no copies
inline copy_cache_functions const* copy_cache_in_use() {
  return __atomic_load_n(&kept_copy_functions, __ATOMIC_ACQUIRE);
}
/// means: drops kept copies of bytes that are about to be written, of any tensor
inline void forget_copies(void const* first, std::int64_t bytes) {
  if (copy_cache_functions const* const cache = copy_cache_in_use(); cache && bytes > 0)
    cache->forget_bytes(first, bytes);
}

}  // namespace runtime
}  // namespace locus
