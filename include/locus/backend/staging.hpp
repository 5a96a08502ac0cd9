// SPDX-License-Identifier: Apache-2.0
// Copies between GPUs without peer access: in chunks through two pinned buffers, so that one chunk
// travels to the host while the one before it travels from the host.
#pragma once
#include <locus/core/macros.hpp>          // LOCUS_SHARED_STATE, LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/device/name.hpp>          // message << device
#include <locus/machine/launch_site.hpp>  // copy_job

LOCUS_COLD_BEGIN

namespace locus::runtime {

/// means: both are GPUs, on different cards without peer access
LOCUS_FUNCTION bool goes_by_host(logical_device& to, logical_device& from);

/// units: bytes. A chunk takes 80 to 330 us over PCIe: ten times as long as its launches and
///        events; and small enough that the first chunk, which overlaps with no other, hardly
///        counts.
inline constexpr std::int64_t staging_chunk = std::int64_t(4) << 20;

LOCUS_SHARED_STATE inline constinit mutex staging_lock;

/// means: allocates the two buffers through which a device receives; the caller holds staging_lock
/// fails: out_of_memory
[[gnu::cold]] LOCUS_FUNCTION void obtain_chunks(logical_device& to);
/// means: allocates the buffers that a later copy between the devices needs, if any
[[gnu::cold]] LOCUS_FUNCTION void foresee_chunks(logical_device& to, logical_device& from);

/// means: copies bytes from one GPU to another, after all work of the receiving queue; returns the
///        point on that queue at which they have arrived
/// fails: out_of_memory, if there is no pinned memory for the buffers
[[gnu::cold]] LOCUS_FUNCTION stamp copy_by_host(logical_device& to, void* target, queue_kind kind,
                                                logical_device& from, void const* source,
                                                std::int64_t bytes, step_record const& record);

/// means: a copy to or from a GPU; through the host between cards without peer access
LOCUS_FUNCTION stamp copy_beyond_host(copy_job const& job);

}  // namespace locus::runtime

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/backend/bodies/staging.hpp>  // bodies of the functions above
#endif
