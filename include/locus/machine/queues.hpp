// SPDX-License-Identifier: Apache-2.0
// Copies and queues of a device, whatever stands behind it.
#pragma once
#include <locus/core/macros.hpp>                // LOCUS_LEAN_BEGIN, LOCUS_FUNCTION
#include <locus/machine/launch_site.hpp>        // backing
#include <locus/machine/machine_functions.hpp>  // gpus_of_program

LOCUS_LEAN_BEGIN

namespace locus::runtime {

/// means: bytes from one device to another; returns the point at which they have arrived (unset:
///        now) The receiving GPU's queue carries it, else the sending one's; host memory that is
///        read is free at return, or, where `pinned` says that it stays, when the copy has run.
///        Between cards that do not reach each other it goes by way of the
///        host.
LOCUS_FUNCTION stamp copy(logical_device& to, void* target, logical_device& from,
                          void const* source, std::int64_t bytes, queue_kind kind,
                          step_record const& record, bool pinned = false);
/// means: what a copy from one device to the other needs of the host is there
inline void foresee_copy(logical_device& to, logical_device& from) {
  if (!to.is_host() && !from.is_host()) gpus_of_program->foresee_copy(to, from);
}
/// means: the host is about to touch these bytes     fails: bad_access, when a queue has not
///        finished with them
LOCUS_FUNCTION void check_host_access(void const* p, std::int64_t bytes, bool writes,
                                      step_record const& record);

}  // namespace locus::runtime

LOCUS_LEAN_END

#if LOCUS_HAS_BODIES
#include <locus/machine/bodies/queues.hpp>  // bodies of the functions above
#endif
