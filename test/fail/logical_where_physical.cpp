// SPDX-License-Identifier: Apache-2.0
// A logical device is asked for what only a card has.
// expect: locus: get_device_details takes a physical device; write d.physical of that logical device
#include <locus/config/details.hpp>

auto details() {
  auto const list = locus::config::list_logical_devices("GPU");
#if !defined(LOCUS_MUST_FAIL)
  return locus::config::get_device_details(list[0].physical);
#else
  return locus::config::get_device_details(list[0]);
#endif
}
