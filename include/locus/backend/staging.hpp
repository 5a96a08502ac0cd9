// SPDX-License-Identifier: Apache-2.0
// Copies between GPUs that do not reach each other: in chunks through two pinned buffers, so that
// the way to the host of one chunk overlaps with the way from the host of the chunk before it.
#pragma once
#include <locus/core/macros.hpp>          // LOCUS_SHARED_STATE, LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/device/name.hpp>          // message << device
#include <locus/machine/launch_site.hpp>  // copy_job

LOCUS_COLD_BEGIN

namespace locus::runtime {

/// means: both are GPUs, and one cannot read what lies on the other
LOCUS_FUNCTION bool goes_by_host(logical_device& to, logical_device& from);

/// units: bytes. A chunk takes 80 to 330 us over PCIe: ten times what its launches and events cost,
/// and little enough that the first one, which nothing overlaps with, does not count.
inline constexpr std::int64_t staging_chunk = std::int64_t(4) << 20;

LOCUS_SHARED_STATE inline constinit mutex staging_lock;

/// means: the buffers through which a device receives; staging_lock is held
/// fails: out_of_memory
[[gnu::cold]] LOCUS_FUNCTION void obtain_chunks(logical_device& to);
/// means: the chunks that a copy from one device to the other takes are there
[[gnu::cold]] LOCUS_FUNCTION void foresee_chunks(logical_device& to, logical_device& from);

/// means: bytes from one GPU to another behind all that the receiving queue waits for; returns the
///        point of that queue at which they have arrived
/// fails: out_of_memory, without memory for the chunks
[[gnu::cold]] LOCUS_FUNCTION stamp copy_by_host(logical_device& to, void* target, queue_kind kind,
                                                logical_device& from, void const* source,
                                                std::int64_t bytes, step_record const& record);

/// means: a copy to or from a GPU, by way of the host where the cards do not reach each other
LOCUS_FUNCTION stamp copy_beyond_host(copy_job const& job);

}  // namespace locus::runtime

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/backend/bodies/staging.hpp>  // bodies of the functions above
#endif
