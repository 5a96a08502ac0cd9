// SPDX-License-Identifier: Apache-2.0
// The costs of a plan: counts, bytes, operations. For constants and for runs.
#pragma once
#include <locus/core/macros.hpp>  // LOCUS_LEAN_BEGIN
#include <locus/plan/data.hpp>    // plan_view
#include <locus/plan/halo.hpp>    // each_halo_part
#include <locus/plan/memory.hpp>  // slot

LOCUS_LEAN_BEGIN

namespace locus {

/// Counts of a plan, and of a run: tests compare the two after every run.
struct tally {
  std::int64_t launches = 0;            // kernels launched, on each device
  std::int64_t copies = 0;              // values or pieces that cross from one device to another
  std::int64_t bytes_moved = 0;         // payload of those copies
  std::int64_t all_reduces = 0;         // buckets of all-reduces
  std::int64_t other_reductions = 0;    // reduce, reduce_scatter
  std::int64_t bytes_reduced = 0;       // payload of one replica
  std::int64_t fallbacks = 0;           // steps meant for a GPU that have no kernel there
  std::int64_t reused = 0;              // copies that a run saved: the value was there
  std::int64_t bytes_reused = 0;        // payload of those copies
  std::int64_t unfused = 0;             // runs of a second plan, since extents were not equal
  std::int64_t halo_exchanges = 0;      // tensors whose margins get rows of the neighbours
  std::int64_t sent = 0, received = 0;  // payload of transfers from and to other ranks
  friend constexpr bool operator==(tally const&, tally const&) = default;
  constexpr tally& operator+=(tally const& o) { return add(o, 1); }
  constexpr tally& operator-=(tally const& o) { return add(o, -1); }

 private:
  constexpr tally& add(tally const& o, int sign) {
    using member = std::int64_t tally::*;  // nvcc misprints the direct form
    constexpr member counts[] = {
        &tally::launches,    &tally::copies,           &tally::bytes_moved,
        &tally::all_reduces, &tally::other_reductions, &tally::bytes_reduced,
        &tally::fallbacks,   &tally::reused,           &tally::bytes_reused,
        &tally::unfused,     &tally::halo_exchanges,   &tally::sent,
        &tally::received};
    for (member const count : counts) this->*count += sign * o.*count;
    return *this;
  }
};

namespace detail {

/// units: bytes of piece k of a value that is sharded by `where`
constexpr std::int64_t piece_bytes(shape const& s, int element_bytes, place const& where, int k) {
  std::int64_t n = element_bytes;
  for (int a = 0; a < s.rank; ++a)
    n *= where.is_sharded() && a == where.axis ? where.piece_size(s.extent[a], k) : s.extent[a];
  return n;
}

}  // namespace detail

namespace internal {

/// means: the transfer combines the values of several replicas
constexpr bool is_reduction(transfer_kind how) {
  return how == transfer_kind::all_reduce || how == transfer_kind::reduce ||
         how == transfer_kind::reduce_scatter;
}

/// means: adds the cost of one transfer; bytes only where every extent is known
constexpr void count_transfer(tally& t, place const& from, transfer const& how, shape const& s,
                              int element_bytes) {
  bool const known = s.is_static();
  auto cross = [&](device a, device b, std::int64_t bytes) {
    if (a == b) return;
    ++t.copies;
    if (known) t.bytes_moved += bytes;
  };
  place const& to = how.arrives;
  std::int64_t const whole = known ? s.size() * element_bytes : 0;
  auto piece = [&](place const& cut, int k) {
    return known ? piece_bytes(s, element_bytes, cut, k) : 0;
  };
  auto own = [&](place const& cut) {  // of this rank
    std::int64_t bytes = 0;
    for (int r = 0; r < cut.local_count(); ++r) bytes += piece(cut, r);
    return bytes;
  };
  auto between_ranks = [](place const& over) { return over.global_count() > over.local_count(); };
  bool const on_first = to.devices.before() == 0;  // rank 0 has the single value
  switch (how.how) {
  case transfer_kind::copy: return cross(from.at(0), to.at(0), whole);
  case transfer_kind::broadcast:
    for (int r = 0; r < to.local_count(); ++r) cross(from.at(0), to.at(r), whole);
    if (between_ranks(to)) (on_first ? t.sent : t.received) += whole;
    return;
  case transfer_kind::scatter:
    for (int r = 0; r < to.local_count(); ++r) cross(from.at(0), to.at(r), piece(to, r));
    if (between_ranks(to)) (on_first ? t.sent : t.received) += on_first ? whole - own(to) : own(to);
    return;
  case transfer_kind::gather:
    for (int r = 0; r < from.local_count(); ++r) cross(from.at(r), to.at(0), piece(from, r));
    if (between_ranks(from)) t.sent += own(from), t.received += whole - own(from);
    return;
  case transfer_kind::all_gather:
    for (int a = 0; a < from.local_count(); ++a)
      for (int b = 0; b < to.local_count(); ++b) cross(from.at(a), to.at(b), piece(from, a));
    if (between_ranks(from)) t.sent += own(from), t.received += whole - own(from);
    return;
  case transfer_kind::first_replica:
    if (!from.devices.contains(to.at(0))) cross(from.at(0), to.at(0), whole);
    return;
  case transfer_kind::halo: {
    ++t.halo_exchanges;
    std::int64_t const rows = s.extent[from.axis];
    if (rows == dyn) return;
    each_halo_part(rows, from, how.outside, how.before, how.behind, [&](halo_part const& part) {
      std::int64_t const bytes = known ? whole / rows * part.rows : 0;
      bool const leaves = from.has_piece(part.from), arrives = from.has_piece(part.to);
      if (leaves && arrives) cross(from.at(part.from), from.at(part.to), bytes);
      if (leaves && !arrives) t.sent += bytes;
      if (arrives && !leaves) t.received += bytes;
    });
    return;
  }
  case transfer_kind::all_reduce:
    t.bytes_reduced += whole;
    return;  // buckets are counted elsewhere
  case transfer_kind::reduce:
  case transfer_kind::reduce_scatter:
    ++t.other_reductions;
    t.bytes_reduced += whole;
    return;
  default: return;
  }
}

}  // namespace internal

/// means: the counts of the plan, given the extents of every step
constexpr tally count_plan(plan_view const& p, shape const* extents) {
  tally t;
  for (action const& a : p.actions) {
    if (a.kind == action_kind::launch) t.launches += a.in_parts() ? 3 : 1;
    t.all_reduces += a.kind == action_kind::bucket;
  }
  for (transfer const& how : p.transfers) {
    step const& s = p.steps[how.from];
    internal::count_transfer(t, s.where, how, extents[how.from], s.element_bytes);
  }
  for (step const& s : p.steps) t.fallbacks += s.fell_back;
  return t;
}

/// means: all copied values have known extents (with `reduced`: all values reduced over replicas)
constexpr bool knows_bytes(plan_view const& p, shape const* extents, bool reduced) {
  for (transfer const& t : p.transfers)
    if (internal::is_reduction(t.how) == reduced && !extents[t.from].is_static()) return false;
  return true;
}

namespace detail {
constexpr bool may_be_one(device a, device b) {
  return !(a == b) && a.kind() == b.kind() && (a.is_open() || b.is_open());
}
/// the cost of the transfer depends on the ordinals of open devices
constexpr bool depends_on_open(place const& from, transfer const& t) {
  if (is_reduction(t.how) || t.how == transfer_kind::slice) return false;
  if (from.devices.is_all_gpus() || t.arrives.devices.is_all_gpus()) return true;
  for (int a = 0; a < from.local_count(); ++a)
    for (int b = 0; b < t.arrives.local_count(); ++b)
      if (may_be_one(from.at(a), t.arrives.at(b))) return true;
  return false;
}
}  // namespace detail

/// means: copies and their bytes do not depend on the ordinals of open devices
constexpr bool knows_devices(plan_view const& p) {
  for (transfer const& t : p.transfers)
    if (detail::depends_on_open(p.steps[t.from].where, t)) return false;
  return true;
}
/// means: the work and the memory of each device do not depend on them either
constexpr bool knows_replicas(plan_view const& p) {
  for (step const& s : p.steps)
    if (s.where.devices.is_all_gpus()) return false;
  for (root const& r : p.roots)
    if (r.result.devices.is_all_gpus()) return false;
  return knows_devices(p);
}

/// means: the number of parts of each halo exchange is known: it depends on the rows of the tensor
constexpr bool knows_halos(plan_view const& p, shape const* extents) {
  for (transfer const& t : p.transfers)
    if (t.how == transfer_kind::halo && extents[t.from].extent[p.steps[t.from].where.axis] == dyn)
      return false;
  return true;
}

/// The work of the kernels, over all devices.
struct work {
  std::int64_t bytes_read = 0, bytes_written = 0, flops = 0;
};

namespace detail {
/// the number of replicas that compute or read the same elements
constexpr int repeats(place const& at) {
  return at.is_mirrored() || at.is_partial() ? at.local_count() : 1;
}
/// the number of replicas that read the same elements of an operand: 1 where results are sharded
/// along an axis that the operand has, since each replica then reads its own part
constexpr int repeats(plan_view const& p, step const& reader, edge const& e, shape const& from) {
  place const at = e.by >= 0 ? p.transfers[e.by].arrives : p.steps[e.from].where;
  int const axis = from.rank - reader.extents.rank + reader.where.axis;
  bool const part = reader.kind == step_kind::map && reader.where.is_sharded() && axis >= 0 &&
                    from.extent[axis] != 1;
  return part ? 1 : repeats(at);
}
}  // namespace detail

namespace internal {

/// means: an earlier edge of the same kernel reads this operand
constexpr bool read_before(plan_view const& p, step const& reader, edge const& e) {
  for (step const& s : p.steps)
    for (edge const& other : p.operands(s)) {
      if (&other == &e) return false;
      if (s.region == reader.region && other.from == e.from && other.by == e.by) return true;
    }
  return false;
}

}  // namespace internal

/// means: elements that kernels read and write, and arithmetic operations: one for each functor
///        call, one for each element a fold combines, 2 m n k for a matmul
/// region: of the kernel that ends in this step alone; -1: of all kernels
constexpr work count_work(plan_view const& p, shape const* extents, short region = -1) {
  work w;
  for (short i = 0; i < p.steps.count; ++i) {
    step const& s = p.steps[i];
    if (s.region < 0 || (region >= 0 && s.region != region)) continue;
    int busy = detail::repeats(s.where);  // replicas that do the same work
    for (edge const& e : p.operands(s)) {
      step const& o = p.steps[e.from];
      if (o.kind == step_kind::scalar || o.kind == step_kind::index) continue;
      int const times = detail::repeats(p, s, e, extents[e.from]);
      if (s.kind != step_kind::map && times < busy) busy = times;  // replicas share the work
      if (o.region != s.region && !internal::read_before(p, s, e))
        w.bytes_read += times * extents[e.from].size() * o.element_bytes;
    }
    if (s.stored) w.bytes_written += detail::repeats(s.where) * extents[i].size() * s.element_bytes;
    if (s.kind == step_kind::map) w.flops += busy * extents[i].size();
    if (s.kind == step_kind::reduce) w.flops += busy * extents[p.operands(s)[0].from].size();
    if (s.kind == step_kind::call && s.result == 0) {
      shape of_operands[call_roles::most];
      for (int k = 0; k < s.arity; ++k) of_operands[k] = extents[p.operands(s)[k].from];
      w.flops += busy * s.call->operations(extents[i], of_operands);
    }
    if (is_product_with_row(p, i) && p.steps[s.region].ends == product_end::chosen) {
      // the activation may be one that no library has: then a map reads the product
      std::int64_t const bytes = detail::repeats(s.where) * extents[i].size() * s.element_bytes;
      w.bytes_written += bytes, w.bytes_read += bytes;
    }
    if (s.kind == step_kind::matmul)
      w.flops += busy * 2 * extents[i].size() * extents[p.operands(s)[0].from].from_right(0);
  }
  return w;
}

/// means: a destination may share memory with a leaf that is read at other indices or by another
///        kernel, so that binding must check it
constexpr bool may_alias(plan_view const& p) {
  for (root const& r : p.roots) {
    if (r.destination.is_nowhere()) continue;
    if (p.steps[memory_of(p, r.from)].kind == step_kind::leaf) return true;
    for (short i = 0; i < p.steps.count; ++i)
      for (edge const& e : p.operands(p.steps[i])) {
        step const& leaf = p.steps[memory_of(p, e.from)];
        bool const one_list = leaf.where.devices == r.destination.devices;
        bool const open = leaf.where.is_open() || r.destination.is_open();
        if (leaf.kind != step_kind::leaf || !(one_list || open)) continue;
        bool const same_index = one_list && e.by < 0 && p.steps[e.from].kind == step_kind::leaf &&
                                p.steps[i].region >= 0 && p.steps[i].kind != step_kind::matmul &&
                                p.steps[i].region == p.steps[r.from].region &&
                                level_read_by(p, i) == level_read_by(p, r.from) &&
                                p.steps[r.from].kind == step_kind::map &&
                                leaf.extents == p.steps[r.from].extents && leaf.extents.is_static();
        if (!same_index) return true;
      }
  }
  return false;
}

}  // namespace locus

LOCUS_LEAN_END
