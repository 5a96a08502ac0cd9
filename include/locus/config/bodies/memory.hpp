// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that config/memory.hpp declares.
#pragma once
#include <locus/config/memory.hpp>  // the declarations
#include <locus/core/macros.hpp>    // LOCUS_FUNCTION
#include <locus/device/name.hpp>    // device_named, parse_name

namespace locus::config::detail {

LOCUS_FUNCTION void refuse_account(std::string_view name, bool several) {
  message text;
  text << "locus: " << (several ? "multiple devices match" : "no matching devices found for")
       << " the device name \"" << shown(name).view() << "\" (present: " << runtime::configured.cpus
       << " CPU";
  throw unknown_device(text << ", " << runtime::table.gpus
                            << " GPU); name one of list_logical_devices");
}

LOCUS_FUNCTION runtime::logical_device& account_of(device d, std::string_view name) {
  bool const known = !d.is_gpu() || runtime::table.told[d.ordinal()];
  if (!runtime::is_there(d) && !(known && runtime::placement_is_soft()))
    refuse_account(name, false);
  return runtime::find_device(d);
}

LOCUS_FUNCTION runtime::logical_device& find_account(std::string_view name, char const* call,
                                                     call_site where) {
  device const first = device_named(name);
  runtime::device_table const& t = runtime::devices_with_gpus(call, where);
  bool const any = parse_name(name).id < 0;  // "/device:GPU", "/gpu:*"
  int const there = first.is_gpu() ? t.gpus : runtime::configured.cpus;
  if (any && there != 1) refuse_account(name, there > 1);
  return account_of(first, name);
}

}  // namespace locus::config::detail
