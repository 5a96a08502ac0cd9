// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that run/over_ranks.hpp declares.
#pragma once
#include <vector>  // vector

#include <locus/collective/group.hpp>      // exchange_among_cards, communicators_for
#include <locus/plan/halo.hpp>             // each_halo_part
#include <locus/run/copy_value.hpp>        // copy_value, join_queues
#include <locus/run/events.hpp>            // begin_collective
#include <locus/run/move_part.hpp>         // move_part
#include <locus/run/over_ranks.hpp>        // the declarations
#include <locus/runtime/gather_limit.hpp>  // get_gather_limit

LOCUS_COLD_BEGIN

namespace locus::detail {
inline namespace LOCUS_RUN_MODE {

/// means: a hash of the plan, the extents and the numbers of replicas of a run, equal on all ranks that run this statement
/// after: the FNV-1a hash
LOCUS_FUNCTION std::uint64_t hash_of_run(run_state const& run) {
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
  return hash | 1;
}

LOCUS_FUNCTION void begin_over_ranks(run_state const& run) {
  internal::run_over_ranks = {hash_of_run(run), run.seen.site};
}

/// One transfer between ranks: the value, its cut, and the host, where its bytes cross.
struct crossing_of_ranks {
  run_state& run;
  transfer const& me;
  step const& s = run.plan.steps[me.from];
  place const &from = s.where, &to = me.arrives;
  int const v = run.value_of(me), rank = run.rank_of(v), element_bytes = s.element_bytes;
  shape const& whole = run.whole_of(v);
  logical_device& host = runtime::find_device(cpu(0));
  step_record const record{me.from, name_of(me.how), host.name};

  std::int64_t bytes() const { return whole.size() * element_bytes; }
  /// the cut of the side that is in pieces, and its rows
  place const& cut() const { return to.is_sharded() ? to : from; }
  std::int64_t rows() const { return whole.extent[cut().axis]; }
  std::int64_t bytes_of_row() const { return rows() > 0 ? bytes() / rows() : 0; }
  /// the first row of this rank
  std::int64_t first_row() const { return cut().piece_begin(rows(), 0); }
  std::int64_t end_row() const { return cut().piece_begin(rows(), cut().local_count()); }

  /// rows of the value, dense in host memory
  local_value block_at(void* data, std::int64_t n, local_layout& layout) const {
    shape part = whole;
    if (cut().is_sharded()) part.extent[cut().axis] = n;
    return dense_value(data, part, single(host.name), 0, layout);
  }
  void* take(std::int64_t n) { return n > 0 ? run.memory.take_reserve(host, n) : nullptr; }

  void copy(copy_side const& target, copy_side const& source) {
    runtime::running_scope const scope(&record);
    copy_value(run, target, source, rank, element_bytes, record);
  }
  copy_side there(int r, local_value const* at) {
    return {&runtime::find_device(to.at(r)), at, v, r};
  }
  copy_side here(int r, local_value const* at) {
    return {&runtime::find_device(from.at(r)), at, me.from, r};
  }
  copy_side on_host(local_value const* at) { return {&host, at}; }
  // ---- the values of this rank, as bytes for the carrier ----
  /// rank 0: the whole value, dense
  void* pack_whole() {
    local_value const& value = run.value(me.from, 0);
    logical_device const& d = runtime::find_device(from.at(0));
    if (d.is_host() && is_dense(value, rank)) {
      wait_for(run, me.from, 0, host);
      return value.data;
    }
    local_layout layout;
    local_value const packed = dense_value(take(bytes()), whole, single(host.name), 0, layout);
    copy(on_host(&packed), here(0, &value));
    join_queues(run);
    return packed.data;
  }
  /// the pieces of this rank, one after the other
  void pack_pieces(void* block) {
    std::int64_t const begin = first_row();
    local_layout layout, of_part;
    local_value const all = block_at(block, end_row() - begin, layout);
    for (int r = 0; r < from.local_count(); ++r) {
      local_value const part = part_of(all, rank, from.axis, from.piece_begin(rows(), r) - begin,
                                       from.piece_size(rows(), r), element_bytes, of_part);
      copy(on_host(&part), here(r, &run.value(me.from, r)));
    }
    join_queues(run);
  }
  /// means: rows [begin, begin + n) of a block of the value go to their places
  void unpack(void* block, std::int64_t begin, std::int64_t n) {
    local_layout layout, of_part;
    local_value const all = block_at(block, n, layout);
    for (int r = 0; r < to.local_count(); ++r) {
      local_value const target =
          part_of(run.value(v, r), rank, cut().axis, begin, n, element_bytes, of_part);
      copy(there(r, &target), on_host(&all));
    }
  }

  /// the copies from device to device of this rank, as in a program of one
  void move_here() {
    each_part(run, me,
              [&](copy_side const& target, device to_name, copy_side const& source,
                  device from_name,
                  bool skip) { move_part(run, me, target, to_name, source, from_name, skip); });
  }

  // ---- the transfers ----
  void broadcast() {
    internal::rank_point const mine = internal::point_of("broadcast", bytes());
    internal::meet_ranks(mine);
    bool const first = runtime::this_rank.rank == 0;
    if (first) move_here();
    if (bytes() == 0) return;
    (first ? run.done.sent : run.done.received) += bytes();
    local_value const& arrival = run.value(v, 0);
    bool const direct =
        !first && runtime::find_device(to.at(0)).is_host() && is_dense(arrival, rank);
    if (direct) wait_for_readers(run, host, queue_kind::compute, run.bytes_of(v, 0), host);
    void* const data = first ? pack_whole() : direct ? arrival.data : take(bytes());
    internal::require_carried(
        runtime::ranks_by->broadcast(data, bytes(), 0, internal::seconds_for_ranks()), mine);
    if (first) return;
    local_layout layout;
    local_value const all = dense_value(data, whole, single(host.name), 0, layout);
    for (int r = 0; r < to.local_count(); ++r) {
      if (!(from.at(0) == to.at(r)))
        note_copy(run, me, all, from.at(0), to.at(r), false, "from rank 0");
      if (r > 0 || !direct) copy(there(r, &run.value(v, r)), on_host(&all));
    }
  }

  /// where the rows of each rank begin; [ranks]: the number of rows. yes: true on all ranks
  std::vector<std::int64_t> meet_rows(internal::rank_point mine, bool* yes = nullptr) {
    mine.said = 2 * first_row() + (yes && *yes);
    std::vector<internal::rank_point> all(std::size_t(runtime::this_rank.ranks));
    internal::meet_ranks(mine, all.data());
    std::vector<std::int64_t> begins;
    for (internal::rank_point const& p : all) {
      begins.push_back(p.said / 2);
      if (yes) *yes = *yes && p.said % 2 != 0;
    }
    begins.push_back(rows());
    return begins;
  }

  void scatter() {
    internal::rank_point const mine = internal::point_of("scatter", bytes());
    std::vector<std::int64_t> const begins = meet_rows(mine);
    if (bytes() == 0) return;
    if (runtime::this_rank.rank > 0) return receive_rows(mine);
    move_here();
    std::vector<runtime::rank_message> messages;
    for (int q = 1; q < runtime::this_rank.ranks; ++q) {
      std::int64_t const begin = begins[std::size_t(q)], n = begins[std::size_t(q) + 1] - begin;
      if (n <= 0) continue;
      local_layout layout, of_part;
      local_value const block = block_at(take(n * bytes_of_row()), n, layout);
      local_value const part =
          part_of(run.value(me.from, 0), rank, to.axis, begin, n, element_bytes, of_part);
      copy(on_host(&block), here(0, &part));
      messages.push_back({q, block.data, n * bytes_of_row(), true});
      run.done.sent += n * bytes_of_row();
    }
    join_queues(run);
    carry(messages, mine);
  }
  void receive_rows(internal::rank_point const& mine) {
    std::int64_t const begin = first_row(), n = end_row() - begin;
    local_layout layout, of_part;
    std::vector<runtime::rank_message> messages;
    local_value const block = block_at(take(n * bytes_of_row()), n, layout);
    if (n > 0) messages.push_back({0, block.data, n * bytes_of_row(), false});
    run.done.received += n * bytes_of_row();
    carry(messages, mine);
    for (int r = 0; r < to.local_count(); ++r) {
      local_value const part = part_of(block, rank, to.axis, to.piece_begin(rows(), r) - begin,
                                       to.piece_size(rows(), r), element_bytes, of_part);
      if (!(from.at(0) == to.at(r)))
        note_copy(run, me, part, from.at(0), to.at(r), false, "from rank 0");
      copy(there(r, &run.value(v, r)), on_host(&part));
    }
  }

  void gather() {
    internal::rank_point const mine = internal::point_of(name_of(me.how), bytes());
    std::vector<std::int64_t> const begins = meet_rows(mine);
    if (bytes() == 0) return;
    char* const all = static_cast<char*>(take(bytes()));
    pack_pieces(all + first_row() * bytes_of_row());
    std::vector<std::int64_t> ends;
    for (std::size_t q = 1; q < begins.size(); ++q) ends.push_back(begins[q] * bytes_of_row());
    internal::require_carried(
        runtime::ranks_by->all_gather(all, ends.data(), internal::seconds_for_ranks()), mine);
    std::int64_t const own = (end_row() - first_row()) * bytes_of_row();
    run.done.sent += own, run.done.received += bytes() - own;
    for (int a = 0; a < from.local_count(); ++a)
      for (int b = 0; b < to.local_count(); ++b)
        if (!(from.at(a) == to.at(b)))
          note_copy(run, me, run.value(me.from, a), from.at(a), to.at(b), false, "");
    for (std::size_t q = 0; q + 1 < begins.size(); ++q)
      if (std::int64_t const n = begins[q + 1] - begins[q]; n > 0)
        unpack(all + begins[q] * bytes_of_row(), begins[q], n);
    join_queues(run);
  }

  /// the rows of a halo that cross ranks, in one order on both sides, unless they are valid on all
  bool exchange_rows(replica_topology const& on, bool valid) {
    bool const by_nccl = joins_cards(on);
    internal::rank_point const mine =
        internal::point_of(by_nccl ? "halo by NCCL" : "halo", bytes());
    std::vector<std::int64_t> const begins = meet_rows(mine, &valid);
    if (valid) return true;
    if (by_nccl) return exchange_rows_of_cards(on), false;
    auto const rank_of = [&](std::int64_t row) {
      int q = 0;
      while (begins[std::size_t(q) + 1] <= row) ++q;
      return q;
    };
    std::vector<runtime::rank_message> messages;
    std::vector<internal::halo_part> arriving;
    std::vector<void*> blocks;
    internal::each_halo_part(
        rows(), from, me.outside, me.before, me.behind, [&](internal::halo_part const& p) {
          bool const receives = from.has_piece(p.to), sends = from.has_piece(p.from);
          if (receives == sends) return;
          std::int64_t const n = p.rows * bytes_of_row();
          if (n == 0) return;
          void* const block = take(n);
          local_layout layout, of_part;
          if (receives) {
            messages.push_back({rank_of(p.first), block, n, false});
            arriving.push_back(p), blocks.push_back(block);
            run.done.received += n;
            return;
          }
          local_value const packed = block_at(block, p.rows, layout);
          local_value const source =
              part_of(run.value(me.from, p.from), rank, from.axis,
                      p.first - from.piece_begin(rows(), p.from), p.rows, element_bytes, of_part);
          copy(on_host(&packed), {&runtime::find_device(from.at(p.from)), &source});
          messages.push_back({rank_of(from.piece_begin(rows(), p.to)), block, n, true});
          run.done.sent += n;
        });
    join_queues(run);
    carry(messages, mine);
    for (std::size_t k = 0; k < arriving.size(); ++k) {
      internal::halo_part const& p = arriving[k];
      local_layout layout, of_part;
      local_value const packed = block_at(blocks[k], p.rows, layout);
      local_value const margin =
          part_of(run.value(me.from, p.to), rank, from.axis, p.at, p.rows, element_bytes, of_part);
      copy({&runtime::find_device(from.at(p.to)), &margin, v, p.to}, on_host(&packed));
    }
    return false;
  }

  /// each replica of all ranks has a card of its own, and NCCL joins them
  static bool joins_cards(replica_topology const& on) {
    return on.has_nccl_among_ranks() && !on.shares_cards;
  }
  /// from card to card. Rows are dense: a Halo lies beside pieces that are cut along axis 0
  void exchange_rows_of_cards(replica_topology const& on) {
    dynamic_array<internal::card_message> messages;
    internal::each_halo_part(
        rows(), from, me.outside, me.before, me.behind, [&](internal::halo_part const& p) {
          bool const sends = from.has_piece(p.from);
          std::int64_t const n = p.rows * bytes_of_row();
          if (from.has_piece(p.to) == sends || n == 0) return;
          int const r = sends ? p.from : p.to, other = sends ? p.to : p.from;
          std::int64_t const row = sends ? p.first - from.piece_begin(rows(), r) : p.at;
          local_layout of_part;
          void* const data =
              part_of(run.value(me.from, r), rank, from.axis, row, p.rows, element_bytes, of_part)
                  .data;
          if (sends)
            wait_for(run, me.from, r, *on.on[r]);
          else
            wait_for_readers(run, *on.on[r], queue_kind::compute, {data, n}, *on.on[r]);
          messages.push({r, from.devices.before() + other, data, n, sends});
          (sends ? run.done.sent : run.done.received) += n;
        });
    stamp done[max_devices]{};
    internal::exchange_among_cards(on, {"halo", -1}, messages, done);
    for (internal::card_message const& m : messages)
      run.pending.push({on.on[m.replica], on.on[m.replica], {m.data, m.bytes}, done[m.replica]});
  }

  void carry(std::vector<runtime::rank_message> const& messages, internal::rank_point const& mine) {
    if (messages.empty()) return;
    internal::require_carried(runtime::ranks_by->exchange(messages.data(), int(messages.size()),
                                                          internal::seconds_for_ranks()),
                              mine);
  }
};

[[noreturn, gnu::cold]] LOCUS_FUNCTION void refuse_gather(std::int64_t bytes) {
  message text;
  throw out_of_memory(text << "locus: a value of " << bytes << " bytes would go to every rank, and "
                           << "the limit of such gathers is " << config::get_gather_limit()
                           << " bytes; take the rows of a rank by ranks::rows(x), or set "
                              "config::set_gather_limit");
}

LOCUS_FUNCTION void foresee_between_ranks(run_state& run, transfer const& me) {
  crossing_of_ranks const c{run, me};
  std::int64_t bytes = c.bytes();
  bool const gathers = me.how == transfer_kind::gather || me.how == transfer_kind::all_gather;
  if (gathers && bytes > config::get_gather_limit()) refuse_gather(bytes);
  if (me.how == transfer_kind::halo) {
    replica_topology const on = look_at(c.from.devices, run.chosen);
    if (crossing_of_ranks::joins_cards(on)) {
      communicators_for(on, {"halo", -1});
      return;
    }
    bytes = 0;
    internal::each_halo_part(c.rows(), c.from, me.outside, me.before, me.behind,
                             [&](internal::halo_part const& p) {
                               if (c.from.has_piece(p.to) != c.from.has_piece(p.from))
                                 run.memory.will_need(c.host, p.rows * c.bytes_of_row());
                             });
  }
  run.memory.will_need(c.host, bytes);
}

/// means: the event of a transfer between ranks begins
LOCUS_FUNCTION void announce(event_scope& scope, crossing_of_ranks const& c, std::string_view by,
                             logical_device& carrier, queue_kind queue) {
  if (c.run.seen.watchers & runtime::event_watchers)
    begin_collective(scope, c.run, c.me.how, 1, c.cut().is_sharded() ? c.cut() : c.to, by,
                     c.bytes(), carrier, queue);
}

LOCUS_FUNCTION void move_between_ranks(run_state& run, transfer const& me) {
  crossing_of_ranks c{run, me};
  event_scope scope;
  announce(scope, c, runtime::ranks_by->name, c.host, queue_kind::compute);
  switch (me.how) {
  case transfer_kind::broadcast: return c.broadcast();
  case transfer_kind::scatter: return c.scatter();
  default: return c.gather();
  }
}

LOCUS_FUNCTION bool exchange_between_ranks(run_state& run, transfer const& me, bool valid) {
  crossing_of_ranks c{run, me};
  replica_topology const on = look_at(c.from.devices, run.chosen);
  event_scope scope;
  if (crossing_of_ranks::joins_cards(on))
    announce(scope, c, "NCCL of all ranks", *on.on[0], queue_kind::communication);
  else
    announce(scope, c, runtime::ranks_by->name, c.host, queue_kind::compute);
  return c.exchange_rows(on, valid);
}

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::detail

LOCUS_COLD_END
