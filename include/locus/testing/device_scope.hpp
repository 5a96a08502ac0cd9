// SPDX-License-Identifier: Apache-2.0
// Other devices, or another configuration, for a while: what simulated GPUs and the recorder share.
#pragma once
#include <locus/backend/devices.hpp>  // build_table, require_no_tensors, end_devices
#include <locus/backend/gpus.hpp>     // whole_gpu_part
#include <locus/core/config.hpp>      // LOCUS_SHARED_STATE
#include <locus/runtime/config.hpp>   // set_soft_device_placement

namespace locus::testing {

namespace detail {
/// What was before a scope.
struct saved_devices {
  runtime::card_source source;
  runtime::configuration configured;
  saved_devices* before = nullptr;
};
LOCUS_SHARED_STATE inline constinit saved_devices* saved = nullptr;

/// means: the devices that are there end, others may come; table.lock is held
inline void change_devices(runtime::card_source const& source, runtime::configuration const& c) {
  runtime::detail::close_gpus();
  auto const policy = runtime::configured.copies;  // set at any time, and no part of a scope
  int const inter_op = runtime::configured.inter_op_threads;
  auto const products = runtime::configured.products;
  runtime::cards_from = source, runtime::configured = c;
  runtime::configured.copies = policy, runtime::configured.inter_op_threads = inter_op;
  runtime::configured.products = products;
  runtime::physical.known = false;
  runtime::table.frozen_by = {};
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
    runtime::gpus_of_program = &runtime::whole_gpu_part;
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
  fresh_configuration() : before_(read()) {
    detail::push_devices(runtime::cards_from, {});
    write({});
  }
  fresh_configuration(fresh_configuration const&) = delete;
  ~fresh_configuration() {
    write(before_);
    runtime::end_devices(detail::pop_devices);
  }

 private:
  /// what may be set at any time
  struct settings {
    bool soft = true;
    copy_policy copies = copy_policy::silent;
    int intra_op = 0, inter_op = 0;
  };
  static settings read() {
    return {config::get_soft_device_placement(), config::get_device_policy(),
            config::get_intra_op_parallelism_threads(), config::get_inter_op_parallelism_threads()};
  }
  static void write(settings const& s) {
    config::set_soft_device_placement(s.soft);
    config::set_device_policy(s.copies);
    config::set_intra_op_parallelism_threads(s.intra_op);
    config::set_inter_op_parallelism_threads(s.inter_op);
  }
  settings before_;
};

}  // namespace locus::testing
