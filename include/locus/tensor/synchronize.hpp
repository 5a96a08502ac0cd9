// SPDX-License-Identifier: Apache-2.0
// synchronize: the host waits for all devices.
#pragma once
#include <locus/backend/stamps.hpp>  // synchronize

namespace locus {

/// means: the host goes on when every device has run what it was given, as a clock wants it: eval, run and
///        assignments on GPUs return before their kernels end
/// cost:  nothing for devices that were never used
/// fails: device_lost, device_error, for what went wrong in that work
/// after: cudaDeviceSynchronize, of all devices
inline void synchronize() {
  for (runtime::logical_device& d : runtime::table.gpu_devices)
    if (d.how != backing::host && (d.how != backing::cuda || d.queues[0])) runtime::synchronize(d);
}

}  // namespace locus
