// SPDX-License-Identifier: Apache-2.0
// How many bytes of copies a device may keep for later plans: off until it is set.
#pragma once
#include <cstdint>  // int64_t

#include <locus/core/hooks.hpp>   // kept_copy_functions
#include <locus/core/macros.hpp>  // LOCUS_SHARED_STATE

namespace locus {

struct tensor_block;

namespace runtime {

struct logical_device;

/// units: bytes for each device; 0: nothing is kept
LOCUS_SHARED_STATE inline constinit std::int64_t copy_cache_limit = 0;
/// in order: what was kept before the limit was set is gone
inline bool keeps_copies() { return __atomic_load_n(&copy_cache_limit, __ATOMIC_ACQUIRE) != 0; }

/// What the cache does. Null until there was one: a program without a cache compiles none.
struct copy_cache_functions {
  bool (*drop)(logical_device&);  // gives way before a device says that it has no memory
  void (*forget)(tensor_block const&);
  void (*forget_bytes)(void const* first, std::int64_t bytes);
};

/// what there is to call while copies may be kept; null: nothing
inline copy_cache_functions const* copy_cache_in_use() {
  return __atomic_load_n(&kept_copy_functions, __ATOMIC_ACQUIRE);
}
/// means: those bytes are about to be written, whoever owns them
inline void forget_copies(void const* first, std::int64_t bytes) {
  if (copy_cache_functions const* const cache = copy_cache_in_use(); cache && bytes > 0)
    cache->forget_bytes(first, bytes);
}

}  // namespace runtime
}  // namespace locus
