// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that config/visible.hpp declares.
#pragma once
#include <locus/config/change.hpp>   // change
#include <locus/config/visible.hpp>  // the declarations
#include <locus/core/macros.hpp>     // LOCUS_FUNCTION

namespace locus::config {

LOCUS_FUNCTION void set_visible_devices(physical_list const& devices, std::string_view type) {
  std::string_view const wanted = detail::find_type(type);
  lock_guard hold(runtime::table.lock);
  runtime::physical_devices const& p = runtime::find_physical();
  runtime::card_set cards;
  bool cpu = false;
  for (physical_device const& d : devices) {
    physical_device const found = detail::find_named(d, p);
    bool const is_gpu = found.type == "GPU";
    message text;
    text << "locus: " << found.name.view();
    if (!wanted.empty() && found.type != wanted)
      throw unknown_device(text << " is not of type " << wanted
                                << "; name devices of one type, or no type");
    if (is_gpu ? cards.has(found.index) : cpu)
      throw configuration_error(text << " contained a duplicate entry: it is named twice; name "
                                        "each device once");
    if (is_gpu) cards.put(found.index, true);
    cpu = cpu || !is_gpu;
  }
  if (wanted == "CPU" && !cpu)
    throw configuration_error(
        "locus: /physical_device:CPU:0 cannot be hidden, every plan begins there; name it");
  if (wanted == "CPU") return;
  for (int c = p.count; c < runtime::max_cards; ++c) cards.put(c, true);  // not in the list
  detail::change(runtime::configured.visible, cards, "the list of visible devices",
                 "set_visible_devices");
}

LOCUS_FUNCTION void set_visible_devices(std::string_view type, index_list const& indices) {
  std::string_view const wanted = detail::find_type(type);
  physical_list devices;
  for (int i : indices) devices.push(make_physical(wanted == "GPU", i));
  set_visible_devices(devices, type);
}

LOCUS_FUNCTION physical_list get_visible_devices(std::string_view type) {
  std::string_view const wanted = detail::find_type(type);
  lock_guard hold(runtime::table.lock);
  physical_list list;
  for (physical_device const& d : detail::all_physical(runtime::find_physical())) {
    bool const visible = d.type == "CPU" || runtime::configured.visible.has(d.index);
    if (visible && (wanted.empty() || d.type == wanted)) list.push(d);
  }
  return list;
}

}  // namespace locus::config
