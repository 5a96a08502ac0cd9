// SPDX-License-Identifier: Apache-2.0
// Simulated GPUs for tests: a laptop runs the program of the 4-GPU node.
#pragma once
#include <locus/backend/devices.hpp>  // start_simulated
#include <locus/core/error.hpp>       // configuration_error

namespace locus::testing {

using runtime::simulated_options;

/// means: GPU:0 ... GPU:count-1 are simulated while this object lives
/// fails: configuration_error, while a tensor is alive: its memory would lose its device
class simulated_gpus {
 public:
  explicit simulated_gpus(int count, simulated_options const& options = {}) {
    runtime::devices();
    require_no_tensors();
    lock_guard hold(runtime::table.lock);
    runtime::name_devices();
    runtime::start_simulated(count, options);
  }
  simulated_gpus(simulated_gpus const&) = delete;
  ~simulated_gpus() {
    simulated::gpus().run_everything();
    runtime::table.started = false;  // the next use finds what is really there
  }

 private:
  static void require_no_tensors() {
    if (runtime::table.live_blocks == 0) return;
    message text;
    throw configuration_error(
        text << "locus: " << runtime::table.live_blocks
             << " tensors are alive while the devices change; make simulated_gpus first");
  }
};

}  // namespace locus::testing
