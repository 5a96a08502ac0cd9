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
#include <locus/runtime/arrivals.hpp>         // forget_arrivals
#include <locus/runtime/forks.hpp>            // is_forked, watch_forks
#include <locus/runtime/growth.hpp>           // growth_variables
#include <locus/runtime/log.hpp>              // warn
#include <locus/runtime/nccl_api.hpp>         // forget_communicators
#include <locus/runtime/one_table.hpp>        // require_one_table
#include <locus/runtime/site_text.hpp>        // write_site
#include <locus/runtime/table.hpp>            // table
#include <locus/runtime/variables.hpp>        // require_variables
#include <locus/runtime/watch_variables.hpp>  // read_watch_variables

LOCUS_COLD_BEGIN

namespace locus {
namespace runtime {

namespace detail {
inline void name_devices() {
  if (forget_communicators) forget_communicators();
  if (gpus_of_program) gpus_of_program->forget();
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
  table.gpus = 0, table.gpu_backing = backing::host, table.knows_gpus = false;
}
inline void close_gpus() noexcept {
  forget_arrivals();
  if (forget_communicators) forget_communicators();
  if (gpus_of_program) gpus_of_program->close();
  for (logical_device& d : table.gpu_devices) close_memory(d);
  pinned_memory.close();
  if (gpus_of_program) gpus_of_program->close_streams();
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
  require_variables();
  read_watch_variables();
  name_devices();
  table.growth_variables = growth_variables();
  if (gpus_of_program) gpus_of_program->build();
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
    if (table.built && table.growth_variables != growth_variables()) close_gpus();
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
/// means: the GPUs of a table that was made while no unit of the program named one
[[gnu::cold]] inline void find_gpus() {
  lock_guard hold(table.lock);
  if (!table.built || table.knows_gpus) return;
  if (!gpus_of_program)
    throw error("locus: a GPU is used and no unit of this program names one; this is an error in "
                "locus");
  making_scope const here;
  gpus_of_program->build();
}
/// means: who does the work of a GPU that is not there, with its own memory, limit and queues: a GPU
///        that is, or the host
inline logical_device& stand_in_of(device_table& t, device missing) {
  return t.gpu_devices[t.gpus > 0 ? missing.ordinal() % t.gpus : missing.ordinal()];
}
/// means: a GPU that is not there is found for the first time: said once
[[gnu::cold]] inline void tell_missing(device missing) {
  device_table& t = table;
  if (!t.knows_gpus) find_gpus();
  if (missing.ordinal() < t.gpus ||
      __atomic_exchange_n(&t.told[missing.ordinal()], true, __ATOMIC_ACQ_REL))
    return;
  device const other = t.gpus > 0 ? stand_in_of(t, missing).name : cpu(0);
  log_line line;
  line << "locus: " << missing << " is not there, its steps run on ";
  if (other.is_gpu())
    line << other << ", in its memory";
  else
    line << "the host: " << sentence(t.why_no_gpu);
  log_event e;
  e.kind = event_kind::fallback, e.on = {missing, other, {}}, e.reason = line.view();
  warn(e);
}
}  // namespace detail

/// means: the logical device that does the work of d: d itself, or what stands in for it, which is
///        said once. Who asks for d by name asks request_devices first.
/// cost:  an index and a test
inline logical_device& find_device(device d) {
  device_table& t = devices();
  if (!d.is_gpu() || d.ordinal() < t.gpus) return t.slot(d);
  if (!__atomic_load_n(&t.told[d.ordinal()], __ATOMIC_ACQUIRE)) detail::tell_missing(d);
  return d.ordinal() < t.gpus ? t.slot(d) : detail::stand_in_of(t, d);
}

/// means: logical device d is on this machine, as list_logical_devices lists it
inline bool is_there(device d) {
  device_table& t = devices();
  if (d.is_cpu()) return d.ordinal() < configured.cpus;
  if (!t.knows_gpus) detail::find_gpus();
  return d.ordinal() < t.gpus;
}

namespace detail {
/// fails: unknown_device, naming what is there and who asked, where
[[noreturn, gnu::cold]] inline void refuse_missing(device d, std::string_view who,
                                                   call_site where) {
  device_table const& t = table;
  message text;
  text << "locus: there is no " << d << ": ";
  if (d.is_gpu())
    text << (t.gpus == 0 ? sentence(t.why_no_gpu) : std::string_view("name one that is there"));
  else
    text << "name one that is there, or have more by config::set_logical_devices";
  text << " (present:";
  for (int i = 0; i < configured.cpus; ++i) text << (i ? ", " : " ") << cpu(i);
  for (int i = 0; i < t.gpus; ++i) text << ", " << gpu(i);
  text << "); " << who << " asks for it";
  if (where.is_set() || where.is_code()) write_site(text << " at ", where);
  throw unknown_device(text);
}
}  // namespace detail

/// means: the program asks for these devices by name. Hard placement refuses those that are not
///        there; what nobody asked for by name is not refused.
/// cost:  a test of a flag while placement is soft
/// fails: unknown_device while placement is hard, naming what is there, who asks, and where
inline void request_devices(place const& all, std::string_view who, call_site where = {}) {
  if (placement_is_soft()) return;
  for (int r = 0; r < all.count(); ++r)
    if (!is_there(all.at(r))) detail::refuse_missing(all.at(r), who, where);
}

}  // namespace runtime

}  // namespace locus

LOCUS_COLD_END
