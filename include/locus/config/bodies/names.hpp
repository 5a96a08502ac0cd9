// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that config/names.hpp declares.
#pragma once
#include <locus/config/names.hpp>  // the declarations
#include <locus/core/macros.hpp>   // LOCUS_FUNCTION

namespace locus::config {

LOCUS_FUNCTION physical_device make_physical(bool gpu, int index) {
  physical_device d;
  d.type = gpu ? "GPU" : "CPU", d.index = index;
  d.name << "/physical_device:" << d.type << ":" << index;
  return d;
}

}  // namespace locus::config

namespace locus::config::detail {

LOCUS_FUNCTION physical_list all_physical(runtime::physical_devices const& p) {
  physical_list all;
  all.push(make_physical(false, 0));
  for (int c = 0; c < p.count; ++c) all.push(make_physical(true, c));
  return all;
}

LOCUS_FUNCTION void refuse_unknown(std::string_view name, runtime::physical_devices const& p) {
  message text;
  text << "locus: unrecognized device: \"" << shown(name).view() << "\" is not there (present:";
  for (physical_device const& d : all_physical(p)) text << " " << d.name.view();
  if (p.count == 0) text << "; no GPU: " << sentence(p.why_none);
  throw unknown_device(text << "); name one obtained from calling config::list_physical_devices");
}

LOCUS_FUNCTION physical_device find_named(device_argument const& wanted,
                                          runtime::physical_devices const& p) {
  std::string_view name = wanted.text();
  constexpr std::string_view prefix = "/physical_device:";
  if (name.substr(0, prefix.size()) == prefix) name.remove_prefix(prefix.size());
  named_device const parsed = parse_device(name);
  if (parsed.error != name_error::none && parsed.error != name_error::large_ordinal) {
    message text;
    throw unknown_device(text << "locus: unrecognized device: \"" << shown(wanted.text()).view()
                              << "\" " << sentence(parsed.error));
  }
  bool const is_gpu = parsed.value.is_gpu();
  if (parsed.error != name_error::none || parsed.value.ordinal() >= (is_gpu ? p.count : 1))
    refuse_unknown(wanted.text(), p);
  return make_physical(is_gpu, parsed.value.ordinal());
}

LOCUS_FUNCTION std::string_view find_type(std::string_view type) {
  if (type.empty()) return type;
  if (type == "GPU" || type == "gpu") return "GPU";
  if (type == "CPU" || type == "cpu") return "CPU";
  message text;
  throw unknown_device(text << "locus: \"" << shown(type).view()
                            << "\" is no type of device; write \"GPU\" or \"CPU\"");
}

}  // namespace locus::config::detail
