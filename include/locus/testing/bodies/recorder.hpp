// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that testing/recorder.hpp declares.
#pragma once
#include <locus/backend/devices.hpp>       // close_gpus, end_devices
#include <locus/core/macros.hpp>           // LOCUS_FUNCTION
#include <locus/testing/device_scope.hpp>  // push_built, pop_devices
#include <locus/testing/recorder.hpp>      // the declarations

namespace locus::testing {

LOCUS_FUNCTION recorder::recorder(recorder_options const& options)
    : recorded_cards(options), before_(runtime::gpu_api), nccl_before_(runtime::nccl) {
  runtime::require_no_tensors();
  close_found_devices();
  current() = this, device_ = 0;
  runtime::gpu_api = &recorded_api::table(), runtime::nccl = nullptr;
  try {
    detail::push_built({runtime::card_source::recorded});
  } catch (...) {
    leave_api();
    throw;
  }
}

LOCUS_FUNCTION recorder::~recorder() {
  if (successor_) return;
  if (runtime::count_blocks() != 0) {
    auto* const keeps = new recorder(std::move(*this));
    keeps->successor_ = true;
    current() = keeps;
  }
  runtime::end_devices([] {
    detail::pop_devices();
    auto* const last = static_cast<recorder*>(current());
    last->leave_api();
    if (last->successor_) delete last;
  });
}

LOCUS_FUNCTION void recorder::close_found_devices() {
  lock_guard hold(runtime::table.lock);
  runtime::close_gpus();
}

LOCUS_FUNCTION void recorder::leave_api() {
  runtime::gpu_api = before_, runtime::nccl = nccl_before_;
  runtime::physical.known = false;
  current() = nullptr;
}

}  // namespace locus::testing
