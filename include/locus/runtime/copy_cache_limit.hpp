// SPDX-License-Identifier: Apache-2.0
// How many bytes of copies a device may keep for later plans: off until it is set.
#pragma once
#include <cstdint>  // int64_t

#include <locus/core/config.hpp>  // LOCUS_SHARED_STATE

namespace locus {

struct tensor_block;

namespace runtime {

struct logical_device;

/// units: bytes for each device; 0: nothing is kept
LOCUS_SHARED_STATE inline constinit std::int64_t copy_cache_limit = 0;
inline bool keeps_copies() { return __atomic_load_n(&copy_cache_limit, __ATOMIC_RELAXED) != 0; }

/// What the cache does, while there was one; null else: a program without a cache compiles none.
struct copy_cache_functions {
  bool (*drop)(logical_device&) = nullptr;  // gives way before a device says that it has no memory
  void (*forget)(tensor_block const&) = nullptr;
  void (*forget_bytes)(void const* first, std::int64_t bytes) = nullptr;
};
LOCUS_SHARED_STATE inline constinit copy_cache_functions kept_copy_functions{};

}  // namespace runtime
}  // namespace locus
