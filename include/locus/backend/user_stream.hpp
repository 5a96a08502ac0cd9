// SPDX-License-Identifier: Apache-2.0
// The order between a plan and the program's stream, on any machine.
#pragma once
#include <locus/backend/devices.hpp>       // find_device
#include <locus/core/macros.hpp>           // LOCUS_COLD_BEGIN
#include <locus/machine/stamps.hpp>        // meet_arrivals
#include <locus/runtime/stream_scope.hpp>  // on_stream

LOCUS_COLD_BEGIN

namespace locus::runtime {

/// means: later work of the devices runs after the present work of the stream
/// fails: placement_error, for a stream of another card, or a handle that is not a stream
inline void follow_guest(gpu_set const& gpus, on_stream const& s) {
  if (gpus.count > 0 && !planted.ignore_guest) machine_of_gpus().follow_stream(gpus, s.handle);
}
/// means: later work of the stream runs after the present work of the devices
inline void lead_guest(gpu_set const& gpus, on_stream const& s) {
  for (int i = 0; i < gpus.count; ++i) meet_arrivals(*gpus.devices[i]);
  if (gpus.count > 0 && !planted.forget_guest) machine_of_gpus().lead_stream(gpus, s.handle);
}
/// means: the host waits for the stream
inline void await_guest(on_stream const& s) {
  if (devices().has_gpus() && !planted.ignore_guest) machine_of_gpus().await_stream(s.handle);
}

/// means: the program's stream is the compute queue of d until take_stream_back
inline void lend_stream(logical_device& d, void* stream) {
  if (d.is_host()) return;
  meet_arrivals(d);
  machine_of(d).lend(d, stream);
  d.beside_user = true;
}
inline void take_stream_back(logical_device& d) {
  if (d.is_host()) return;
  machine_of(d).take_back(d);
  d.beside_user = false;
}

}  // namespace locus::runtime

LOCUS_COLD_END
