// SPDX-License-Identifier: Apache-2.0
// devices(): the device table, made at its first use from what is there.
#pragma once
#include <locus/backend/cuda/backend.hpp>       // backend<backing::cuda>, start_cuda
#include <locus/backend/host/backend.hpp>       // backend<backing::host>
#include <locus/backend/simulated/backend.hpp>  // backend<backing::simulated>
#include <locus/core/error.hpp>                 // unknown_device
#include <locus/device/name.hpp>                // message << device
#include <locus/runtime/log.hpp>                // warn
#include <locus/runtime/table.hpp>              // table
#include <locus/runtime/threads.hpp>            // number_from_environment

namespace locus {

/// means: f(backend<Side>{}) for the side that stands behind a device: the only switch over sides
template <class F>
decltype(auto) on_side(backing side, F&& f) {
  if (side == backing::host) return f(backend<backing::host>{});
  if (side == backing::simulated) return f(backend<backing::simulated>{});
  return f(backend<backing::cuda>{});
}

namespace runtime {

/// What simulated GPUs are asked to be.
struct simulated_options {
  std::int64_t memory_limit = INT64_MAX;  // bytes of each
  std::uint64_t seed = 1;
  int cards = 0;  // 0: as many as GPUs; fewer: several logical GPUs share a card
};

inline void name_devices() {
  auto name = [](logical_device& d, device what, int index) {
    d = logical_device{};
    d.name = what, d.index = static_cast<short>(index), d.memory.limit = physical_memory();
  };
  for (int i = 0; i < max_logical; ++i) {
    name(table.gpu_devices[i], gpu(i), i);
    name(table.cpu_devices[i], cpu(i), max_logical + i);
    table.told[i] = false;
  }
  table.gpus = 0, table.gpu_backing = backing::host, table.why_no_gpu = absence::built_without_cuda;
}
inline void start_simulated(int count, simulated_options const& options) {
  if (count < 1 || count > simulated::max_gpus)
    throw configuration_error(
        "locus: simulated GPUs are 1 to 16; write testing::simulated_gpus{4}");
  simulated::machine& m = simulated::gpus();
  m.reset(options.seed);
  int const cards = options.cards > 0 && options.cards < count ? options.cards : count;
  for (int i = 0; i < count; ++i) {
    logical_device& d = table.gpu_devices[i];
    d.how = backing::simulated, d.card = static_cast<short>(i % cards),
    d.memory.limit = options.memory_limit;
    m.open(d);
  }
  simulated::install_fault_handler();
  table.gpus = count, table.gpu_backing = backing::simulated, table.why_no_gpu = absence::none;
}
inline void start_table() {
  lock_guard hold(table.lock);
  if (table.started) return;
  name_devices();
  if (int const n = number_from_environment("LOCUS_SIMULATED_GPUS", 0, simulated::max_gpus, 0))
    start_simulated(n, {});
  else if (gpu_api)
    start_cuda();
  __atomic_store_n(&table.started, true, __ATOMIC_RELEASE);
}

/// means: the devices of this process; made when first used
inline device_table& devices() {
  if (!__atomic_load_n(&table.started, __ATOMIC_ACQUIRE)) start_table();
  return table;
}

namespace detail {
/// means: a GPU that is not there: said once, and from then on another one or the host
inline logical_device& missing_device(logical_device& d) {
  device_table& t = table;
  lock_guard hold(t.lock);
  if (t.told[d.name.ordinal()]) return d;
  if (!t.soft_placement) {
    message text;
    text << "locus: there is no " << d.name << ": ";
    text << (t.gpus == 0 ? sentence(t.why_no_gpu) : std::string_view("name one that is there"))
         << " (present: /CPU:0";
    for (int i = 0; i < t.gpus; ++i) text << ", " << gpu(i);
    throw unknown_device(text << ")");
  }
  log_line line;
  line << "locus: " << d.name << " is not there, its steps run on ";
  if (t.gpus == 0)
    line << "the host: " << sentence(t.why_no_gpu);
  else {
    logical_device const& other = t.gpu_devices[d.name.ordinal() % t.gpus];
    d.how = other.how, d.card = other.card, d.memory.limit = other.memory.limit;
    if (other.how == backing::cuda) open_streams(d);
    line << other.name << "'s card";
  }
  t.told[d.name.ordinal()] = true;
  warn(line);
  return d;
}
}  // namespace detail

/// means: the logical device of that name, with what stands behind it
/// cost:  an index and a test
/// fails: unknown_device without soft placement
inline logical_device& find_device(device d) {
  device_table& t = devices();
  logical_device& found = t.slot(d);
  if (!d.is_gpu() || d.ordinal() < t.gpus || t.told[d.ordinal()]) return found;
  return detail::missing_device(found);
}

}  // namespace runtime

namespace config {
/// means: logical GPUs that are really there, simulated ones included
/// after: len(tf.config.list_logical_devices("GPU"))
inline int count_logical_gpus() { return runtime::devices().gpus; }
}  // namespace config

}  // namespace locus
