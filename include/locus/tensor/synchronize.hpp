// SPDX-License-Identifier: Apache-2.0
// synchronize: the host waits for all devices.
#pragma once
#include <locus/machine/stamps.hpp>  // synchronize

namespace locus {

/// means: the host waits until every device has finished the work that it was given. A program that
///        measures time calls this function: eval, run and assignments on GPUs return before their
///        kernels end
/// device: all
/// cost:  nothing for devices that were never used
/// fails: device_lost, device_error, for failures of that work
/// after: cudaDeviceSynchronize, for all devices
inline void synchronize() {
  for (runtime::logical_device& d : runtime::table.gpu_devices)
    if (!d.is_host() && (!d.is_card() || d.queues[0])) runtime::synchronize(d);
}

}  // namespace locus
