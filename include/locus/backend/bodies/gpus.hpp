// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that backend/gpus.hpp declares.
#pragma once
#include <locus/backend/gpus.hpp>  // the declarations
#include <locus/core/macros.hpp>   // LOCUS_FUNCTION, LOCUS_COLD_BEGIN

LOCUS_COLD_BEGIN

namespace locus::runtime {

LOCUS_FUNCTION std::int64_t limit_of(logical_request const& r, physical_devices const& p) {
  if (r.memory_limit != r.no_limit) return r.memory_limit;
  auto const total = static_cast<std::int64_t>(p.cards[r.card].total_bytes);
  bool const shared = p.logical > p.count && configured.divided.empty();
  std::int64_t const whole = shared ? p.simulated.memory_limit : total;
  double const part = configured.memory_fraction;
  return part == 1 ? whole : static_cast<std::int64_t>(double(whole) * part);
}

}  // namespace locus::runtime

namespace locus::runtime::detail {

LOCUS_FUNCTION void leave_room_for_nccl(logical_device& d, int cards) {
  std::size_t free = 0, total = 0;
  current_card const scope(d);
  if (gpu_api->memory_free(&free, &total) != cuda_success) {
    gpu_api->last_error();
    return;
  }
  std::int64_t const rest = static_cast<std::int64_t>(free) - room_for_nccl(cards);
  if (rest > 0 && rest < d.memory.limit) d.memory.limit = rest / 256 * 256;
}

LOCUS_FUNCTION int count_cards(request_list const& requests) {
  card_set all;
  int n = 0;
  for (logical_request const& r : requests)
    if (!all.has(r.card)) all.put(r.card, true), ++n;
  return n;
}

LOCUS_FUNCTION void open_gpu(logical_request const& r, physical_devices const& p, bool growth,
                             int cards) {
  logical_device& d = table.gpu_devices[table.gpus];
  d.card = r.card, d.memory.limit = limit_of(r, p), d.memory.growth = growth;
  d.priority = static_cast<short>(r.priority == r.unset ? 0 : r.priority);
  d.how = p.how, d.machine = table.gpu_machine;
  d.machine->open(d);
  if (p.has_cards() && !growth && cards > 1 && r.memory_limit == r.no_limit)
    leave_room_for_nccl(d, cards);
  __atomic_store_n(&table.gpus, table.gpus + 1, __ATOMIC_RELEASE);
}

LOCUS_FUNCTION void begin_simulation(physical_devices const& p, int gpus) {
  if (gpus > simulated::max_gpus)
    throw configuration_error(
        "locus: more than 16 logical GPUs are configured on simulated cards; configure fewer");
  simulated::gpus().reset(p.simulated.seed);
  simulated::gpus().set_peers(p.simulated.peers);
  simulated::install_fault_handler();
}

LOCUS_FUNCTION void build_gpus() {
  int const forced = forced_growth();
  physical_devices const& p = find_physical();
  request_list const requests = lay_out(p, configured);
  for (int card = 0; card < p.count; ++card)
    require_limits_fit(requests, card, static_cast<std::int64_t>(p.cards[card].total_bytes));
  table.why_no_gpu = p.count > 0 ? absence::hidden : p.why_none;
  if (p.how == backing::simulated) begin_simulation(p, requests.size());
  int const cards = count_cards(requests);
  for (logical_request const& r : requests) {
    absence const why = !p.has_cards()      ? absence::none
                        : p.answers[r.card] ? why_not_on(r.card)
                                            : absence::wrong_architecture;
    table.gpu_machine = p.has_cards() ? &cuda_machine : &simulated_machine;
    table.gpu_backing = p.how;
    if (why == absence::none)
      open_gpu(r, p, forced >= 0 ? forced == 1 : configured.growth.has(r.card), cards);
    else
      table.why_no_gpu = why;
  }
  if (table.gpus == 0) table.gpu_backing = backing::host, table.gpu_machine = nullptr;
  if (table.gpus > 0) table.why_no_gpu = absence::none;
  __atomic_store_n(&table.knows_gpus, true, __ATOMIC_RELEASE);
}

LOCUS_FUNCTION void forget_cards() {
  forget_contexts();
  forget_losses();
  forget_peers();
}

}  // namespace locus::runtime::detail

namespace locus::runtime {

LOCUS_FUNCTION device_table& devices_with_gpus(char const* what, call_site where) {
  if (!gpus_of_program) gpus_of_program = &whole_gpu_part;
  device_table& t = devices(what, where);
  if (!t.has_looked()) detail::find_gpus();
  return t;
}

}  // namespace locus::runtime

LOCUS_COLD_END
