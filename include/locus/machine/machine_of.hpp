// SPDX-License-Identifier: Apache-2.0
// The machine of a device.
#pragma once
#include <locus/machine/host_machine.hpp>       // host_machine
#include <locus/machine/machine_functions.hpp>  // machine_functions

namespace locus {

/// means: the functions of the machine of a device
inline machine_functions const& machine_of(logical_device const& d) {
  return d.machine ? *d.machine : host_machine;
}
namespace runtime {
/// means: the machine of the GPUs in the device table; the host's if it has none
inline machine_functions const& machine_of_gpus() {
  return table.gpu_machine ? *table.gpu_machine : host_machine;
}
}  // namespace runtime

}  // namespace locus
