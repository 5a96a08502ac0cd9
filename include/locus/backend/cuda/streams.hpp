// SPDX-License-Identifier: Apache-2.0
// Memory, copies and queues of CUDA's GPUs, through gpu_api.
#pragma once

#include <locus/backend/cuda/device_lost.hpp>  // check_cuda
#include <locus/backend/cuda/queue.hpp>        // cuda_queue
#include <locus/core/hooks.hpp>                // collective_report
#include <locus/core/macros.hpp>         // LOCUS_SHARED_STATE, LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/machine/card_scope.hpp>  // card_scope

LOCUS_COLD_BEGIN

namespace locus::runtime {

/// means: a card_scope of the card of d
/// fails: device_error or device_lost, if the card cannot become the current device
class current_card : public card_scope {
 public:
  explicit current_card(logical_device const& d) : card_scope(d.card) {
    check_cuda(code(), "setting the current device", d.name);
  }
};

LOCUS_FUNCTION void close_streams(logical_device& d) noexcept;
/// The highest stream priority of today's cards; CUDA reduces it on cards with a smaller range.
/// Collectives use it, since all devices wait for them: their blocks start before those of kernels
/// that were launched earlier.
inline constexpr int highest_priority = -5;

/// all queues of d, or none
LOCUS_FUNCTION void open_streams(logical_device& d);

/// means: absence::none, if this program has kernel code for the card; otherwise the reason
LOCUS_FUNCTION absence why_not_on(int card);

/// null: the card has no more memory
LOCUS_FUNCTION void* cuda_obtain(logical_device& d, std::size_t bytes);
LOCUS_FUNCTION void cuda_give_back(logical_device& d, void* p) noexcept;
/// means: no work behind the present point of the compute stream uses these bytes; only the
///        recorder checks it
LOCUS_FUNCTION void cuda_retire(logical_device& d, void* p, std::size_t bytes);

namespace detail {
/// means: CUDA reports that the stream has reached that point; the caller holds q.marking
LOCUS_FUNCTION bool was_reached(cuda_queue& q, std::uint64_t ticket);
/// means: an event for the next ticket that marks no unreached point; the caller holds q.marking
/// cost:  a query of CUDA for each half of the events, while the card keeps up
LOCUS_FUNCTION void* event_for(cuda_queue& q, std::uint64_t ticket, device name);
}  // namespace detail

LOCUS_FUNCTION stamp cuda_mark(logical_device& d, queue_kind kind);
LOCUS_FUNCTION void cuda_finish(logical_device& d);
inline cuda_queue& cuda_queue_of(stamp s) {
  return cuda_queue_of(table.gpu_of_queue(s.queue), kind_of_queue(s.queue));
}
/// null: the point was reached long ago
LOCUS_FUNCTION void* cuda_event_of(stamp s);
LOCUS_FUNCTION void cuda_wait(logical_device& d, queue_kind kind, stamp s);
/// fails: device_error or device_lost; the queue has then been drained
LOCUS_FUNCTION void cuda_synchronize(stamp s);

}  // namespace locus::runtime

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/backend/cuda/bodies/streams.hpp>  // bodies of the functions above
#endif
