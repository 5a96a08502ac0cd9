// SPDX-License-Identifier: Apache-2.0
// The program's CUDA streams: events order them with queues of locus, or one replaces a queue.
#pragma once
#include <locus/core/macros.hpp>           // LOCUS_SHARED_STATE, LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/runtime/device_table.hpp>  // logical_device

LOCUS_COLD_BEGIN

namespace locus::runtime {

namespace detail {
LOCUS_SHARED_STATE inline constinit mutex
    guest_lock;  // held around the event of a point on a program's stream

/// means: the card of a stream; -1 for the null stream, which every card has
/// fails: placement_error, if CUDA does not know the stream, or it is being captured
LOCUS_FUNCTION int card_of_stream(void* stream, std::string_view what);
/// the stream waits for the present point of d's compute queue
LOCUS_FUNCTION void make_guest_wait(logical_device& d, void* stream);
}  // namespace detail

/// means: the compute and copy queues of the devices wait for the program's stream; their
///        communication queues wait for their compute queues
/// fails: placement_error, if the stream belongs to none of their cards
LOCUS_FUNCTION void cuda_follow(logical_device* const* devices, int count, void* stream);
/// means: the program's stream waits for the compute queues of the devices
inline void cuda_lead(logical_device* const* devices, int count, void* stream) {
  for (int i = 0; i < count; ++i) detail::make_guest_wait(*devices[i], stream);
}
/// means: the host waits for the stream
LOCUS_FUNCTION void cuda_await_guest(void* stream);

/// means: the program's stream is the compute queue of d from now on, after the work of the former
///        queue
/// fails: placement_error for a stream of another card
LOCUS_FUNCTION void cuda_lend(logical_device& d, void* stream);
/// means: d has its own compute queue again, after the work of the program's stream
LOCUS_FUNCTION void cuda_take_back(logical_device& d);

}  // namespace locus::runtime

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/backend/cuda/bodies/user_stream.hpp>  // bodies of the functions above
#endif
