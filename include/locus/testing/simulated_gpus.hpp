// SPDX-License-Identifier: Apache-2.0
// Simulated GPUs for tests: a computer without GPUs runs a program for several.
#pragma once
#include <locus/backend/devices.hpp>       // end_devices
#include <locus/testing/device_scope.hpp>  // push_built, pop_devices

namespace locus::testing {

using runtime::simulated_options;

/// means: GPU:0 ... GPU:count-1 are simulated during the lifetime of this object. The configuration
///        from before holds for them; changes of it inside end with this object. Until the first
///        use of devices the configuration may change.
/// fails: configuration_error, if a tensor is alive at the beginning: its memory would lose its
///        device. Tensors that outlive this object keep its devices; a line on stderr says so.
class [[nodiscard]] simulated_gpus {
 public:
  explicit simulated_gpus(int count, simulated_options const& options = {}) {
    detail::push_built({runtime::card_source::simulated, count, options});
  }
  simulated_gpus(simulated_gpus const&) = delete;
  ~simulated_gpus() { runtime::end_devices(detail::pop_devices); }
};

}  // namespace locus::testing
