// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that testing/device_scope.hpp declares.
#pragma once
#include <locus/backend/devices.hpp>       // build_table, require_no_tensors, end_devices
#include <locus/backend/gpus.hpp>          // whole_gpu_part
#include <locus/config/settings.hpp>       // set_soft_device_placement
#include <locus/core/error.hpp>            // configuration_error
#include <locus/core/macros.hpp>           // LOCUS_FUNCTION
#include <locus/runtime/ranks.hpp>         // this_rank
#include <locus/testing/device_scope.hpp>  // the declarations

namespace locus::testing::detail {

LOCUS_FUNCTION void change_devices(runtime::card_source const& source,
                                   runtime::configuration const& c) {
  runtime::close_gpus();
  auto const policy = runtime::configured.copies;  // is never frozen: no part of a scope
  int const inter_op = runtime::configured.inter_op_threads;
  auto const products = runtime::configured.products;
  runtime::cards_from = source, runtime::configured = c;
  runtime::configured.copies = policy, runtime::configured.inter_op_threads = inter_op;
  runtime::configured.products = products;
  runtime::physical.known = false;
  runtime::table.frozen_by = {};
  __atomic_store_n(&runtime::table.started, false, __ATOMIC_RELEASE);
}

LOCUS_FUNCTION void pop_devices() {
  lock_guard hold(runtime::table.lock);
  saved_devices* const last = saved;
  change_devices(last->source, last->configured);
  saved = last->before;
  delete last;
}

LOCUS_FUNCTION void push_devices(runtime::card_source const& source,
                                 runtime::configuration const& c) {
  if (runtime::this_rank.ranks > 1)
    throw configuration_error(
        "locus: other devices or another configuration inside of a world: the ranks have told each "
        "other their GPUs; make them before the world, as .gpus of testing::on_ranks does");
  runtime::require_no_tensors();
  lock_guard hold(runtime::table.lock);
  saved = new saved_devices{runtime::cards_from, runtime::configured, saved};
  change_devices(source, c);
}

LOCUS_FUNCTION void push_built(runtime::card_source const& source) {
  push_devices(source, runtime::configured);
  try {
    lock_guard hold(runtime::table.lock);
    runtime::gpus_of_program = &runtime::whole_gpu_part;
    runtime::build_table();
  } catch (...) {
    pop_devices();
    throw;
  }
}

}  // namespace locus::testing::detail

namespace locus::testing {

LOCUS_FUNCTION fresh_configuration::fresh_configuration() : before_(read()) {
  detail::push_devices(runtime::cards_from, {});
  write({});
}

LOCUS_FUNCTION fresh_configuration::~fresh_configuration() {
  write(before_);
  runtime::end_devices(detail::pop_devices);
}

LOCUS_FUNCTION fresh_configuration::settings fresh_configuration::read() {
  return {config::get_soft_device_placement(), config::get_device_policy(),
          config::get_intra_op_parallelism_threads(), config::get_inter_op_parallelism_threads()};
}

LOCUS_FUNCTION void fresh_configuration::write(settings const& s) {
  config::set_soft_device_placement(s.soft);
  config::set_device_policy(s.copies);
  config::set_intra_op_parallelism_threads(s.intra_op);
  config::set_inter_op_parallelism_threads(s.inter_op);
}

}  // namespace locus::testing
