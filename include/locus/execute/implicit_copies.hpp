// SPDX-License-Identifier: Apache-2.0
// The copy policy: what happens when a step reads a value that lies on another device. to<>, fetch,
// printing, an assignment to a tensor elsewhere and on<Device>(x) of a tensor are explicit copies.
#pragma once
#include <locus/core/config.hpp>      // LOCUS_COLD_BEGIN
#include <locus/core/error.hpp>       // placement_error
#include <locus/execute/program.hpp>  // plan_view
#include <locus/plan/facts.hpp>       // count_transfer
#include <locus/runtime/config.hpp>   // get_device_policy
#include <locus/runtime/log.hpp>      // warn, first_time

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
[[gnu::cold]] inline void apply_copy_policy(copy_policy policy, plan_view const& p,
                                            shape const* extents, program const& code,
                                            call_site site) {
  each_implicit_copy(p, extents, [&](short i, int operand, transfer const& t, tally const& moved) {
    step const& reader = p.steps[i];
    bool const refused = policy == copy_policy::explicit_only;
    // an edge of the constant plan stands for this operand of this plan
    if (!refused && !runtime::first_time(code.plan.edges.first + reader.first_edge + operand, site))
      return;
    message text;
    text << "locus: step " << int(i) << " (" << reader.name << ") on " << reader.where
         << (refused ? " would copy" : " copies") << " operand #" << operand << " ("
         << p.steps[t.from].name;
    if (moved.bytes_moved > 0) text << ", " << moved.bytes_moved << " bytes";
    text << ") from " << p.steps[t.from].where << ", which nobody wrote";
    if (site.is_set()) runtime::write_site(text << ", at ", site);
    text << "; write ";
    if (t.arrives.is_single())
      text << "to<\"" << t.arrives.at(0) << "\">(x) or on<\"" << t.arrives.at(0) << "\">(x)";
    else
      text << "to<Where>(x) for " << t.arrives;
    if (refused) throw placement_error(text);
    log_line line;
    runtime::warn(line << text.view());
  });
}

}  // namespace locus::detail

LOCUS_COLD_END
