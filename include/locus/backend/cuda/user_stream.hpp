// SPDX-License-Identifier: Apache-2.0
// The user's streams of CUDA: events order them with ours, or one takes the place of ours.
#pragma once
#include <locus/core/macros.hpp>           // LOCUS_SHARED_STATE, LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/runtime/device_table.hpp>  // logical_device

LOCUS_COLD_BEGIN

namespace locus::runtime {

namespace detail {
LOCUS_SHARED_STATE inline constinit mutex
    guest_lock;  // around the event that marks a point of a user's stream

/// means: the card that a stream belongs to; -1: null, which every card has
/// fails: placement_error, where CUDA does not know the stream, or captures it
LOCUS_FUNCTION int card_of_stream(void* stream, std::string_view what);
/// the stream's next work comes after that point of our compute queue
LOCUS_FUNCTION void make_guest_wait(logical_device& d, void* stream);
}  // namespace detail

/// means: the queues of those devices go on behind the work of the user's stream; their communication comes
///        behind their compute queues
/// fails: placement_error, where the stream belongs to none of their cards
LOCUS_FUNCTION void cuda_follow(logical_device* const* devices, int count, void* stream);
/// means: the user's stream goes on behind what those devices were given
inline void cuda_lead(logical_device* const* devices, int count, void* stream) {
  for (int i = 0; i < count; ++i) detail::make_guest_wait(*devices[i], stream);
}
/// means: the host goes on behind what the stream holds
LOCUS_FUNCTION void cuda_await_guest(void* stream);

/// means: the user's stream is the compute queue of a device from now on, behind what that was given
/// fails: placement_error for a stream of another card
LOCUS_FUNCTION void cuda_lend(logical_device& d, void* stream);
/// means: its own queue again, behind what the user's stream was given
LOCUS_FUNCTION void cuda_take_back(logical_device& d);

}  // namespace locus::runtime

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/backend/cuda/bodies/user_stream.hpp>  // bodies of the functions above
#endif
