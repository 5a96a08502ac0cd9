// SPDX-License-Identifier: Apache-2.0
// A transfer between ranks that NCCL carries, from card to card.
#pragma once
#include <locus/collective/group.hpp>       // move_among_cards, card_message
#include <locus/run/crossing_of_ranks.hpp>  // crossing_of_ranks

LOCUS_COLD_BEGIN

namespace locus::detail {
inline namespace LOCUS_RUN_MODE {

/// The same transfer from card to card. Each replica of all ranks has a card of its own, so that NCCL's numbers of
/// the cards are those of the replicas.
struct crossing_of_cards : crossing_of_ranks {
  replica_topology const& on;
  dynamic_array<internal::card_message> messages{};
  /// Rows of an arrival on replica r that come to dense memory beside it.
  struct rows_aside {
    int r;
    std::int64_t begin, n;
    void* block;
  };
  dynamic_array<rows_aside> aside{};

  crossing_of_cards(run_state& r, transfer const& t, replica_topology const& cards)
      : crossing_of_ranks{r, t}, on(cards) {}

  bool pieces_are_equal() const {
    for (int g = 1; g < from.global_count(); ++g)
      if (size_of_piece(g) != size_of_piece(0)) return false;
    return true;
  }
  /// of the replica with that number on all ranks
  std::int64_t size_of_piece(int g) const {
    return cut().piece_size(rows(), g - cut().devices.before());
  }
  std::int64_t begin_of_piece(int g) const {
    return cut().piece_begin(rows(), g - cut().devices.before());
  }
  bool is_here(int g) const { return cut().has_piece(g - cut().devices.before()); }
  /// the replica of this rank whose card has a device; -1: none
  int replica_on(device d) const {
    for (int r = 0; r < on.count; ++r)
      if (on.on[r] == &runtime::find_device(d)) return r;
    return -1;
  }
  /// the replica whose card has the side on one device; -1: that is on no card of the list
  int one_side() const { return replica_on(to.is_single() ? to.at(0) : from.at(0)); }
  /// what this rank says of that side, which of a scatter is that of rank 0: 1 + the number of its card, or 0
  int say() const {
    if (me.how == transfer_kind::scatter && runtime::this_rank.rank > 0) return 1;
    return one_side() < 0 ? 0 : on.numbers.before + one_side() + 1;
  }

  // ---- dense memory on the cards ----
  void copy_here(copy_side const& target, copy_side const& source) {
    step_record const here_too{me.from, name_of(me.how), target.on->name};
    runtime::running_scope const scope(&here_too);
    copy_value(run, target, source, rank, element_bytes, here_too);
  }
  /// the bytes of a value on its card: in place, or packed
  void const* packed(copy_side const& source) {
    std::int64_t const n = size_of(*source.at, rank) * element_bytes;
    if (n == 0) return nullptr;
    wait_for(run, source.number, source.replica, *source.on);
    if (is_dense(*source.at, rank)) return source.at->data;
    local_layout layout;
    local_value const dense =
        dense_as(*source.at, run.memory.take_reserve(*source.on, n), *source.on, layout);
    copy_here({source.on, &dense}, source);
    return dense.data;
  }
  local_value rows_of_arrival(int r, std::int64_t begin, std::int64_t n, local_layout& layout) {
    if (rank == 0) return run.value(v, r);
    return part_of(run.value(v, r), rank, axis(), begin, n, element_bytes, layout);
  }
  /// where rows [begin, begin + n) of the arrival on replica r come to: in place, or aside
  void* room(int r, std::int64_t begin, std::int64_t n) {
    local_layout layout;
    local_value const at = rows_of_arrival(r, begin, n, layout);
    logical_device& d = runtime::find_device(to.at(r));
    if (is_dense(at, rank)) {
      wait_for_readers(run, d, queue_kind::compute, range_of(at, rank, element_bytes), d);
      return at.data;
    }
    void* const block = run.memory.take_reserve(d, size_of(at, rank) * element_bytes);
    aside.push({r, begin, n, block});
    return block;
  }
  /// room for the whole arrival, or piece, of replica r
  void* room(int r) { return room(r, 0, rank > 0 ? run.value(v, r).extents[axis()] : 1); }

  /// the memory that packed() and room() take
  void foresee() {
    auto const need = [&](local_value const& value, device at, bool is_cut) {
      if (!is_dense(value, rank) || (is_cut && !lies_in_rows()))
        run.memory.will_need(runtime::find_device(at), size_of(value, rank) * element_bytes);
    };
    bool const sends = from.is_sharded() || runtime::this_rank.rank == 0;
    for (int r = 0; r < from.local_count() && sends; ++r)
      need(run.value(me.from, r), from.at(r), to.is_sharded());
    for (int r = 0; r < to.local_count(); ++r) need(run.value(v, r), to.at(r), from.is_sharded());
  }

  // ---- messages ----
  void send(int r, int peer, void const* data, std::int64_t n) {
    messages.push({internal::card_move::send, r, peer, data, nullptr, n});
  }
  void receive(int r, int peer, void* data, std::int64_t n) {
    messages.push({internal::card_move::receive, r, peer, nullptr, data, n});
  }
  /// means: NCCL carries the messages; rows aside go to their places
  void go() {
    stamp done[max_devices]{};
    internal::move_among_cards(on, {name_of(me.how), -1}, messages, done);
    for (internal::card_message const& m : messages) {
      if (m.bytes == 0) continue;
      logical_device* const d = on.on[m.replica];
      stamp const when = done[m.replica];
      bool const from_all = m.how == internal::card_move::all_gather;
      if (m.from) run.pending.push({d, d, {m.from, m.bytes}, when});
      if (!m.to) continue;
      run.pending.push({d, d, {m.to, from_all ? bytes() : m.bytes}, when});
      if (me.how != transfer_kind::halo) run.ready(v, to.is_single() ? 0 : m.replica) = when;
    }
    for (rows_aside const& a : aside) {
      local_layout layout, of_block;
      local_value const target = rows_of_arrival(a.r, a.begin, a.n, layout);
      logical_device& d = runtime::find_device(to.at(a.r));
      local_value const block = dense_as(target, a.block, d, of_block);
      runtime::wait(d, queue_kind::compute, run.ready(v, a.r));
      copy_here({&d, &target}, {&d, &block});
    }
  }

  // ---- the transfers ----
  /// from the first card of rank 0, to which the value goes if it is elsewhere
  void broadcast() {
    internal::meet_ranks(internal::point_of("broadcast by NCCL", bytes()));
    bool const first = runtime::this_rank.rank == 0;
    local_value const& source = run.value(me.from, 0);
    if (!first) note_from_first();
    for (int r = 0; r < to.local_count() && first; ++r)
      if (!(from.at(0) == to.at(r))) note_copy(run, me, source, from.at(0), to.at(r), false, "");
    if (bytes() == 0) return;
    (first ? run.done.sent : run.done.received) += bytes();
    void const* data = nullptr;
    if (first) {
      bool const is_there = replica_on(from.at(0)) == 0;
      if (!is_there) copy_here(there(0, &run.value(v, 0)), here(0, &source));
      data = packed(is_there ? here(0, &source) : there(0, &run.value(v, 0)));
    }
    for (int r = 0; r < to.local_count(); ++r) {
      void* const target = room(r);
      messages.push(
          {internal::card_move::broadcast, r, 0, first && r == 0 ? data : target, target, bytes()});
    }
    go();
  }

  /// one all-gather of NCCL, where pieces are equal and follow one another; else a broadcast of each piece
  void all_gather() {
    internal::meet_ranks(internal::point_of("all_gather by NCCL", bytes()));
    note_pieces();
    if (bytes() == 0) return;
    std::int64_t const own = (end_row() - first_row()) * bytes_of_row();
    run.done.sent += own, run.done.received += bytes() - own;
    void const* source[max_devices];
    for (int r = 0; r < on.count; ++r) source[r] = packed(here(r, &run.value(me.from, r)));
    if (lies_in_rows() && pieces_are_equal()) {
      for (int r = 0; r < on.count; ++r)
        messages.push({internal::card_move::all_gather, r, 0, source[r], room(r),
                       size_of_piece(0) * bytes_of_row()});
      return go();
    }
    for (int g = 0; g < from.global_count(); ++g)
      for (int r = 0; r < on.count && size_of_piece(g) > 0; ++r) {
        void* const target = room(r, begin_of_piece(g), size_of_piece(g));
        bool const is_mine = g == from.devices.before() + r;
        messages.push({internal::card_move::broadcast, r, g, is_mine ? source[r] : target, target,
                       size_of_piece(g) * bytes_of_row()});
      }
    go();
  }

  /// the pieces of all ranks to one card of each rank, which has said its number
  void gather(rows_of_ranks const& met) {
    move_here();
    std::int64_t const own = (end_row() - first_row()) * bytes_of_row();
    run.done.sent += own, run.done.received += bytes() - own;
    for (int g = 0; g < from.global_count(); ++g) {
      std::int64_t const n = size_of_piece(g) * bytes_of_row();
      if (n == 0) continue;
      if (!is_here(g)) {
        receive(one_side(), g, room(0, begin_of_piece(g), size_of_piece(g)), n);
        continue;
      }
      int const r = g - from.devices.before();
      void const* const data = packed(here(r, &run.value(me.from, r)));
      for (int q = 0; q < runtime::this_rank.ranks; ++q)
        if (q != runtime::this_rank.rank) send(r, met.said[std::size_t(q)] - 1, data, n);
    }
    go();
    join_queues(run);  // several copies fill one value: its readers wait for all of them
  }

  /// from a card of rank 0, which has said its number
  void scatter(rows_of_ranks const& met) {
    bool const first = runtime::this_rank.rank == 0;
    first ? move_here() : note_from_first();
    for (int g = 0; g < to.global_count(); ++g) {
      std::int64_t const n = size_of_piece(g) * bytes_of_row();
      if (is_here(g) == first) continue;
      if (first) {
        local_layout layout;
        local_value const part = part_of(run.value(me.from, 0), rank, to.axis, begin_of_piece(g),
                                         size_of_piece(g), element_bytes, layout);
        send(one_side(), g, packed(here(0, &part)), n);
        run.done.sent += n;
        continue;
      }
      int const r = g - to.devices.before();
      if (n > 0) receive(r, met.said[0] - 1, room(r), n);
      run.done.received += n;
    }
    go();
  }

  /// the rows of a halo. They are dense: a Halo lies beside pieces that are cut along axis 0
  void exchange_rows() {
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
          if (sends) {
            wait_for(run, me.from, r, *on.on[r]);
            send(r, from.devices.before() + other, data, n);
          } else {
            wait_for_readers(run, *on.on[r], queue_kind::compute, {data, n}, *on.on[r]);
            receive(r, from.devices.before() + other, data, n);
          }
          (sends ? run.done.sent : run.done.received) += n;
        });
    go();
  }
};

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::detail

LOCUS_COLD_END
