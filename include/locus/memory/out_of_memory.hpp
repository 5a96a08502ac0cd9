// SPDX-License-Identifier: Apache-2.0
// When there is no memory: what is tried before the error, and what the error says.
#pragma once
#include <locus/core/macros.hpp>            // LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/device/name.hpp>            // message << device
#include <locus/memory/allocation_log.hpp>  // memory_purpose
#include <locus/memory/regions.hpp>         // region_pool

LOCUS_COLD_BEGIN

namespace locus::runtime::detail {

/// means: waits for what is in flight and gives back what is only kept: free blocks of the host,
///        wholly free regions of a device and of the others that share its card. Where the limit
///        stands in the way that would not help, and nothing is given back.
[[gnu::cold]] LOCUS_FUNCTION void make_room(logical_device& d, std::int64_t size = 0);

/// Why a device that has bytes left refuses some.
enum class lack : unsigned char { limit, fragmentation, card };

LOCUS_FUNCTION lack find_lack(memory_account const& m, std::int64_t size,
                              region_pool::facts const& f);

[[noreturn, gnu::cold]] LOCUS_FUNCTION void refuse_memory(logical_device& d, std::int64_t size,
                                                          memory_purpose const& purpose);

}  // namespace locus::runtime::detail

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/memory/bodies/out_of_memory.hpp>  // bodies of the functions above
#endif
