// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that backend/gpus.hpp declares.
#pragma once
#include <locus/backend/gpus.hpp>  // the declarations
#include <locus/core/macros.hpp>   // LOCUS_FUNCTION, LOCUS_COLD_BEGIN

LOCUS_COLD_BEGIN

namespace locus::runtime::detail {

LOCUS_FUNCTION std::int64_t limit_of(logical_request const& r, physical_devices const& p) {
  if (r.memory_limit != r.no_limit) return r.memory_limit;
  auto const total = static_cast<std::int64_t>(p.cards[r.card].total_bytes);
  bool const shared = p.logical > p.count && configured.divided.empty();
  std::int64_t const whole = shared ? p.simulated.memory_limit : total;
  double const part = configured.memory_fraction;
  return part == 1 ? whole : static_cast<std::int64_t>(double(whole) * part);
}

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
  d.how = p.how;
  if (p.how == backing::simulated) simulated::gpus().open(d);
  if (p.how == backing::cuda) {
    open_streams(d);
    if (!growth && cards > 1 && r.memory_limit == r.no_limit) leave_room_for_nccl(d, cards);
  }
  ++table.gpus;
}

LOCUS_FUNCTION void begin_simulation(physical_devices const& p, int gpus) {
  if (gpus > simulated::max_gpus)
    throw configuration_error(
        "locus: more than 16 logical GPUs are configured on simulated cards; configure fewer");
  simulated::gpus().reset(p.simulated.seed);
  simulated::gpus().set_peers(p.simulated.peers);
  simulated::install_fault_handler();
}

LOCUS_FUNCTION void gpu_functions::build() {
  int const forced = forced_growth();
  physical_devices const& p = find_physical();
  request_list const requests = lay_out(p, configured);
  for (int card = 0; card < p.count; ++card)
    require_limits_fit(requests, card, static_cast<std::int64_t>(p.cards[card].total_bytes));
  table.why_no_gpu = p.count > 0 ? absence::hidden : p.why_none;
  if (p.how == backing::simulated) begin_simulation(p, requests.size());
  int const cards = count_cards(requests);
  for (logical_request const& r : requests) {
    absence const why = p.how != backing::cuda ? absence::none
                        : p.answers[r.card]    ? why_not_on(r.card)
                                               : absence::wrong_architecture;
    table.gpu_backing = p.how;
    if (why == absence::none)
      open_gpu(r, p, forced >= 0 ? forced == 1 : configured.growth.has(r.card), cards);
    else
      table.why_no_gpu = why;
  }
  if (table.gpus == 0) table.gpu_backing = backing::host;
  if (table.gpus > 0) table.why_no_gpu = absence::none;
  table.knows_gpus = true;
}

LOCUS_FUNCTION void gpu_functions::close() noexcept {
  if (table.gpu_backing == backing::simulated) try {
      simulated::gpus().run_everything();
    } catch (...) {}  // what a functor threw has nobody left to hear it
}

LOCUS_FUNCTION void gpu_functions::forget() {
  detail::forget_contexts();
  forget_losses();
  forget_peers();
}

LOCUS_FUNCTION bool gpu_functions::find_other_owner(logical_device const& d, void const* p,
                                                    device& owner) {
  if (table.gpu_backing == backing::simulated) {
    owner = simulated::gpus().device_of(p);
    return !simulated::gpus().same_card(owner, d);
  }
  int card = -1;
  card_scope const scope(table.gpu_devices[0].card);
  if (gpu_api->device_of_pointer(p, &card) != 0 || card == cuda_api::managed_memory) return false;
  owner = card < 0 ? cpu(0) : gpu(card);
  return card != (d.how == backing::cuda ? d.card : -1);
}

LOCUS_FUNCTION void gpu_functions::finish_traced(bool at_exit) {
  if (table.gpu_backing == backing::simulated && !at_exit) simulated::gpus().run_everything();
  if (gpu_api) the_cuda_timing().finish();
}

LOCUS_FUNCTION void* gpu_functions::mark_work(logical_device& d, queue_kind kind) {
  current_card const scope(d);
  return the_cuda_timing().mark(d.card, cuda_queue_of(d, kind).stream);
}

LOCUS_FUNCTION void gpu_functions::follow_guest(gpu_set const& all, void* stream) {
  if (table.gpu_backing == backing::cuda) return cuda_follow(all.devices, all.count, stream);
  short const q = simulated::guest_queue(stream);
  for (int i = 0; i < all.count; ++i)
    for (queue_kind const kind : {queue_kind::compute, queue_kind::copy})
      simulated::gpus().wait(simulated::queue_of(*all.devices[i], kind), simulated::gpus().last(q));
}

LOCUS_FUNCTION void gpu_functions::lead_guest(gpu_set const& all, void* stream) {
  if (table.gpu_backing == backing::cuda) return cuda_lead(all.devices, all.count, stream);
  short const q = simulated::guest_queue(stream);
  for (int i = 0; i < all.count; ++i)
    simulated::gpus().wait(
        q, simulated::gpus().last(simulated::queue_of(*all.devices[i], queue_kind::compute)));
}

LOCUS_FUNCTION void gpu_functions::await_guest(void* stream) {
  if (table.gpu_backing == backing::cuda) return cuda_await_guest(stream);
  simulated::gpus().synchronize(simulated::gpus().last(simulated::guest_queue(stream)));
}

LOCUS_FUNCTION void gpu_functions::lend(logical_device& d, void* stream) {
  if (d.how == backing::cuda) return cuda_lend(d, stream);
  simulated::gpus().lend(d, simulated::guest_queue(stream));
}

LOCUS_FUNCTION void gpu_functions::take_back(logical_device& d) {
  if (d.how == backing::cuda) return cuda_take_back(d);
  simulated::gpus().take_back(d);
}

}  // namespace locus::runtime::detail

namespace locus::runtime {

LOCUS_FUNCTION device_table& devices_with_gpus(char const* what, call_site where) {
  if (!gpus_of_program) gpus_of_program = &whole_gpu_part;
  device_table& t = devices(what, where);
  if (!t.knows_gpus) detail::find_gpus();
  return t;
}

}  // namespace locus::runtime

LOCUS_COLD_END
