// SPDX-License-Identifier: Apache-2.0
// Scratch memory of reductions over replicas on their devices, besides terms and results.
#pragma once
#include <locus/core/bytes.hpp>       // round_up
#include <locus/core/macros.hpp>      // LOCUS_LEAN_BEGIN
#include <locus/plan/show/facts.hpp>  // is_reduction
#include <locus/shape/element.hpp>    // element_set

LOCUS_LEAN_BEGIN

namespace locus {

/// means: NCCL has an operation that computes the reduction `op`: for the element type, and with
///        NaN kept
constexpr bool adds_on_the_way(reduction op, element type) {
  element_set const not_of_nccl =
      set_of(element::i16) | set_of(element::u16) | complex_elements | set_of(element::other);
  bool const has_nan = floats.contains(type);
  if (not_of_nccl.contains(type)) return false;
  switch (op) {
  case reduction::sum:
  case reduction::product:
  case reduction::any:
  case reduction::all: return true;
  case reduction::max:
  case reduction::min: return !has_nan;
  default: return false;
  }
}

/// means: scratch bytes of a reduction on d: for the terms of other replicas, where one device
///        folds them in replica order, and for a sum that is not computed in its destination
/// units: bytes, in blocks of 256; for GPUs on distinct cards, with NCCL in its fast order
constexpr std::int64_t reduction_bytes(plan_view const& p, transfer const& t, device d) {
  step const& s = p.steps[t.from];
  place const &from = s.where, &to = t.arrives;
  int const replicas = from.local_count();
  std::int64_t const count = s.extents.size(), bytes = count * s.element_bytes;
  if (!internal::is_reduction(t.how) || replicas < 2 || count == 0) return 0;
  int gpus = 0;
  for (int r = 0; r < replicas; ++r) gpus += from.at(r).is_gpu();
  if (gpus > 0 && gpus < replicas)  // through the host: the sum, and the terms of GPUs
    return d == cpu(0) ? (1 + gpus) * round_up(bytes) : 0;
  bool const folds_here = gpus == 0, direct = adds_on_the_way(from.op, s.type);
  auto const from_others = [&](std::int64_t n) {
    return (replicas - 1) * round_up(n * s.element_bytes);
  };
  int const me = from.devices.find(d);  // `replicas` if d is none of them
  if (t.how == transfer_kind::all_reduce) {
    if (me >= replicas || folds_here || direct) return 0;
    return from_others(piece_size(count, replicas, me));
  }
  if (to.is_sharded() && to.axis == 0 && !folds_here) {
    std::int64_t const rows = s.extents.extent[0];
    return me >= replicas ? 0 : from_others(to.piece_size(rows, me) * (count / rows));
  }
  int const end = to.is_single() ? from.devices.find(to.at(0)) : replicas,
            root = end < replicas ? end : 0;
  if (me != root) return 0;
  return (end < replicas ? 0 : round_up(bytes)) + (folds_here || direct ? 0 : from_others(count));
}

}  // namespace locus

LOCUS_LEAN_END
