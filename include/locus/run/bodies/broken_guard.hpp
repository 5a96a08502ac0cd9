// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that run/broken_guard.hpp declares.
#pragma once
#include <locus/core/error.hpp>        // shape_error
#include <locus/core/macros.hpp>       // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/run/broken_guard.hpp>  // the declarations
#include <locus/run/program.hpp>       // executed
#include <locus/watch/log.hpp>         // log, log_wants
#include <locus/watch/site_text.hpp>   // write_site

LOCUS_COLD_BEGIN

namespace locus::detail {

LOCUS_FUNCTION void note_unfused(plan_view const& p, guard const& broken, shape const* extents,
                                 call_site site) {
  ++runtime::executed.unfused;
  // an operator has no call site: the log has it once for each plan
  if (!runtime::log_wants(p.guards.first, site.is_set() ? site : call_site{})) return;
  message text;
  text << "Plan";
  if (site.is_set()) runtime::write_site(text << " of ", site);
  text << " runs unfused: extents " << extents[broken.a] << " of #" << int(broken.a) << " and "
       << extents[broken.b] << " of #" << int(broken.b) << " differ";
  run_event e;
  e.kind = event_kind::fallback;
  e.reason = text.view(), e.site = site;
  runtime::log(e);
}

LOCUS_FUNCTION void refuse_extents(plan_view const& p, guard const& broken, shape const* extents) {
  message text;
  text << "locus: this plan takes extents " << extents[broken.a] << " of '"
       << p.steps[broken.a].name << "' (#" << int(broken.a) << ") and " << extents[broken.b]
       << " of '" << p.steps[broken.b].name << "' (#" << int(broken.b)
       << ") for equal, as alike<> promised; leave alike<> out, or make them equal";
  throw shape_error(text);
}

}  // namespace locus::detail

LOCUS_COLD_END
