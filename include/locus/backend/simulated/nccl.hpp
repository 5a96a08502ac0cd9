// SPDX-License-Identifier: Apache-2.0
// NCCL among simulated GPUs: its operations are work of the devices' queues, so the race check
// finds a missing event or a wrong order as with kernels.
#pragma once
#include <utility>  // move

#include <locus/backend/simulated/cards.hpp>      // gpus, queue_of
#include <locus/backend/simulated/fake_nccl.hpp>  // fake_nccl
#include <locus/core/macros.hpp>                  // LOCUS_SHARED_STATE, LOCUS_COLD_BEGIN
#include <locus/machine/launch_site.hpp>          // touched

LOCUS_COLD_BEGIN

namespace locus::simulated {

/// NCCL's handle of queue q is the address of element q.
LOCUS_SHARED_STATE inline constinit char nccl_streams[most_queues]{};
inline void* nccl_stream(logical_device const& d, queue_kind kind) {
  return nccl_streams + queue_of(d, kind);
}
/// the card that makes the next communicator: CUDA's current device, which simulated GPUs lack
LOCUS_SHARED_STATE inline thread_local int nccl_card = -1;

struct nccl_engine {
  static short queue_at(void* stream) {
    return static_cast<short>(static_cast<char*>(stream) - nccl_streams);
  }
  static int current() { return nccl_card; }
  static int card_of_stream(void* stream) { return gpus().card_of_queue(queue_at(stream)); }
  static int card_of(void const* p) { return gpus().card_of(p); }
  static void* reach(void*, void* p) { return p ? gpus().behind(p) : p; }
  template <class Work>
  static void enqueue(void* stream, touched const& t, Work work) {
    step_record const none{-1, "a collective", device{}};
    step_record const& record = runtime::running ? *runtime::running : none;
    gpus().issue(queue_at(stream), record, &t, t.bytes > 0 ? 1 : 0, std::move(work));
  }
  static void join(void* const* streams, int n) {
    dynamic_array<stamp> reached;
    for (int i = 0; i < n; ++i) reached.push(gpus().last(queue_at(streams[i])));
    for (int i = 0; i < n; ++i)
      for (stamp const& s : reached) gpus().wait(queue_at(streams[i]), s);
  }
  static void finish(void* const* streams, int n) {
    for (int i = 0; i < n; ++i) gpus().synchronize(gpus().last(queue_at(streams[i])));
  }
};
inline constexpr runtime::nccl_api nccl_table = fake_nccl<nccl_engine>::table();

}  // namespace locus::simulated

LOCUS_COLD_END
