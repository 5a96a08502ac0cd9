// SPDX-License-Identifier: Apache-2.0
// The watchers of one run.
#pragma once
#include <locus/core/macros.hpp>               // LOCUS_COLD_BEGIN
#include <locus/memory/kept_copies_limit.hpp>  // keeps_copies
#include <locus/run/report.hpp>                // plan_record
#include <locus/watch/log.hpp>                 // log_wants
#include <locus/watch/watch.hpp>               // watcher

namespace locus::detail {

/// The call site of a run, and the watchers at its begin: the log, if it wants this call site; kept
/// copies, while they have a limit.
struct run_watch {
  call_site site{};
  unsigned watchers = 0;
  plan_record* record = nullptr;  // null: no watcher, or a crossing
};

LOCUS_COLD_BEGIN
/// means: those of a run of a plan, of these watchers
[[gnu::cold]] inline run_watch watch_run(unsigned watchers, plan_record& record, call_site site) {
  using runtime::watcher;
  // an operator has no call site: the log has it once for each plan
  if (!runtime::log_wants(record.code, site.is_set() ? site : call_site{}))
    watchers &= ~static_cast<unsigned>(watcher::log);
  if (!runtime::keeps_copies()) watchers &= ~static_cast<unsigned>(watcher::kept);
  return {site, watchers, &record};
}
LOCUS_COLD_END

}  // namespace locus::detail
