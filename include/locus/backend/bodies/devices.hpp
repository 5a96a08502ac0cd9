// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that backend/devices.hpp declares.
#pragma once
#include <locus/backend/devices.hpp>          // the declarations
#include <locus/core/error.hpp>               // unknown_device
#include <locus/core/macros.hpp>              // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/machine/start_watching.hpp>   // read_watch_variables
#include <locus/memory/growth.hpp>            // growth_variables
#include <locus/memory/pinned.hpp>            // pinned_memory
#include <locus/memory/pool.hpp>              // close_memory
#include <locus/runtime/at_end.hpp>           // at_end
#include <locus/runtime/forks.hpp>            // is_forked, watch_forks
#include <locus/runtime/nccl_api.hpp>         // forget_communicators
#include <locus/runtime/one_table.hpp>        // require_one_table
#include <locus/runtime/pending_results.hpp>  // forget_arrivals
#include <locus/runtime/variables.hpp>        // require_variables
#include <locus/watch/log.hpp>                // warn
#include <locus/watch/site_text.hpp>          // write_site

LOCUS_COLD_BEGIN

namespace locus::runtime::detail {

LOCUS_FUNCTION void name_devices() {
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
  table.gpus = 0, table.gpu_backing = backing::host, table.gpu_machine = nullptr;
  table.knows_gpus = false;
}

}  // namespace locus::runtime::detail

namespace locus::runtime {

LOCUS_FUNCTION void close_gpus() noexcept {
  forget_arrivals();
  if (forget_communicators) forget_communicators();
  if (table.gpu_machine) table.gpu_machine->close();
  for (logical_device& d : table.gpu_devices) close_memory(d);
  pinned_memory.close();
  if (table.gpu_machine)
    for (logical_device& d : table.gpu_devices) table.gpu_machine->close_queues(d);
  table.built = false;
}

LOCUS_FUNCTION void build_table() try {
  if (table.built) return;
  detail::making_scope const here;
  watch_forks();
  require_variables();
  read_watch_variables();
  detail::name_devices();
  table.growth_variables = growth_variables();
  if (gpus_of_program) gpus_of_program->build();
  table.built = true;
  if (is_watched(watcher::trace)) at_end(close_trace_at_end);
} catch (...) {
  close_gpus();
  throw;
}

}  // namespace locus::runtime

namespace locus::runtime::detail {

LOCUS_FUNCTION void start_table(char const* what, call_site where) {
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

LOCUS_FUNCTION void run_endings() {
  decltype(endings) all;
  {
    lock_guard hold(endings_lock);
    all = endings, endings = {};
  }
  for (auto* const end : all) end();
}

}  // namespace locus::runtime::detail

namespace locus::runtime {

LOCUS_FUNCTION void end_devices(void (*end)()) {
  std::int64_t const alive = count_blocks();
  if (alive == 0) return end();
  log_line line;
  warn(line << "locus: " << alive
            << " tensors outlive their simulated or recorded devices, which stay until the last of "
               "them is gone; end the tensors first");
  {
    lock_guard hold(detail::endings_lock);
    detail::endings.push(end);
  }
  __atomic_store_n(&table.retire, &detail::run_endings, __ATOMIC_SEQ_CST);
  if (count_blocks() == 0) end_waiting_devices();  // the last tensor has ended meanwhile
}

LOCUS_FUNCTION void require_no_tensors() {
  if (is_forked()) refuse_forked();
  std::int64_t const alive = count_blocks();
  if (alive == 0) return;
  message text;
  throw configuration_error(text << "locus: " << alive
                                 << " tensors are alive while the devices change; end them first");
}

}  // namespace locus::runtime

namespace locus::runtime::detail {

LOCUS_FUNCTION void find_gpus() {
  lock_guard hold(table.lock);
  if (!table.built || table.knows_gpus) return;
  if (!gpus_of_program)
    throw error("locus: a GPU is used and no unit of this program names one; this is an error in "
                "locus");
  detail::making_scope const here;
  gpus_of_program->build();
}

LOCUS_FUNCTION void tell_missing(device missing) {
  device_table& t = table;
  if (!t.has_looked()) find_gpus();
  if (missing.ordinal() < t.count_gpus() ||
      __atomic_exchange_n(&t.told[missing.ordinal()], true, __ATOMIC_ACQ_REL))
    return;
  device const other = t.gpus > 0 ? stand_in_of(t, missing).name : cpu(0);
  log_line line;
  line << "locus: " << missing << " is not there, its steps run on ";
  if (other.is_gpu())
    line << other << ", in its memory";
  else
    line << "the host: " << sentence(t.why_no_gpu);
  run_event e{.kind = event_kind::fallback, .on = {missing, other}, .reason = line.view()};
  warn(e);
}

LOCUS_FUNCTION void refuse_missing(device d, std::string_view who, call_site where) {
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

}  // namespace locus::runtime::detail

namespace locus::runtime {

LOCUS_FUNCTION void request_devices(place const& all, std::string_view who, call_site where) {
  if (placement_is_soft()) return;
  for (int r = 0; r < all.local_count(); ++r)
    if (!is_there(all.at(r))) detail::refuse_missing(all.at(r), who, where);
}

}  // namespace locus::runtime

LOCUS_COLD_END
