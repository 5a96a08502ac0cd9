// SPDX-License-Identifier: Apache-2.0
// Steps before an out_of_memory error, and its text.
#pragma once
#include <locus/core/macros.hpp>            // LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/device/name.hpp>            // message << device
#include <locus/memory/allocation_log.hpp>  // memory_purpose
#include <locus/memory/regions.hpp>         // region_pool

LOCUS_COLD_BEGIN

namespace locus::runtime::detail {

/// means: waits for work in flight and gives back unused memory: free blocks of the host's pool if
///        d is the host, regions without used blocks of d and of other logical GPUs on its card. If
///        `size` exceeds the limit of d, it only waits.
[[gnu::cold]] LOCUS_FUNCTION void make_room(logical_device& d, std::int64_t size = 0);

/// The reason for a refusal: the limit; free blocks that are too small; no memory on the card.
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
