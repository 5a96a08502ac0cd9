// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that run/implicit_copies.hpp declares.
#pragma once
#include <locus/core/error.hpp>           // placement_error
#include <locus/core/macros.hpp>          // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/run/implicit_copies.hpp>  // the declarations
#include <locus/run/run_state.hpp>        // run_state
#include <locus/watch/log.hpp>            // warn
#include <locus/watch/site_text.hpp>      // write_site
#include <locus/watch/watch.hpp>          // first_time

LOCUS_COLD_BEGIN

namespace locus::detail {

LOCUS_FUNCTION void apply_copy_policy(run_state const& run) {
  plan_view const& p = run.plan;
  call_site const site = run.seen.site;
  each_implicit_copy(
      p, run.extents, [&](short i, int operand, transfer const& t, tally const& moved) {
        step const& reader = p.steps[i];
        bool const refused = run.seen.copies == copy_policy::explicit_only;
        // an edge of the constant plan stands for this operand of this plan
        if (!refused && !runtime::first_time(
                            run.seen.code->plan.edges.first + reader.first_edge + operand, site))
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
