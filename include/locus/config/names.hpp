// SPDX-License-Identifier: Apache-2.0
// Physical devices and their names, and how a call of the configuration finds the one it means.
#pragma once
#include <locus/core/value_list.hpp>   // value_list
#include <locus/device/name.hpp>       // parse_device
#include <locus/runtime/physical.hpp>  // find_physical

namespace locus::config {

using device_text = text_buffer<40>;

/// A card, or the host's processors: what stands behind logical devices.
/// after: tf.config.PhysicalDevice
struct physical_device {
  device_text name;       // /physical_device:GPU:0
  std::string_view type;  // "CPU" or "GPU"
  int index = -1;
  friend bool operator==(physical_device const& a, physical_device const& b) {
    return a.type == b.type && a.index == b.index;
  }
};
using physical_list = value_list<physical_device, runtime::max_cards + 1>;
using index_list = value_list<int, runtime::max_cards>;

inline physical_device make_physical(bool gpu, int index) {
  physical_device d;
  d.type = gpu ? "GPU" : "CPU", d.index = index;
  d.name << "/physical_device:" << d.type << ":" << index;
  return d;
}

/// The physical device that a call means: "GPU:0", "/GPU:0", "/physical_device:GPU:0", or one of
/// list_physical_devices.
class device_argument {
 public:
  device_argument(std::string_view name) : text_(name) {}
  device_argument(char const* name) : text_(name) {}
  device_argument(physical_device const& d) : copy_(d.name), text_(copy_.view()) {}
  device_argument(device_argument const&) = delete;
  std::string_view text() const { return text_; }

 private:
  device_text copy_;
  std::string_view text_;
};

namespace detail {

inline physical_list all_physical(runtime::physical_devices const& p) {
  physical_list all;
  all.push(make_physical(false, 0));
  for (int c = 0; c < p.count; ++c) all.push(make_physical(true, c));
  return all;
}
[[noreturn]] inline void refuse_unknown(std::string_view name, runtime::physical_devices const& p) {
  message text;
  text << "locus: unrecognized device: \"" << shown(name).view() << "\" is not there (present:";
  for (physical_device const& d : all_physical(p)) text << " " << d.name.view();
  if (p.count == 0) text << "; no GPU: " << sentence(p.why_none);
  throw unknown_device(text << "); name one obtained from calling config::list_physical_devices");
}
/// fails: unknown_device, for a malformed name and for one that nobody has
inline physical_device find_named(device_argument const& wanted,
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
/// means: "CPU" or "GPU", from any case; "" for all     fails: unknown_device
inline std::string_view find_type(std::string_view type) {
  if (type.empty()) return type;
  if (type == "GPU" || type == "gpu") return "GPU";
  if (type == "CPU" || type == "cpu") return "CPU";
  message text;
  throw unknown_device(text << "locus: \"" << shown(type).view()
                            << "\" is no type of device; write \"GPU\" or \"CPU\"");
}

}  // namespace detail
}  // namespace locus::config
