// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that config/logical.hpp declares.
#pragma once
#include <locus/config/change.hpp>   // change
#include <locus/config/logical.hpp>  // the declarations
#include <locus/core/is_finite.hpp>  // is_nan
#include <locus/core/macros.hpp>     // LOCUS_FUNCTION
#include <locus/memory/limits.hpp>   // require_limits_fit

namespace locus::config::detail {

LOCUS_FUNCTION void require_some(options_list const& wanted, physical_device const& d) {
  if (!wanted.empty()) return;
  message text;
  throw configuration_error(text << "locus: " << d.name.view()
                                 << " is cut into no logical device; write one entry for each, or "
                                    "hide it with set_visible_devices");
}

LOCUS_FUNCTION void require_cpu_options(options_list const& wanted) {
  for (logical_options const& o : wanted) {
    std::string_view const what = o.memory_limit != o.no_limit ? "memory limit"
                                  : o.priority != o.unset      ? "priority"
                                  : o.ordinal != o.unset       ? "device ordinal"
                                                               : "";
    if (what.empty()) continue;
    message text;
    throw configuration_error(text << "locus: setting " << what
                                   << " on CPU virtual devices is not supported; write {} for each "
                                      "logical CPU");
  }
}

LOCUS_FUNCTION void require_gpu_options(options_list const& wanted, physical_device const& d) {
  message text;
  text << "locus: ";
  int priorities = 0, ordinals = 0;
  for (logical_options const& o : wanted) {
    if (o.memory_limit == o.no_limit && wanted.size() > 1)
      throw configuration_error(text << "setting memory limit is required for GPU virtual devices; "
                                     << "give each logical device of " << d.name.view()
                                     << " one: {.memory_limit = 1_GiB}");
    if (o.memory_limit != o.no_limit && o.memory_limit <= 0)
      throw configuration_error(text << "a logical device of " << d.name.view()
                                     << " has a memory limit of " << o.memory_limit
                                     << " bytes; write a positive number, as 1_GiB");
    priorities += o.priority != o.unset, ordinals += o.ordinal != o.unset;
    if (o.priority != o.unset && (o.priority > 0 || o.priority < -5))
      throw configuration_error(text << "the priority " << o.priority << " is outside the range of "
                                     << "supported priorities; write -5 (first) to 0");
  }
  auto require_all = [&](int given, std::string_view what) {
    if (given == 0 || given == wanted.size()) return;
    throw configuration_error(text << what << " must be specified for all virtual devices of "
                                   << d.name.view() << " or for none; " << given << " of "
                                   << wanted.size() << " have one");
  };
  require_all(priorities, "priority");
  require_all(ordinals, "device ordinal");
}

}  // namespace locus::config::detail

namespace locus::config {

LOCUS_FUNCTION void set_logical_devices(device_argument const& device, options_list const& wanted) {
  lock_guard hold(runtime::table.lock);
  runtime::physical_devices const& p = runtime::find_physical();
  physical_device const d = detail::find_named(device, p);
  detail::require_some(wanted, d);
  auto change = [&](auto& to, auto const& value) {
    detail::change(to, value, "the virtual devices (logical devices)", "set_logical_devices");
  };
  if (d.type == "CPU") {
    detail::require_cpu_options(wanted);
    return change(runtime::configured.cpus, wanted.size());
  }
  detail::require_gpu_options(wanted, d);
  runtime::request_list all;
  auto add_others = [&](bool below) {
    for (runtime::logical_request const& r : runtime::configured.divided)
      if (below ? r.card < d.index : r.card > d.index) all.push(r);
  };
  add_others(true);
  for (logical_options const& o : wanted) {
    runtime::logical_request r;
    static_cast<logical_options&>(r) = o, r.card = static_cast<short>(d.index);
    all.push(r);
  }
  add_others(false);
  runtime::require_limits_fit(all, d.index, std::int64_t(p.cards[d.index].total_bytes));
  change(runtime::configured.divided, all);
}

LOCUS_FUNCTION options_list get_logical_devices(device_argument const& device) {
  lock_guard hold(runtime::table.lock);
  physical_device const d = detail::find_named(device, runtime::find_physical());
  options_list list;
  if (d.type == "CPU")
    for (int i = 0; i < runtime::configured.cpus; ++i) list.push({});
  for (runtime::logical_request const& r : runtime::configured.divided)
    if (d.type == "GPU" && r.card == d.index) list.push(r);
  return list;
}

LOCUS_FUNCTION void set_memory_growth(device_argument const& device, bool on) {
  lock_guard hold(runtime::table.lock);
  physical_device const d = detail::find_named(device, runtime::find_physical());
  if (d.type != "GPU")
    throw configuration_error(
        "locus: cannot set memory growth on non-GPU devices: memory of the host always grows; name "
        "a GPU");
  runtime::card_set cards = runtime::configured.growth;
  cards.put(d.index, on);
  detail::change(runtime::configured.growth, cards, "memory growth of physical devices",
                 "set_memory_growth");
}

LOCUS_FUNCTION bool get_memory_growth(device_argument const& device) {
  lock_guard hold(runtime::table.lock);
  physical_device const d = detail::find_named(device, runtime::find_physical());
  return d.type != "GPU" || runtime::configured.growth.has(d.index);
}

LOCUS_FUNCTION void set_memory_fraction(double fraction) {
  if (internal::is_nan(fraction) || !(fraction > 0 && fraction <= 1))
    throw configuration_error(
        "locus: the memory fraction is a part of the card; write a number above 0 and at most 1");
  lock_guard hold(runtime::table.lock);
  detail::change(runtime::configured.memory_fraction, fraction, "the memory fraction",
                 "set_memory_fraction");
}

}  // namespace locus::config
