// SPDX-License-Identifier: Apache-2.0
// The devices of the policy AllGpus on this machine.
#pragma once
#include <locus/backend/gpus.hpp>   // devices_with_gpus
#include <locus/core/macros.hpp>    // LOCUS_LEAN_BEGIN
#include <locus/device/open.hpp>    // open_devices
#include <locus/runtime/ranks.hpp>  // this_rank
#include <locus/watch/event.hpp>    // log_line
#include <locus/watch/log.hpp>      // warn

LOCUS_LEAN_BEGIN

namespace locus::runtime {

/// means: the visible GPUs; one CPU if there are none
/// cost:  an index; a device list holds at most 8 devices: further GPUs are left out, with one
///        warning
LOCUS_SHARED_STATE inline device_list visible_gpus() {
  static bool said = false;
  int const n = devices_with_gpus("AllGpus").gpus;
  device_list all;
  for (int k = 0; k < n && k < max_devices; ++k) all.push(gpu(k));
  if (n == 0) all.push(cpu(0));
  if (n > max_devices && !__atomic_exchange_n(&said, true, __ATOMIC_RELAXED)) {
    log_line line;
    warn(line << "locus: AllGpus is the first " << max_devices << " of " << n
              << " GPUs; use more processes for more");
  }
  return all;
}

/// means: an open place with its devices of this moment; other places as they are
inline place place_now(place const& p) {
  if (!p.is_open()) return p;
  open_devices open;
  if (p.devices.is_all_gpus()) open.all_gpus = visible_gpus();
  open.ranks = this_rank;
  return open.of(p);
}

}  // namespace locus::runtime

namespace locus::config {
/// means: number of logical GPUs that exist, simulated ones included
/// after: len(tf.config.list_logical_devices("GPU"))
inline int count_logical_gpus(call_site where = call_site::here()) {
  return runtime::devices_with_gpus("count_logical_gpus", where).gpus;
}
}  // namespace locus::config

LOCUS_LEAN_END
