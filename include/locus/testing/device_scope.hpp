// SPDX-License-Identifier: Apache-2.0
// Other devices, or another configuration, for a while: what simulated GPUs and the recorder share.
#pragma once
#include <locus/backend/devices.hpp>  // build_table, require_no_tensors, end_devices

namespace locus::testing {

namespace detail {
/// What was before a scope.
struct saved_devices {
  runtime::card_source source;
  runtime::configuration configured;
  saved_devices* before = nullptr;
};
inline constinit saved_devices* saved = nullptr;

/// means: the devices that are there end, others may come; table.lock is held
inline void change_devices(runtime::card_source const& source, runtime::configuration const& c) {
  runtime::detail::close_gpus();
  runtime::cards_from = source, runtime::configured = c;
  runtime::physical.known = false;
  runtime::table.frozen_by = {}, runtime::table.retire = nullptr;
  __atomic_store_n(&runtime::table.started, false, __ATOMIC_RELEASE);
}
inline void pop_devices() {
  lock_guard hold(runtime::table.lock);
  saved_devices* const last = saved;
  change_devices(last->source, last->configured);
  saved = last->before;
  delete last;
}
/// fails: configuration_error, while a tensor is alive
inline void push_devices(runtime::card_source const& source, runtime::configuration const& c) {
  runtime::require_no_tensors();
  lock_guard hold(runtime::table.lock);
  saved = new saved_devices{runtime::cards_from, runtime::configured, saved};
  change_devices(source, c);
}
/// means: the devices of that source, with what is configured; the configuration may still change
inline void push_built(runtime::card_source const& source) {
  push_devices(source, runtime::configured);
  try {
    lock_guard hold(runtime::table.lock);
    runtime::detail::build_table();
  } catch (...) {
    pop_devices();
    throw;
  }
}
}  // namespace detail

/// means: while it lives nothing is configured and nothing frozen; then what was configured before
/// fails: configuration_error, while a tensor is alive
class fresh_configuration {
 public:
  fresh_configuration() : soft_(runtime::table.soft_placement) {
    detail::push_devices(runtime::cards_from, {});
    runtime::table.soft_placement = true;
  }
  fresh_configuration(fresh_configuration const&) = delete;
  ~fresh_configuration() {
    runtime::table.soft_placement = soft_;
    runtime::end_devices(detail::pop_devices);
  }

 private:
  bool soft_;
};

}  // namespace locus::testing
