// SPDX-License-Identifier: Apache-2.0
// The machine of a logical device, in words.
#pragma once
#include <locus/backend/gpus.hpp>  // devices_with_gpus
#include <locus/device/name.hpp>   // text << device

namespace locus::runtime {

/// means: writes where the work of d runs: "/CPU:0 is the host", "/GPU:0 is on card 0", or
///        "/GPU:2 is not there, its steps run on /GPU:0, in its memory"
/// cost:  the first use makes the device table and freezes the configuration; no work is issued
template <class Text>
Text& write_stands_behind(Text& out, device d) {
  device_table const& t = devices_with_gpus("a plan was explained");
  if (d.is_cpu()) return out << d << " is the host";
  if (d.ordinal() < t.gpus) {
    logical_device const& here = t.gpu_devices[d.ordinal()];
    bool const real = here.is_card();
    return out << d << " is " << (real ? "on card " : "simulated, on card ") << int(here.card);
  }
  out << d << " is not there";
  if (!placement_is_soft())
    out << ", and placement is hard: asking for it by name is unknown_device";
  out << ", its steps run on ";
  if (t.gpus > 0) return out << gpu(d.ordinal() % t.gpus) << ", in its memory";
  return out << "the host: " << sentence(t.why_no_gpu);
}

}  // namespace locus::runtime
