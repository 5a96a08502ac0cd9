// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that run/over_ranks.hpp declares.
#pragma once
#include <vector>  // vector

#include <locus/collective/group.hpp>      // move_among_cards, communicators_for
#include <locus/machine/card_scope.hpp>    // card_scope
#include <locus/machine/stamps.hpp>        // mark, synchronize
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

/// What the ranks say before rows move.
struct rows_of_ranks {
  std::vector<std::int64_t> begins;  // [rank]; [ranks]: the number of rows
  std::vector<int> said;             // [rank]
};

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
  /// the side over ranks
  place const& over() const { return to.devices.is_over_ranks() ? to : from; }
  /// the cut of the side that is in pieces, and its rows
  place const& cut() const { return to.is_sharded() ? to : from; }
  std::int64_t rows() const { return whole.extent[cut().axis]; }
  std::int64_t bytes_of_row() const { return rows() > 0 ? bytes() / rows() : 0; }
  /// the axis of rows
  int axis() const { return cut().is_sharded() ? cut().axis : 0; }
  /// rows of a dense value are dense
  bool lies_in_rows() const {
    std::int64_t outside = 1;
    for (int a = 0; a < axis(); ++a) outside *= whole.extent[a];
    return outside == 1;
  }
  /// the first row of this rank
  std::int64_t first_row() const { return cut().piece_begin(rows(), 0); }
  std::int64_t end_row() const { return cut().piece_begin(rows(), cut().local_count()); }

  /// rows of the value, dense in host memory
  local_value block_at(void* data, std::int64_t n, local_layout& layout) const {
    shape part = whole;
    if (cut().is_sharded()) part.extent[cut().axis] = n;
    return dense_value(data, part, single(host.name), 0, layout);
  }
  // ---- messages from and to the memory of GPUs, where the carrier takes it ----
  std::vector<logical_device*> gpus_of_messages{};
  /// the carrier reads or writes that value where it lies
  bool is_direct(logical_device const& d, local_value const& value) const {
    auto const* const by = runtime::ranks_by;
    return !d.is_host() && by->takes_memory_of && by->takes_memory_of(d) && is_dense(value, rank);
  }
  bool is_direct(place const& where, local_value const& value) const {
    return is_direct(runtime::find_device(where.at(0)), value);
  }
  /// no message of this rank is staged in host memory
  bool halo_is_direct() const { return is_direct(from, run.value(me.from, 0)); }
  bool scatter_is_direct() const {
    if (runtime::this_rank.rank == 0)
      return lies_in_rows() && is_direct(from, run.value(me.from, 0));
    return to.local_count() == 1 && is_direct(to, run.value(v, 0));
  }
  bool gather_is_direct() const {
    return from.local_count() == 1 && to.local_count() == 1 && lies_in_rows() &&
           is_direct(from, run.value(me.from, 0)) && is_direct(to, run.value(v, 0));
  }
  /// means: the queues have ended what they do with the bytes of messages
  void settle_messages() {
    join_queues(run);
    for (logical_device* const d : gpus_of_messages)
      runtime::synchronize(runtime::mark(*d, queue_kind::compute));
  }
  /// the bytes of a value for a message: in place, or packed in host memory
  void* to_send(copy_side const& source) {
    if (is_direct(*source.on, *source.at)) {
      if (source.number >= 0) wait_for(run, source.number, source.replica, *source.on);
      gpus_of_messages.push_back(source.on);
      return source.at->data;
    }
    local_layout layout;
    void* const data = take(size_of(*source.at, rank) * element_bytes);
    local_value const packed = dense_as(*source.at, data, host, layout);
    copy(on_host(&packed), source);
    return packed.data;
  }
  /// room for a message: the value itself, or host memory that unpack_message() copies to it
  void* to_receive(copy_side const& target) {
    std::int64_t const n = size_of(*target.at, rank) * element_bytes;
    if (!is_direct(*target.on, *target.at)) return take(n);
    wait_for_readers(run, *target.on, queue_kind::compute, {target.at->data, n}, *target.on);
    gpus_of_messages.push_back(target.on);
    return target.at->data;
  }
  void unpack_message(void* data, copy_side const& target) {
    if (data == target.at->data) return;
    local_layout layout;
    local_value const packed = dense_as(*target.at, data, host, layout);
    copy(target, on_host(&packed));
  }

  /// a value with the extents of another, dense on a device
  local_value dense_as(local_value const& like, void* data, logical_device const& on,
                       local_layout& layout) const {
    shape part{rank, {}};
    for (int a = 0; a < rank; ++a) part.extent[a] = like.extents[a];
    return dense_value(data, part, single(on.name), 0, layout);
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
    first ? move_here() : note_from_first();
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
    for (int r = 0; r < to.local_count(); ++r)
      if (r > 0 || !direct) copy(there(r, &run.value(v, r)), on_host(&all));
  }

  /// where the rows of each rank begin, and a number of each rank that is at most 0x10000
  rows_of_ranks meet_rows(internal::rank_point mine, int say) {
    constexpr std::int64_t wide = 0x20000;
    mine.said = first_row() * wide + say;
    std::vector<internal::rank_point> all(std::size_t(runtime::this_rank.ranks));
    internal::meet_ranks(mine, all.data());
    rows_of_ranks met;
    for (internal::rank_point const& p : all) {
      met.begins.push_back(p.said / wide);
      met.said.push_back(static_cast<int>(p.said % wide));
    }
    met.begins.push_back(rows());
    return met;
  }

  void scatter(std::vector<std::int64_t> const& begins) {
    internal::rank_point const& mine = internal::point_now();
    bool const first = runtime::this_rank.rank == 0;
    first ? move_here() : note_from_first();
    if (bytes() == 0) return;
    if (!first) return receive_rows(mine);
    std::vector<runtime::rank_message> messages;
    for (int q = 1; q < runtime::this_rank.ranks; ++q) {
      std::int64_t const begin = begins[std::size_t(q)], n = begins[std::size_t(q) + 1] - begin;
      if (n <= 0) continue;
      local_layout of_part;
      local_value const part =
          part_of(run.value(me.from, 0), rank, to.axis, begin, n, element_bytes, of_part);
      messages.push_back({q, to_send(here(0, &part)), n * bytes_of_row(), true});
      run.done.sent += n * bytes_of_row();
    }
    settle_messages();
    carry(messages, mine);
  }
  void receive_rows(internal::rank_point const& mine) {
    std::int64_t const begin = first_row(), n = end_row() - begin;
    bool const direct = scatter_is_direct();
    void* const data = direct ? to_receive(there(0, &run.value(v, 0))) : take(n * bytes_of_row());
    std::vector<runtime::rank_message> messages;
    if (n > 0) messages.push_back({0, data, n * bytes_of_row(), false});
    run.done.received += n * bytes_of_row();
    settle_messages();
    carry(messages, mine);
    local_layout layout, of_part;
    local_value const block = block_at(data, n, layout);
    for (int r = 0; r < to.local_count() && !direct; ++r) {
      local_value const part = part_of(block, rank, to.axis, to.piece_begin(rows(), r) - begin,
                                       to.piece_size(rows(), r), element_bytes, of_part);
      copy(there(r, &run.value(v, r)), on_host(&part));
    }
  }

  void gather(std::vector<std::int64_t> const& begins) {
    internal::rank_point const& mine = internal::point_now();
    note_pieces();
    if (bytes() == 0) return;
    char* const all = static_cast<char*>(take(bytes()));
    pack_pieces(all + first_row() * bytes_of_row());
    std::vector<std::int64_t> ends;
    for (std::size_t q = 1; q < begins.size(); ++q) ends.push_back(begins[q] * bytes_of_row());
    internal::require_carried(
        runtime::ranks_by->all_gather(all, ends.data(), internal::seconds_for_ranks()), mine);
    std::int64_t const own = (end_row() - first_row()) * bytes_of_row();
    run.done.sent += own, run.done.received += bytes() - own;
    for (std::size_t q = 0; q + 1 < begins.size(); ++q)
      if (std::int64_t const n = begins[q + 1] - begins[q]; n > 0)
        unpack(all + begins[q] * bytes_of_row(), begins[q], n);
    join_queues(run);
  }

  /// the pieces of all ranks, each on one GPU, to one GPU of each rank, by messages
  void gather_directly(std::vector<std::int64_t> const& begins) {
    internal::rank_point const& mine = internal::point_now();
    move_here();
    std::vector<runtime::rank_message> messages;
    auto const bytes_of_rank = [&](int q) {
      return (begins[std::size_t(q) + 1] - begins[std::size_t(q)]) * bytes_of_row();
    };
    int const own_rank = runtime::this_rank.rank;
    void* const own = to_send(here(0, &run.value(me.from, 0)));
    for (int q = 0; q < runtime::this_rank.ranks; ++q) {
      if (q == own_rank) continue;
      if (bytes_of_rank(own_rank) > 0) messages.push_back({q, own, bytes_of_rank(own_rank), true});
      if (bytes_of_rank(q) == 0) continue;
      local_layout layout;
      local_value const part =
          part_of(run.value(v, 0), rank, axis(), begins[std::size_t(q)],
                  begins[std::size_t(q) + 1] - begins[std::size_t(q)], element_bytes, layout);
      messages.push_back({q, to_receive(there(0, &part)), bytes_of_rank(q), false});
    }
    run.done.sent += bytes_of_rank(own_rank),
        run.done.received += bytes() - bytes_of_rank(own_rank);
    settle_messages();
    carry(messages, mine);
  }

  /// counts the copies of the value of rank 0 to the devices of this rank
  void note_from_first() {
    for (int r = 0; r < to.local_count(); ++r)
      if (!(from.at(0) == to.at(r)))
        note_copy(run, me, run.value(v, r), from.at(0), to.at(r), false, "from rank 0");
  }
  /// counts the copies of pieces between the devices of this rank
  void note_pieces() {
    for (int a = 0; a < from.local_count(); ++a)
      for (int b = 0; b < to.local_count(); ++b)
        if (!(from.at(a) == to.at(b)))
          note_copy(run, me, run.value(me.from, a), from.at(a), to.at(b), false, "");
  }

  /// the rows of a halo that cross ranks, in one order on both sides
  void exchange_rows(std::vector<std::int64_t> const& begins) {
    internal::rank_point const& mine = internal::point_now();
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
          local_layout layout;
          if (receives) {
            local_value const margin = margin_of(p, layout);
            blocks.push_back(to_receive(margin_side(p, &margin)));
            messages.push_back({rank_of(p.first), blocks.back(), n, false});
            arriving.push_back(p);
            run.done.received += n;
            return;
          }
          local_value const source =
              part_of(run.value(me.from, p.from), rank, from.axis,
                      p.first - from.piece_begin(rows(), p.from), p.rows, element_bytes, layout);
          void* const data = to_send({&runtime::find_device(from.at(p.from)), &source});
          messages.push_back({rank_of(from.piece_begin(rows(), p.to)), data, n, true});
          run.done.sent += n;
        });
    settle_messages();
    carry(messages, mine);
    for (std::size_t k = 0; k < arriving.size(); ++k) {
      local_layout layout;
      local_value const margin = margin_of(arriving[k], layout);
      unpack_message(blocks[k], margin_side(arriving[k], &margin));
    }
  }
  local_value margin_of(internal::halo_part const& p, local_layout& layout) const {
    return part_of(run.value(me.from, p.to), rank, from.axis, p.at, p.rows, element_bytes, layout);
  }
  copy_side margin_side(internal::halo_part const& p, local_value const* margin) const {
    return {&runtime::find_device(from.at(p.to)), margin, v, p.to};
  }

  void carry(std::vector<runtime::rank_message> const& messages, internal::rank_point const& mine) {
    if (messages.empty()) return;
    logical_device const* const gpu = gpus_of_messages.empty() ? nullptr : gpus_of_messages[0];
    runtime::card_scope const current(gpu && gpu->is_card() ? gpu->card : -1);
    internal::require_carried(runtime::ranks_by->exchange(messages.data(), int(messages.size()),
                                                          internal::seconds_for_ranks()),
                              mine);
  }
};

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
