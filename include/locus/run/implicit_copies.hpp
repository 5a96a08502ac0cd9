// SPDX-License-Identifier: Apache-2.0
// The copy policy: what happens when a step reads a value that lies on another device. to<>, fetch,
// printing, an assignment to a tensor elsewhere and on<Device>(x) of a tensor are explicit copies.
#pragma once
#include <locus/core/macros.hpp>      // LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/plan/show/facts.hpp>  // count_transfer
#include <locus/run/program.hpp>      // program

LOCUS_COLD_BEGIN

namespace locus::detail {

/// on<Device>(x) of a tensor is one step that changes nothing
inline bool asks_for_copy(step const& reader) {
  return reader.kind == step_kind::map && reader.name == "identity" && !reader.request.is_none();
}

/// means: visit(reader, operand number, transfer, what it moves) for each copy that nobody wrote
template <class Visit>
void each_implicit_copy(plan_view const& p, shape const* extents, Visit const& visit) {
  for (short i = 0; i < p.steps.count; ++i) {
    step const& reader = p.steps[i];
    if (asks_for_copy(reader)) continue;
    int number = 0;
    for (edge const& e : p.operands(reader)) {
      int const operand = number++;
      if (e.by < 0 || is_reduction(p.transfers[e.by].how)) continue;
      transfer const& t = p.transfers[e.by];
      tally moved;
      count_transfer(moved, p.steps[e.from].where, t, extents[e.from],
                     p.steps[e.from].element_bytes);
      if (moved.copies > 0) visit(i, operand, t, moved);
    }
  }
}

/// means: warn: one line for each such step of a call site; explicit_only: an error
/// fails: placement_error, before anything has run
[[gnu::cold]] LOCUS_FUNCTION void apply_copy_policy(run_state const& run);

}  // namespace locus::detail

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/run/bodies/implicit_copies.hpp>  // bodies of the functions above
#endif
