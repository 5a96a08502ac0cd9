// SPDX-License-Identifier: Apache-2.0
// The watchers of one run; one of them is the report of all plans at the end of the program
// (LOCUS_EXPLAIN).
#pragma once
#include <locus/config/settings.hpp>           // get_device_policy
#include <locus/core/macros.hpp>               // LOCUS_COLD_BEGIN
#include <locus/machine/work_scope.hpp>        // work_watchers
#include <locus/memory/kept_copies_limit.hpp>  // keeps_copies
#include <locus/plan/numerics.hpp>             // policy_value
#include <locus/run/program.hpp>               // program
#include <locus/run/report.hpp>                // plan_record, note_run
#include <locus/run/spans.hpp>                 // begin_run
#include <locus/watch/log.hpp>                 // is_wanted
#include <locus/watch/watch.hpp>               // watcher

LOCUS_COLD_BEGIN

namespace locus::detail {

/// The watchers and settings of one run.
struct run_watch {
  call_site site{};
  bool log = false;
  unsigned work = 0;  // watchers of each launch, copy and collective
  policy_value policy{};
  plan_record* record = nullptr;  // for the report
  program const* code = nullptr;  // the constant; a plan with open devices runs a copy of it
  copy_policy copies = copy_policy::silent;
  bool keeps = false;  // the run uses and makes kept copies
};

/// means: the settings of a run for these watchers
[[gnu::cold]] inline run_watch watch_run(unsigned watchers, plan_record& record, call_site site) {
  using runtime::watcher;
  run_watch w;
  w.site = site, w.policy = record.policy;
  w.work = watchers & runtime::work_watchers;
  // an operator has no call site: the log has it once for each plan
  w.log = has_watcher(watchers, watcher::log) &&
          runtime::is_wanted(record.code, site.is_set() ? site : call_site{});
  if (has_watcher(watchers, watcher::report) || has_watcher(watchers, watcher::plans))
    w.record = &record;
  w.code = record.code;
  w.keeps = has_watcher(watchers, watcher::kept) && runtime::keeps_copies();
  if (has_watcher(watchers, watcher::copies)) w.copies = config::get_device_policy();
  return w;
}

}  // namespace locus::detail

LOCUS_COLD_END
