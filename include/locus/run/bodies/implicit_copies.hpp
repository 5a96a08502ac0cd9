// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that run/implicit_copies.hpp declares.
#pragma once
#include <locus/config/settings.hpp>      // get_device_policy
#include <locus/core/error.hpp>           // placement_error
#include <locus/plan/show/facts.hpp>      // count_transfer
#include <locus/run/implicit_copies.hpp>  // the declarations
#include <locus/run/run_state.hpp>        // run_state
#include <locus/watch/log.hpp>            // warn
#include <locus/watch/site_text.hpp>      // write_site
#include <locus/watch/watch.hpp>          // first_time

LOCUS_COLD_BEGIN

namespace locus::detail {
inline namespace LOCUS_RUN_MODE {

/// means: the step is on<Device>(x) of a tensor, which is an explicit copy
inline bool asks_for_copy(step const& reader) {
  return reader.kind == step_kind::map && reader.name == "identity" && !reader.request.is_none();
}

/// means: refuses the implicit copy of that operand of step i, or warns of it
LOCUS_FUNCTION void judge_copy(run_state const& run, short i, int operand, transfer const& t,
                               copy_policy policy) {
  plan_view const& p = run.plan;
  step const &reader = p.steps[i], &source = p.steps[t.from];
  call_site const site = run.seen.site;
  tally moved;
  count_transfer(moved, source.where, t, run.extents[t.from], source.element_bytes);
  if (moved.copies == 0) return;
  bool const refused = policy == copy_policy::explicit_only;
  // the address of the edge in the constant plan is the key of this operand
  edge const* const stands_for =
      run.seen.record->code->plan.edges.first + reader.first_edge + operand;
  if (!refused && !runtime::first_time(stands_for, site)) return;
  message text;
  text << "locus: step " << int(i) << " (" << reader.name << ") on " << reader.where
       << (refused ? " would copy" : " copies") << " operand #" << operand << " (" << source.name;
  if (moved.bytes_moved > 0) text << ", " << moved.bytes_moved << " bytes";
  text << ") from " << source.where << ", which nobody wrote";
  if (site.is_set()) runtime::write_site(text << ", at ", site);
  text << "; write ";
  if (t.arrives.is_single())
    text << "to<\"" << t.arrives.at(0) << "\">(x) or on<\"" << t.arrives.at(0) << "\">(x)";
  else
    text << "to<Where>(x) for " << t.arrives;
  if (refused) throw placement_error(text);
  log_line line;
  runtime::warn(line << text.view());
}

LOCUS_FUNCTION void apply_copy_policy(run_state const& run) {
  copy_policy const policy = config::get_device_policy();
  if (policy == copy_policy::silent) return;
  plan_view const& p = run.plan;
  for (short i = 0; i < p.steps.count; ++i) {
    if (asks_for_copy(p.steps[i])) continue;
    int operand = 0;
    for (edge const& e : p.operands(p.steps[i])) {
      if (e.by >= 0 && !is_reduction(p.transfers[e.by].how))
        judge_copy(run, i, operand, p.transfers[e.by], policy);
      ++operand;
    }
  }
}

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::detail

LOCUS_COLD_END
