// SPDX-License-Identifier: Apache-2.0
// What a program may set before or while it uses devices.
#pragma once
#include <locus/runtime/table.hpp>  // table

namespace locus::config {

/// means: on (default): a GPU that is not there is replaced, visibly; off: unknown_device when it
///        is first used
/// after: tf.config.set_soft_device_placement
inline void set_soft_device_placement(bool on) { runtime::table.soft_placement = on; }
inline bool get_soft_device_placement() { return runtime::table.soft_placement; }

}  // namespace locus::config
