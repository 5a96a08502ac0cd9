// SPDX-License-Identifier: Apache-2.0
// devices(): the device table, made at its first use from what is there.
#pragma once
#include <locus/backend/pinned.hpp>           // pinned_memory
#include <locus/backend/pool.hpp>             // close_memory
#include <locus/backend/sides.hpp>            // backend, start_cuda
#include <locus/backend/trace.hpp>            // trace_devices
#include <locus/core/config.hpp>              // LOCUS_SHARED_STATE, LOCUS_COLD_BEGIN
#include <locus/core/error.hpp>               // unknown_device
#include <locus/device/name.hpp>              // message << device
#include <locus/runtime/forks.hpp>            // is_forked, watch_forks
#include <locus/runtime/growth.hpp>           // forced_growth
#include <locus/runtime/limits.hpp>           // require_limits_fit
#include <locus/runtime/log.hpp>              // warn
#include <locus/runtime/nccl_api.hpp>         // forget_communicators
#include <locus/runtime/one_table.hpp>        // require_one_table
#include <locus/runtime/physical.hpp>         // find_physical, lay_out
#include <locus/runtime/table.hpp>            // table
#include <locus/runtime/watch_variables.hpp>  // read_watch_variables

LOCUS_COLD_BEGIN

namespace locus {
namespace runtime {

namespace detail {
inline void name_devices() {
  if (forget_communicators) forget_communicators();
  forget_losses();
  forget_peers();
  auto name = [](logical_device& d, device what, int index) {
    close_memory(d);
    d = logical_device{};
    d.name = what, d.index = static_cast<short>(index), d.memory.limit = physical_memory();
  };
  for (int i = 0; i < max_logical; ++i) {
    name(table.gpu_devices[i], gpu(i), i);
    name(table.cpu_devices[i], cpu(i), max_logical + i);
    table.told[i] = false;
  }
  table.gpus = 0, table.gpu_backing = backing::host;
}
inline std::int64_t limit_of(logical_request const& r, physical_devices const& p) {
  if (r.memory_limit != r.no_limit) return r.memory_limit;
  auto const total = static_cast<std::int64_t>(p.cards[r.card].total_bytes);
  bool const shared = p.logical > p.count && configured.divided.empty();
  std::int64_t const whole = shared ? p.simulated.memory_limit : total;
  double const part = configured.memory_fraction;
  return part == 1 ? whole : static_cast<std::int64_t>(double(whole) * part);
}
inline void open_gpu(logical_request const& r, physical_devices const& p, bool growth) {
  logical_device& d = table.gpu_devices[table.gpus];
  d.card = r.card, d.memory.limit = limit_of(r, p), d.memory.growth = growth;
  d.priority = static_cast<short>(r.priority == r.unset ? 0 : r.priority);
  d.how = p.how;
  if (p.how == backing::simulated) simulated::gpus().open(d);
  if (p.how == backing::cuda) open_streams(d);
  ++table.gpus;
}
inline void close_gpus() noexcept {
  if (forget_communicators) forget_communicators();
  if (table.gpu_backing == backing::simulated) try {
      simulated::gpus().run_everything();
    } catch (...) {}  // what a functor threw has nobody left to hear it
  for (logical_device& d : table.gpu_devices) close_memory(d);
  pinned_memory.close();
  for (logical_device& d : table.gpu_devices) close_streams(d);
  table.built = false;
}

/// While the table is made: what the log calls meanwhile may not ask for devices.
LOCUS_SHARED_STATE inline thread_local constinit bool making_table = false;
struct making_scope {
  making_scope() { making_table = true; }
  making_scope(making_scope const&) = delete;
  ~making_scope() { making_table = false; }
};

/// means: the logical devices, from the cards and the configuration; table.lock is held
/// fails: configuration_error, device_lost; nothing is built then
inline void build_table() try {
  if (table.built) return;
  making_scope const here;
  watch_forks();
  read_watch_variables();
  int const forced = forced_growth();
  physical_devices const& p = find_physical();
  request_list const requests = lay_out(p, configured);
  for (int card = 0; card < p.count; ++card)
    require_limits_fit(requests, card, static_cast<std::int64_t>(p.cards[card].total_bytes));
  name_devices();
  table.why_no_gpu = p.count > 0 ? absence::hidden : p.why_none;
  if (p.how == backing::simulated) {
    if (requests.size() > simulated::max_gpus)
      throw configuration_error(
          "locus: more than 16 logical GPUs are configured on simulated cards; configure fewer");
    simulated::gpus().reset(p.simulated.seed);
    simulated::gpus().set_peers(p.simulated.peers);
    simulated::install_fault_handler();
  }
  for (logical_request const& r : requests) {
    bool const runs = p.how != backing::cuda || (p.answers[r.card] && cuda_runs_on(r.card));
    table.gpu_backing = p.how;
    if (runs)
      open_gpu(r, p, forced >= 0 ? forced == 1 : configured.growth.has(r.card));
    else
      table.why_no_gpu = absence::wrong_architecture;
  }
  if (table.gpus == 0) table.gpu_backing = backing::host;
  if (table.gpus > 0) table.why_no_gpu = absence::none;
  table.built = true;
  if (is_watched(watcher::trace)) debugging::detail::trace_devices();
} catch (...) {
  close_gpus();
  throw;
}

[[gnu::cold]] inline void start_table(char const* what, call_site where) {
  if (is_forked()) refuse_forked();
  if (making_table)
    throw configuration_error(
        "locus: a callback of the log uses devices while they are made; do that later");
  {
    lock_guard hold(table.lock);
    if (table.started) return;
    require_one_table(&table);
    build_table();
    table.frozen_by = {what, where};
    __atomic_store_n(&table.started, true, __ATOMIC_RELEASE);
  }
  if (is_watched(watcher::log)) say_settings();
}
}  // namespace detail

/// means: the devices of this process; made, and their configuration frozen, when first used
/// cost:  one test of a flag
inline device_table& devices(char const* what = "a plan ran", call_site where = {}) {
  if (!__atomic_load_n(&table.started, __ATOMIC_ACQUIRE)) detail::start_table(what, where);
  return table;
}

namespace detail {
/// What ends when the last tensor goes: scopes inside scopes, the inner first.
LOCUS_SHARED_STATE inline constinit value_list<void (*)(), 16> endings;
inline void run_endings() {
  auto const all = endings;
  endings = {}, table.retire = nullptr;
  for (auto* const end : all) end();
}
}  // namespace detail

/// means: the devices end now; or, while tensors are alive on them, with the last of these
inline void end_devices(void (*end)()) {
  if (__atomic_load_n(&table.live_blocks, __ATOMIC_RELAXED) == 0) return end();
  log_line line;
  warn(line << "locus: " << table.live_blocks
            << " tensors outlive their simulated or recorded devices, which stay until the last of "
               "them is gone; end the tensors first");
  detail::endings.push(end);
  table.retire = detail::run_endings;
}
/// fails: configuration_error, while a tensor is alive: its memory would lose its device
inline void require_no_tensors() {
  if (is_forked()) refuse_forked();
  std::int64_t const alive = __atomic_load_n(&table.live_blocks, __ATOMIC_RELAXED);
  if (alive == 0) return;
  message text;
  throw configuration_error(text << "locus: " << alive
                                 << " tensors are alive while the devices change; end them first");
}

namespace detail {
/// means: what stands in for d, a GPU or the host; false: that is known already
/// fails: unknown_device without soft placement
inline bool find_stand_in(logical_device& d, device& found) {
  device_table& t = table;
  lock_guard hold(t.lock);
  if (t.told[d.name.ordinal()]) return false;
  if (!__atomic_load_n(&t.soft_placement, __ATOMIC_RELAXED)) {
    message text;
    text << "locus: there is no " << d.name << ": ";
    text << (t.gpus == 0 ? sentence(t.why_no_gpu) : std::string_view("name one that is there"))
         << " (present: /CPU:0";
    for (int i = 0; i < t.gpus; ++i) text << ", " << gpu(i);
    throw unknown_device(text << ")");
  }
  found = cpu(0);
  if (t.gpus > 0) {
    logical_device const& other = t.gpu_devices[d.name.ordinal() % t.gpus];
    d.how = other.how, d.card = other.card, d.memory.limit = other.memory.limit;
    d.memory.growth = other.memory.growth;
    if (other.how == backing::cuda) open_streams(d);
    found = other.name;
  }
  // who reads this without the lock sees what stands behind d
  __atomic_store_n(&t.told[d.name.ordinal()], true, __ATOMIC_RELEASE);
  return true;
}
/// means: a GPU that is not there: said once, and from then on another one or the host
[[gnu::cold]] inline logical_device& missing_device(logical_device& d) {
  device other;
  if (!find_stand_in(d, other)) return d;
  log_line line;
  line << "locus: " << d.name << " is not there, its steps run on ";
  if (other.is_gpu())
    line << other << "'s card";
  else
    line << "the host: " << sentence(table.why_no_gpu);
  log_event e;
  e.kind = event_kind::fallback, e.on = {d.name, other, {}}, e.reason = line.view();
  warn(e);
  return d;
}
}  // namespace detail

/// means: the logical device of that name, with what stands behind it
/// cost:  an index and a test
/// fails: unknown_device without soft placement
inline logical_device& find_device(device d) {
  device_table& t = devices();
  logical_device& found = t.slot(d);
  if (!d.is_gpu() || d.ordinal() < t.gpus ||
      __atomic_load_n(&t.told[d.ordinal()], __ATOMIC_ACQUIRE))
    return found;
  return detail::missing_device(found);
}

}  // namespace runtime

namespace config {
/// means: logical GPUs that are really there, simulated ones included
/// after: len(tf.config.list_logical_devices("GPU"))
inline int count_logical_gpus(call_site where = call_site::here()) {
  return runtime::devices("count_logical_gpus", where).gpus;
}
}  // namespace config

}  // namespace locus

LOCUS_COLD_END
