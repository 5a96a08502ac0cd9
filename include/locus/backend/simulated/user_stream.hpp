// SPDX-License-Identifier: Apache-2.0
// Streams of a user beside simulated GPUs: late queues that belong to no device.
#pragma once
#include <locus/backend/simulated/cards.hpp>  // first_guest, guests
#include <locus/core/macros.hpp>              // LOCUS_SHARED_STATE, LOCUS_COLD_BEGIN

LOCUS_COLD_BEGIN

namespace locus::simulated {

/// A handle is the address of an element; null stands for element 0, as for CUDA's default stream.
LOCUS_SHARED_STATE inline constinit char guest_handles[guests]{};

/// means: the late queue of that handle
/// fails: placement_error, for any other address
inline short guest_queue(void* handle) {
  if (!handle) return first_guest;
  for (short k = 0; k < guests; ++k)
    if (handle == guest_handles + k) return static_cast<short>(first_guest + k);
  throw placement_error(
      "locus: on simulated GPUs a stream is a testing::simulated_stream, or null; hand in its "
      "handle()");
}

}  // namespace locus::simulated

LOCUS_COLD_END
