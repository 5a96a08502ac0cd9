// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that run/over_ranks.hpp declares.
#pragma once
#include <locus/run/crossing_of_cards.hpp>  // crossing_of_cards
#include <locus/run/crossing_of_ranks.hpp>  // crossing_of_ranks
#include <locus/run/events.hpp>             // begin_collective
#include <locus/run/over_ranks.hpp>         // the declarations
#include <locus/runtime/gather_limit.hpp>   // get_gather_limit

LOCUS_COLD_BEGIN

namespace locus::detail {
inline namespace LOCUS_RUN_MODE {

/// means: the plan of this run has a collective between ranks
LOCUS_FUNCTION bool meets_ranks(run_state const& run) {
  bool meets = false;
  for (transfer const& t : run.plan.transfers)
    meets = meets || goes_between_ranks(run, t) ||
            (is_reduction(t.how) && runtime::lies_on_ranks(run.plan.steps[t.from].where.devices));
  return meets;
}

/// means: a hash of the plan, the extents and the numbers of replicas of a run, and of its number; equal on all ranks
///        that run this statement
/// after: the FNV-1a hash
LOCUS_FUNCTION std::uint64_t hash_of_run(run_state const& run, std::uint64_t number_of_run) {
  std::uint64_t hash = 14695981039346656037u;
  auto const add = [&](std::uint64_t number) { hash = (hash ^ number) * 1099511628211u; };
  for (short i = 0; i < run.plan.steps.count; ++i) {
    step const& s = run.plan.steps[i];
    add(static_cast<std::uint64_t>(s.kind)), add(static_cast<std::uint64_t>(s.type));
    for (char const c : s.name) add(static_cast<unsigned char>(c));
    if (s.where.devices.is_over_ranks())
      add(static_cast<std::uint64_t>(s.where.how)),
          add(static_cast<std::uint64_t>(s.where.global_count()));
    shape const& of = run.extents[i];
    add(static_cast<std::uint64_t>(of.rank));
    for (int a = 0; a < of.rank; ++a) add(static_cast<std::uint64_t>(of.extent[a]));
  }
  add(number_of_run);
  return hash | 1;
}

LOCUS_FUNCTION void begin_over_ranks(run_state const& run) {
  std::uint64_t const number = meets_ranks(run) ? internal::count_run() : 0;
  internal::run_over_ranks = {hash_of_run(run, number), run.seen.site};
}
LOCUS_FUNCTION void end_over_ranks() { internal::run_over_ranks = {}; }

/// means: NCCL joins the cards of all ranks, and each replica has one of its own
LOCUS_FUNCTION bool joins_cards(replica_topology const& on) {
  return on.has_nccl_among_ranks() && !on.shares_cards;
}

[[noreturn, gnu::cold]] LOCUS_FUNCTION void refuse_gather(std::int64_t bytes) {
  message text;
  throw out_of_memory(text << "locus: a value of " << bytes << " bytes would go to every rank, and "
                           << "the limit of such gathers is " << config::get_gather_limit()
                           << " bytes; take the rows of a rank by ranks::rows(x), or set "
                              "config::set_gather_limit");
}

LOCUS_FUNCTION void foresee_between_ranks(run_state& run, transfer const& me) {
  crossing_of_ranks const c{run, me};
  bool const gathers = me.how == transfer_kind::gather || me.how == transfer_kind::all_gather,
             on_one = me.how == transfer_kind::gather || me.how == transfer_kind::scatter;
  if (gathers && c.bytes() > config::get_gather_limit()) refuse_gather(c.bytes());
  replica_topology const on = look_at(c.over().devices, run.chosen);
  if (joins_cards(on)) {
    crossing_of_cards k{run, me, on};
    // where one side is on one device, all ranks decide when they meet
    if (!on_one) communicators_for(on, {name_of(me.how), -1});
    if (me.how == transfer_kind::halo) return;
    if (!on_one || k.one_side() >= 0) return k.foresee();
  }
  if (me.how == transfer_kind::halo) {
    if (c.halo_is_direct()) return;
    internal::each_halo_part(c.rows(), c.from, me.outside, me.before, me.behind,
                             [&](internal::halo_part const& p) {
                               if (c.from.has_piece(p.to) != c.from.has_piece(p.from))
                                 run.memory.will_need(c.host, p.rows * c.bytes_of_row());
                             });
    return;
  }
  bool const direct =
      gathers ? c.gather_is_direct() : me.how == transfer_kind::scatter && c.scatter_is_direct();
  if (!direct) run.memory.will_need(c.host, c.bytes());
}

/// The carrier of a transfer between ranks.
enum class carried_by : unsigned char { carrier, carrier_on_gpus, nccl };

/// means: the event of a transfer between ranks begins
LOCUS_FUNCTION void announce(event_scope& scope, crossing_of_ranks const& c, carried_by by,
                             replica_topology const& on) {
  if (!(c.run.seen.watchers & runtime::event_watchers)) return;
  message text;
  if (by == carried_by::nccl)
    text << "NCCL of all ranks";
  else
    text << std::string_view(runtime::ranks_by->name)
         << (by == carried_by::carrier ? "" : ", in the memory of GPUs");
  bool const nccl = by == carried_by::nccl;
  begin_collective(scope, c.run, c.me.how, 1, c.cut().is_sharded() ? c.cut() : c.to, text.view(),
                   c.bytes(), nccl ? *on.on[0] : c.host,
                   nccl ? queue_kind::communication : queue_kind::compute);
}

LOCUS_FUNCTION void move_between_ranks(run_state& run, transfer const& me) {
  crossing_of_ranks c{run, me};
  replica_topology const on = look_at(c.over().devices, run.chosen);
  crossing_of_cards k{run, me, on};
  event_scope scope;
  bool const joins = joins_cards(on), scatters = me.how == transfer_kind::scatter;
  carried_by by = joins ? carried_by::nccl : carried_by::carrier;
  if (me.how == transfer_kind::broadcast) {
    announce(scope, c, by, on);
    return joins ? k.broadcast() : c.broadcast();
  }
  if (joins && me.how == transfer_kind::all_gather) {
    announce(scope, c, by, on);
    return k.all_gather();
  }
  // the ranks decide when they meet, unless this rank has one way alone
  bool const direct = scatters ? c.scatter_is_direct() : c.gather_is_direct();
  if (!joins && !direct) announce(scope, c, by, on);
  constexpr int says_direct = 0x10000;
  rows_of_ranks const met =
      c.meet_rows(internal::point_of(name_of(me.how), c.bytes()), joins    ? k.say()
                                                                  : direct ? says_direct
                                                                           : 0);
  bool nccl = joins, all_direct = direct;
  for (int const said : met.said) {
    nccl = nccl && said != 0 && said != says_direct;
    all_direct = all_direct && said == says_direct;
  }
  by = nccl                                 ? carried_by::nccl
       : all_direct || (scatters && direct) ? carried_by::carrier_on_gpus
                                            : carried_by::carrier;
  if (joins || direct) announce(scope, c, by, on);
  if (nccl) return scatters ? k.scatter(met) : k.gather(met);
  if (scatters) return c.scatter(met.begins);
  all_direct ? c.gather_directly(met.begins) : c.gather(met.begins);
}

LOCUS_FUNCTION bool exchange_between_ranks(run_state& run, transfer const& me, bool valid) {
  crossing_of_ranks c{run, me};
  replica_topology const on = look_at(c.from.devices, run.chosen);
  bool const nccl = joins_cards(on);
  event_scope scope;
  announce(scope, c,
           nccl                 ? carried_by::nccl
           : c.halo_is_direct() ? carried_by::carrier_on_gpus
                                : carried_by::carrier,
           on);
  rows_of_ranks const met =
      c.meet_rows(internal::point_of(nccl ? "halo by NCCL" : "halo", c.bytes()), valid);
  bool all_valid = true;
  for (int const said : met.said) all_valid = all_valid && said != 0;
  if (all_valid) return true;
  if (nccl)
    crossing_of_cards{run, me, on}.exchange_rows();
  else
    c.exchange_rows(met.begins);
  return false;
}

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::detail

LOCUS_COLD_END
