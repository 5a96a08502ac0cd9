// SPDX-License-Identifier: Apache-2.0
// Lists of the cards of this machine and of the logical devices.
#pragma once
#include <locus/config/names.hpp>  // physical_device
#include <locus/core/macros.hpp>   // LOCUS_FUNCTION, LOCUS_HAS_BODIES

namespace locus::config {

/// A logical device, which a policy such as GpuDevice<0> names.     units: bytes
/// after: tf.config.LogicalDevice
struct logical_device {
  device_text name;       // /device:GPU:0
  std::string_view type;  // "CPU" or "GPU"
  int index = -1;
  physical_device physical;
  std::int64_t memory_limit = 0;
};
using logical_list = value_list<logical_device, 2 * runtime::max_logical>;

/// means: the host's processors and the cards that this process sees, or those of one type
/// cost:  asks the driver once; makes no CUDA context and freezes no setting
/// fails: unknown_device for another type; configuration_error for a malformed variable
/// after: tf.config.list_physical_devices
LOCUS_FUNCTION physical_list list_physical_devices(std::string_view type = "");

/// means: the logical devices, in the order of their ordinals
/// cost:  the first call makes the devices, which freezes the configuration
/// fails: like list_physical_devices
/// after: tf.config.list_logical_devices
LOCUS_FUNCTION logical_list list_logical_devices(std::string_view type = "",
                                                 call_site where = call_site::here());

}  // namespace locus::config

#if LOCUS_HAS_BODIES
#include <locus/config/bodies/listing.hpp>  // bodies of the functions above
#endif
