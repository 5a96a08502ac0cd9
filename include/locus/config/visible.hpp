// SPDX-License-Identifier: Apache-2.0
// Which cards this program uses.
#pragma once
#include <locus/backend/devices.hpp>  // devices
#include <locus/config/names.hpp>     // index_list, physical_list
#include <locus/core/macros.hpp>      // LOCUS_FUNCTION, LOCUS_HAS_BODIES

namespace locus::config {

/// means: restricts the physical devices that logical devices are made of. With a type, only
///        devices of that type are affected; without, all: naming only a CPU hides every GPU. The
///        order is that of the cards, not of the list. The host is always visible: every plan needs
///        it.
/// fails: unknown_device, for a device that is not there or not of the type; configuration_error,
///        for a duplicate, for hiding the CPU, and for a change after the first use
/// after: tf.config.set_visible_devices
LOCUS_FUNCTION void set_visible_devices(physical_list const& devices, std::string_view type = "");
/// means: the same by index: set_visible_devices("GPU", {0, 1})
LOCUS_FUNCTION void set_visible_devices(std::string_view type, index_list const& indices);

/// after: tf.config.get_visible_devices
LOCUS_FUNCTION physical_list get_visible_devices(std::string_view type = "");

}  // namespace locus::config

#if LOCUS_HAS_BODIES
#include <locus/config/bodies/visible.hpp>  // bodies of the functions above
#endif
