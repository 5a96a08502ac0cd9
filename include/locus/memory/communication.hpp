// SPDX-License-Identifier: Apache-2.0
// Staging memory of collectives: one block for each device, kept, and never part of a tensor's
// region if possible.
#pragma once
#include <locus/core/macros.hpp>          // LOCUS_SHARED_STATE, LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/machine/launch_site.hpp>  // logical_device

LOCUS_COLD_BEGIN

namespace locus::runtime {

namespace detail {
LOCUS_SHARED_STATE inline constinit mutex communication_lock;
}

/// means: at least `bytes` bytes on a device for the collectives in flight there: the same block
///        for each call until a call needs more. It counts and is limited like tensors; on a GPU it
///        is a region of its own if the limit has room for one
/// cost:  one lock while the block is large enough; no call of the driver
/// fails: out_of_memory; the former block is kept
/// after: callers order their uses of the block among themselves; a block that is too small is
///        freed in the order of the compute queue
LOCUS_FUNCTION void* communication_memory(logical_device& d, std::int64_t bytes);
/// means: frees the staging memory, in the order of the compute queue
LOCUS_FUNCTION void release_communication_memory(logical_device& d) noexcept;

}  // namespace locus::runtime

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/memory/bodies/communication.hpp>  // bodies of the functions above
#endif
