// SPDX-License-Identifier: Apache-2.0
// A transfer between ranks whose bytes a carrier moves (runtime/rank_carrier.hpp): packed in host
// memory, or as messages from and to the memory of GPUs. One struct, though long: both forms, and
// crossing_of_cards, share the value, its cut and its rows.
#pragma once
#include <vector>  // vector

#include <locus/collective/ranks.hpp>    // meet_ranks, require_carried
#include <locus/machine/card_scope.hpp>  // card_scope
#include <locus/machine/stamps.hpp>      // mark, synchronize
#include <locus/plan/halo.hpp>           // each_halo_part
#include <locus/run/copy_value.hpp>      // copy_value, join_queues
#include <locus/run/events.hpp>          // note_copy
#include <locus/run/move_part.hpp>       // move_part

LOCUS_COLD_BEGIN

namespace locus::detail {
inline namespace LOCUS_RUN_MODE {

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

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::detail

LOCUS_COLD_END
