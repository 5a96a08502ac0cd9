// SPDX-License-Identifier: Apache-2.0
// Pass 4: which copies and collectives does the plan need? A transfer belongs to a value and a
// place: all readers of the value at that place share it.
#pragma once
#include <locus/plan/data.hpp>        // plan_view, transfer
#include <locus/plan/distribute.hpp>  // assign_rows

namespace locus {

namespace detail {

/// means: the transfer in the row of assign_rows for that pair; `found` is false without a row
constexpr transfer_kind transfer_between(place const& from, place const& to, bool& found) {
  found = true;
  if (from == to) return transfer_kind::none;
  for (assign_row const& row : assign_rows) {
    if (row.from != from.how || row.to != to.how) continue;
    bool const both_cut = from.is_sharded() && to.is_sharded();
    bool const lists_differ =
        from.is_distributed() && to.is_distributed() && !(from.devices == to.devices);
    if (both_cut || lists_differ) break;
    return row.how;
  }
  found = false;
  return transfer_kind::none;
}

struct mover {
  plan_view& p;
  bucket_sizes sizes{};

  constexpr short transfer_to(short from, place const& to, plan_error& error) {
    place const& here = p.steps[from].where;
    bool found = true;
    transfer_kind const how = transfer_between(here, to, found);
    if (!found)
      error = here.is_distributed() && to.is_distributed() && !(here.devices == to.devices)
                  ? plan_error::device_lists_differ
                  : plan_error::cuts_do_not_meet;
    if (how == transfer_kind::none) return -1;
    // a device that holds a replica needs no copy of a mirrored value: it uses the replica
    for (short t = 0; t < p.transfers.count; ++t)
      if (p.transfers[t].from == from && p.transfers[t].arrives == to &&
          p.transfers[t].how != transfer_kind::halo)
        return t;
    p.transfers[p.transfers.count] = {from, how, -1, to};
    return static_cast<short>(p.transfers.count++);
  }

  /// an operand that is read at a distance: the tensor keeps these rows in its margins, and one
  /// transfer for all its readers brings them
  constexpr plan_error read_at_distance(edge const& e, int rows) {
    if (rows == 0) return plan_error::none;
    short const leaf = memory_of(p, e.from);
    step const& s = p.steps[leaf];
    int const width = rows < 0 ? -rows : rows;
    if (s.kind != step_kind::leaf || s.margin.width < width) return plan_error::reads_beyond_margin;
    short t = 0;
    while (t < p.transfers.count &&
           !(p.transfers[t].from == leaf && p.transfers[t].how == transfer_kind::halo))
      ++t;
    if (t == p.transfers.count)
      p.transfers[p.transfers.count++] = {leaf, transfer_kind::halo, -1, s.where, 0,
                                          0,    s.margin.outside};
    unsigned char& most = rows < 0 ? p.transfers[t].before : p.transfers[t].behind;
    if (most < width) most = static_cast<unsigned char>(width);
    return plan_error::none;
  }

  /// Moves an all-reduce in front of steps that only scale one partial value, so that the scaling
  /// fuses with its reader. Never in front of partial + partial: that would double it.
  constexpr void delay_scaling() {
    for (short i = static_cast<short>(p.steps.count); i-- > 0;) {
      step& me = p.steps[i];
      bool const scales =
          me.commutes == law::scale || me.commutes == law::scale_left || me.commutes == law::linear;
      if (me.kind != step_kind::map || !me.where.is_partial() || !scales || !read_complete(i))
        continue;
      for (edge& e : p.operands(me)) {
        step const& o = p.steps[e.from];
        if (!o.where.is_partial() || o.bytes() > me.bytes() || o.type != me.type) continue;
        e.arrives = o.where.mirrored();
        me.where = o.where.mirrored();
        complete_readers(i);
      }
    }
  }
  /// every reader needs the complete value, mirrored
  constexpr bool read_complete(short i) const {
    bool any = false;
    for (step const& s : p.steps)
      for (edge const& e : p.operands(s))
        if (e.from == i) {
          any = true;
          if (!e.arrives.is_mirrored()) return false;
        }
    for (root const& r : p.roots)
      if (r.from == i) {
        any = true;
        if (!r.destination.is_nowhere() && !r.destination.is_mirrored()) return false;
      }
    return any;
  }
  constexpr void complete_readers(short i) {
    for (edge& e : array_view<edge>{p.edges})
      if (e.from == i) e.arrives = {};
  }

  constexpr verdict run() {
    delay_scaling();
    plan_error error = plan_error::none;
    for (short i = 0; i < p.steps.count; ++i) {
      step const& me = p.steps[i];
      for (edge& e : p.operands(me)) {
        step const& o = p.steps[e.from];
        if (o.kind == step_kind::scalar || o.kind == step_kind::index) continue;
        if (!e.arrives.is_nowhere())
          e.by = transfer_to(e.from, e.arrives, error);
        else if (me.where.is_single())
          e.by = transfer_to(e.from, me.where, error);
        else if (me.kind == step_kind::map)
          error = read_at_distance(e, reach_of(me, o.where));
        if (error != plan_error::none) return {error, i};
      }
    }
    for (root& r : p.roots) {
      place const& here = p.steps[r.from].where;
      r.result = !r.destination.is_nowhere() ? r.destination
                 : here.is_partial()         ? here.mirrored()
                                             : here;
      if (r.result.is_nowhere()) r.result = single(gpu(0));
      if (here.is_nowhere()) continue;
      bool const has_home = !r.destination.is_nowhere() && r.result == here;
      if (here.is_window() && r.result.is_sharded() && !has_home)
        return {plan_error::window_without_home, r.from};
      r.by = transfer_to(r.from, r.result, error);
      if (error != plan_error::none) return {error, r.from};
    }
    assign_buckets();
    return {};
  }

  /// All-reduces that do not depend on each other share a bucket if they have the same devices,
  /// operation and type, until a bucket exceeds the limit of the policy.
  constexpr void assign_buckets() {
    short depth[max_steps]{};              // number of all-reduces on the longest path to a step
    std::int64_t filled[2 * max_steps]{};  // [bucket]
    short buckets = 0;
    for (short i = 0; i < p.steps.count; ++i)
      for (edge const& e : p.operands(p.steps[i])) {
        bool const reduces = e.by >= 0 && p.transfers[e.by].how == transfer_kind::all_reduce;
        short const d = static_cast<short>(depth[e.from] + reduces);
        if (d > depth[i]) depth[i] = d;
      }
    for (short t = 0; t < p.transfers.count; ++t) {
      transfer& me = p.transfers[t];
      if (me.how != transfer_kind::all_reduce) continue;
      step const& s = p.steps[me.from];
      std::int64_t const bytes = s.bytes() == dyn ? 0 : s.bytes();  // dynamic extents count as 0
      for (short k = t; k-- > 0;) {  // the latest bucket of its kind, if it is not full
        transfer const& other = p.transfers[k];
        step const& o = p.steps[other.from];
        bool const of_kind = other.how == transfer_kind::all_reduce &&
                             depth[other.from] == depth[me.from] && o.where == s.where &&
                             o.type == s.type && s.type != element::other;
        if (!of_kind) continue;
        if (filled[other.bucket] <= (other.bucket == 0 ? sizes.first : sizes.others))
          me.bucket = other.bucket;
        break;
      }
      if (me.bucket < 0) me.bucket = buckets++;
      filled[me.bucket] += bytes;
    }
  }
};

}  // namespace detail

/// means: sets transfers, the `by` of edges and roots, the `result` of roots, and buckets
constexpr verdict move_values(plan_view& p, bucket_sizes sizes = {}) {
  return detail::mover{p, sizes}.run();
}

}  // namespace locus
