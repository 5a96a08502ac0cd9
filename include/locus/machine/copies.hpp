// SPDX-License-Identifier: Apache-2.0
// Copies between devices, on any machine.
#pragma once
#include <locus/core/macros.hpp>                // LOCUS_LEAN_BEGIN, LOCUS_FUNCTION
#include <locus/machine/launch_site.hpp>        // logical_device
#include <locus/machine/machine_functions.hpp>  // gpus_of_program

LOCUS_LEAN_BEGIN

namespace locus::runtime {

/// means: copies bytes from one device to another; returns the point at which they have arrived
///        (unset: they have arrived). The copy runs on a queue of the receiving GPU; of the sending
///        GPU if the host receives. A host source may be changed after return; with `pinned`, only
///        after the copy has run. Copies between cards without peer access go through the host.
LOCUS_FUNCTION stamp copy(logical_device& to, void* target, logical_device& from,
                          void const* source, std::int64_t bytes, queue_kind kind,
                          step_record const& record, bool pinned = false);
/// means: allocates pinned host memory that a later copy between the two devices needs, if any
inline void foresee_copy(logical_device& to, logical_device& from) {
  if (!to.is_host() && !from.is_host()) gpus_of_program->foresee_copy(to, from);
}
/// means: on simulated GPUs, checks that the host may read (or write) these bytes now
/// fails: bad_access, if a queue still uses the bytes
LOCUS_FUNCTION void check_host_access(void const* p, std::int64_t bytes, bool writes,
                                      step_record const& record);

}  // namespace locus::runtime

LOCUS_LEAN_END

#if LOCUS_HAS_BODIES
#include <locus/machine/bodies/copies.hpp>  // bodies of the functions above
#endif
