// SPDX-License-Identifier: Apache-2.0
// Physical devices, their names, and how a configuration call finds the device in its argument.
#pragma once
#include <locus/core/macros.hpp>       // LOCUS_FUNCTION, LOCUS_HAS_BODIES
#include <locus/core/value_list.hpp>   // value_list
#include <locus/device/name.hpp>       // message << device
#include <locus/machine/physical.hpp>  // physical_devices

namespace locus::config {

using device_text = text_buffer<40>;

/// A card, or the host's processors; one or more logical devices are made of it.
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

LOCUS_FUNCTION physical_device make_physical(bool gpu, int index);

/// The physical device in the argument of a call: "GPU:0", "/GPU:0", "/physical_device:GPU:0", or
/// an element of list_physical_devices.
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

LOCUS_FUNCTION physical_list all_physical(runtime::physical_devices const& p);
[[noreturn]] LOCUS_FUNCTION void refuse_unknown(std::string_view name,
                                                runtime::physical_devices const& p);
/// fails: unknown_device, for a malformed name and for a device that is not there
LOCUS_FUNCTION physical_device find_named(device_argument const& wanted,
                                          runtime::physical_devices const& p);
/// means: "CPU" or "GPU", in any case; "" for both     fails: unknown_device
LOCUS_FUNCTION std::string_view find_type(std::string_view type);

}  // namespace detail
}  // namespace locus::config

#if LOCUS_HAS_BODIES
#include <locus/config/bodies/names.hpp>  // bodies of the functions above
#endif
