// SPDX-License-Identifier: Apache-2.0
// The order between a plan and the user's stream, whatever stands behind the devices.
#pragma once
#include <locus/backend/cuda/guest.hpp>       // cuda_follow, cuda_lead
#include <locus/backend/devices.hpp>          // find_device
#include <locus/backend/simulated/guest.hpp>  // guest_queue
#include <locus/core/config.hpp>              // LOCUS_COLD_BEGIN
#include <locus/runtime/guest.hpp>            // on_stream

LOCUS_COLD_BEGIN

namespace locus::runtime {

/// The GPUs of a plan, each once.
struct gpu_set {
  logical_device* devices[2 * max_devices];  // count of them
  int count = 0;
  void add(logical_device& d) {
    if (d.how == backing::host || count == 2 * max_devices) return;
    for (int i = 0; i < count; ++i)
      if (devices[i] == &d) return;
    devices[count++] = &d;
  }
};

/// means: what those devices are given next comes behind what the stream holds now
/// fails: placement_error, for a stream of another card, or what is no stream
inline void follow_guest(gpu_set const& gpus, on_stream const& s) {
  if (gpus.count == 0 || planted.ignore_guest) return;
  if (table.gpu_backing == backing::cuda) return cuda_follow(gpus.devices, gpus.count, s.handle);
  short const q = simulated::guest_queue(s.handle);
  for (int i = 0; i < gpus.count; ++i)
    for (queue_kind const kind : {queue_kind::compute, queue_kind::copy})
      simulated::gpus().wait(simulated::queue_of(*gpus.devices[i], kind),
                             simulated::gpus().last(q));
}
/// means: what the stream is given next comes behind what those devices were given
inline void lead_guest(gpu_set const& gpus, on_stream const& s) {
  if (gpus.count == 0 || planted.forget_guest) return;
  if (table.gpu_backing == backing::cuda) return cuda_lead(gpus.devices, gpus.count, s.handle);
  short const q = simulated::guest_queue(s.handle);
  for (int i = 0; i < gpus.count; ++i)
    simulated::gpus().wait(
        q, simulated::gpus().last(simulated::queue_of(*gpus.devices[i], queue_kind::compute)));
}
/// means: the host goes on behind what the stream holds
inline void await_guest(on_stream const& s) {
  backing const how = devices().gpu_backing;
  if (how == backing::host || planted.ignore_guest) return;
  if (how == backing::cuda) return cuda_await_guest(s.handle);
  simulated::gpus().synchronize(simulated::gpus().last(simulated::guest_queue(s.handle)));
}

/// means: a stream of the user's is the compute queue of d until it is taken back
inline void lend_stream(logical_device& d, void* stream) {
  if (d.how == backing::cuda) return cuda_lend(d, stream);
  if (d.how == backing::simulated) simulated::gpus().lend(d, simulated::guest_queue(stream));
}
inline void take_stream_back(logical_device& d) {
  if (d.how == backing::cuda) return cuda_take_back(d);
  if (d.how == backing::simulated) simulated::gpus().take_back(d);
}

}  // namespace locus::runtime

LOCUS_COLD_END
