// SPDX-License-Identifier: Apache-2.0
// How many bytes of copies a device may keep for later plans: off until it is set.
#pragma once
#include <cstdint>  // int64_t

#include <locus/core/config.hpp>  // LOCUS_SHARED_STATE

namespace locus::runtime {

struct logical_device;

/// units: bytes for each device; 0: nothing is kept
LOCUS_SHARED_STATE inline constinit std::int64_t copy_cache_limit = 0;
inline bool keeps_copies() { return __atomic_load_n(&copy_cache_limit, __ATOMIC_RELAXED) != 0; }

/// What is asked to give way before a device says that it has no memory.
using drop_function = bool (*)(logical_device&);
LOCUS_SHARED_STATE inline constinit drop_function drop_kept_copies = nullptr;

}  // namespace locus::runtime
