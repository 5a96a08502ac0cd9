// SPDX-License-Identifier: Apache-2.0
// Memory, copies and queues of real GPUs, through the table of CUDA's functions.
#pragma once

#include <locus/backend/cuda/device_lost.hpp>  // check_cuda
#include <locus/backend/cuda/queue.hpp>        // cuda_queue
#include <locus/core/hooks.hpp>                // collective_report
#include <locus/core/macros.hpp>         // LOCUS_SHARED_STATE, LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/machine/card_scope.hpp>  // card_scope

LOCUS_COLD_BEGIN

namespace locus::runtime {

/// means: a card_scope of d's card
/// fails: device_lost, where the card cannot become the current device
class current_card : public card_scope {
 public:
  explicit current_card(logical_device const& d) : card_scope(d.card) {
    check_cuda(code(), "setting the current device", d.name);
  }
};

LOCUS_FUNCTION void close_streams(logical_device& d) noexcept;
/// The highest priority of cards today; where a card has fewer CUDA takes its highest. All devices wait for a
/// collective: its blocks come before those of a kernel that was launched earlier.
inline constexpr int highest_priority = -5;

/// all of them, or none
LOCUS_FUNCTION void open_streams(logical_device& d);

/// means: none, where a kernel of this program has code for the card
LOCUS_FUNCTION absence why_not_on(int card);

/// null where the card has no more
LOCUS_FUNCTION void* cuda_obtain(logical_device& d, std::size_t bytes);
LOCUS_FUNCTION void cuda_give_back(logical_device& d, void* p) noexcept;
/// means: nobody uses those bytes behind what the compute stream was given; only a recorder looks
LOCUS_FUNCTION void cuda_retire(logical_device& d, void* p, std::size_t bytes);

namespace detail {
/// means: the stream has come to that point, as far as CUDA says so; q.marking is held
LOCUS_FUNCTION bool was_reached(cuda_queue& q, std::uint64_t ticket);
/// means: an event for the next ticket, that marks no point which is still ahead; q.marking is held
/// cost:  a question to CUDA for each half of the events, while the card keeps up
LOCUS_FUNCTION void* event_for(cuda_queue& q, std::uint64_t ticket, device name);
}  // namespace detail

LOCUS_FUNCTION stamp cuda_mark(logical_device& d, queue_kind kind);
LOCUS_FUNCTION void cuda_finish(logical_device& d);
inline cuda_queue& cuda_queue_of(stamp s) {
  return cuda_queue_of(table.gpu_of_queue(s.queue), kind_of_queue(s.queue));
}
/// null: that point was reached long ago
LOCUS_FUNCTION void* cuda_event_of(stamp s);
LOCUS_FUNCTION void cuda_wait(logical_device& d, queue_kind kind, stamp s);
/// fails: device_lost; what the queue was given is not in flight then
LOCUS_FUNCTION void cuda_synchronize(stamp s);

}  // namespace locus::runtime

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/backend/cuda/bodies/streams.hpp>  // bodies of the functions above
#endif
