// SPDX-License-Identifier: Apache-2.0
// Staging memory of collectives: one block for each device, obtained apart from tensors and kept.
#pragma once
#include <locus/core/macros.hpp>          // LOCUS_SHARED_STATE, LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/machine/launch_site.hpp>  // logical_device

LOCUS_COLD_BEGIN

namespace locus::runtime {

namespace detail {
LOCUS_SHARED_STATE inline constinit mutex communication_lock;
}

/// means: at least so many bytes on a device for the collectives in flight there; the same block for
///        every call until one asks for more. It is counted and limited like tensors, and on a GPU
///        a region of its own where the limit has room for one
/// cost:  a lock in the steady state; no call of the driver
/// fails: out_of_memory; the block that there was is kept then
/// after: who uses it orders his uses among each other; a block that became too small goes back in
///        the order of the compute queue
LOCUS_FUNCTION void* communication_memory(logical_device& d, std::int64_t bytes);
/// means: the staging memory goes back, in the order of the compute queue
LOCUS_FUNCTION void release_communication_memory(logical_device& d) noexcept;

}  // namespace locus::runtime

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/memory/bodies/communication.hpp>  // bodies of the functions above
#endif
