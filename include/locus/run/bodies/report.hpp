// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that run/report.hpp declares.
#pragma once
#include <locus/backend/device_use.hpp>   // use_of
#include <locus/core/environment.hpp>     // from_environment
#include <locus/core/macros.hpp>          // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/plan/show/explain.hpp>    // write_plan
#include <locus/run/report.hpp>           // the declarations
#include <locus/runtime/at_end.hpp>       // at_end
#include <locus/runtime/output_file.hpp>  // open_output
#include <locus/runtime/write_all.hpp>    // write_all
#include <locus/watch/log.hpp>            // path_of_process
#include <locus/watch/site_text.hpp>      // write_site
#include <locus/watch/watch.hpp>          // watcher

LOCUS_COLD_BEGIN

namespace locus::detail {

LOCUS_FUNCTION void add_to_report(plan_record& p, shape const* extents) {
  run_report& r = the_report();
  int const steps = p.code->plan.steps.count;
  p.extents = new shape[std::size_t(steps)];
  for (int i = 0; i < steps; ++i) p.extents[i] = extents[i];
  p.uses = new dynamic_array<device_use>;
  if (!r.last) runtime::at_end(write_report_at_end);
  (r.last ? r.last->next : r.first) = &p;
  r.last = &p;
}

LOCUS_FUNCTION void note_device(dynamic_array<device_use>& uses, device d) {
  for (device_use const& u : uses)
    if (u.asked == d) return;
  uses.push(use_of(d));
}

}  // namespace locus::detail

namespace locus::internal {

LOCUS_FUNCTION plan_listener::plan_listener() : outer_(current()) {
  current() = this;
  lock_guard hold(runtime::watchers_lock);
  if (count()++ == 0) runtime::set_watcher(runtime::watcher::plans, true);
}

LOCUS_FUNCTION plan_listener::~plan_listener() {
  current() = outer_;
  lock_guard hold(runtime::watchers_lock);
  if (--count() == 0) runtime::set_watcher(runtime::watcher::plans, false);
}

}  // namespace locus::internal

namespace locus::detail {

LOCUS_FUNCTION void note_run(plan_record& p, call_site site, tally const& done,
                             plan_view const& plan, shape const* extents) {
  if (plan_listener* const heard = plan_listener::current()) heard->ran(p, plan, extents);
  if (!runtime::is_watched(runtime::watcher::report)) return;
  lock_guard hold(the_report().lock);
  if (!p.extents) add_to_report(p, extents);
  for (step const& s : plan.steps)
    for (int r = 0; r < s.where.count(); ++r) note_device(*p.uses, s.where.at(r));
  for (root const& r : plan.roots)
    for (int k = 0; k < r.result.count(); ++k) note_device(*p.uses, r.result.at(k));
  site_record** at = &p.sites;
  while (*at && !((*at)->site == site)) at = &(*at)->next;
  if (!*at) *at = new site_record{site, 0, {}, nullptr};
  ++(*at)->runs;
  (*at)->done += done;
}

LOCUS_FUNCTION tally sum_of_sites(plan_record const& p) {
  tally t;
  for (site_record const* s = p.sites; s; s = s->next) t += s->done;
  return t;
}

LOCUS_FUNCTION std::int64_t runs_of(plan_record const& p) {
  std::int64_t n = 0;
  for (site_record const* s = p.sites; s; s = s->next) n += s->runs;
  return n;
}

LOCUS_FUNCTION void write_tally(report_text& out, tally const& t) {
  write_count(out, t.launches, "launch", "launches") << ", ";
  write_count(out, t.copies, "copy", "copies") << " (" << t.bytes_moved << " bytes), ";
  if (t.reused) out << t.reused << " more reused (" << t.bytes_reused << " bytes), ";
  write_count(out, t.all_reduces + t.other_reductions, "reduction", "reductions")
      << " (" << t.bytes_reduced << " bytes), ";
  write_count(out, t.fallbacks, "fallback", "fallbacks") << "\n";
}

LOCUS_FUNCTION void write_uses(report_text& out, plan_record const& p) {
  out << "  on";
  for (std::size_t i = 0; i < p.uses->size(); ++i) out << (i ? ", " : " ") << (*p.uses)[i].asked;
  out << "\n";
  for (device_use const& u : *p.uses)
    if (u.differs()) {
      out << "  " << u.asked << " was not there, " << u.used << " worked for it";
      if (!u.why.empty()) out << ": " << u.why;
      out << "\n";
    }
}

LOCUS_FUNCTION void write_record(report_text& out, plan_record const& p, int number) {
  out << "plan " << number << ", ";
  write_count(out, runs_of(p), "run", "runs") << ": ";
  write_tally(out, sum_of_sites(p));
  for (site_record const* s = p.sites; s; s = s->next) {
    out << "  from ";
    if (s->site == call_site{}) out << "an operator";
    write_count(runtime::write_site(out, s->site) << ", ", s->runs, "run", "runs") << "\n";
  }
  write_uses(out, p);
  out << "  in its first run, ";
  write_plan(out, p.code->plan, p.extents, p.policy);
}

LOCUS_FUNCTION void write_report(int file) {
  run_report& r = the_report();
  lock_guard hold(r.lock);
  dynamic_array<plan_record*> plans;
  tally all;
  std::int64_t runs = 0;
  for (plan_record* p = r.first; p; p = p->next) {
    plans.push(p);
    std::size_t k = plans.size() - 1;
    std::int64_t const bytes = sum_of_sites(*p).bytes_moved;
    for (; k > 0 && sum_of_sites(*plans[k - 1]).bytes_moved < bytes; --k) plans[k] = plans[k - 1];
    plans[k] = p;
    all += sum_of_sites(*p), runs += runs_of(*p);
  }
  auto* const out = new report_text;
  *out << "locus: ";
  write_count(*out, static_cast<std::int64_t>(plans.size()), "plan", "plans") << ", ";
  write_count(*out, runs, "run", "runs") << ": ";
  write_tally(*out, all);
  bool good = runtime::write_all(file, out->view());
  for (std::size_t k = 0; k < plans.size() && good; ++k) {
    *out = report_text{};
    write_record(*out, *plans[k], static_cast<int>(k) + 1);
    good = runtime::write_all(file, out->view());
  }
  delete out;
}

LOCUS_FUNCTION void write_report_at_end(bool terminating) {
  if (terminating && !the_report().lock.try_lock()) return;
  if (terminating) the_report().lock.unlock();
  char const* const said = from_environment("LOCUS_EXPLAIN");  // null: the program unset it
  char const* const path = said && std::string_view(said) != "1" ? said : nullptr;
  int file = 2;
  if (path) {
    try {
      file = runtime::open_output("the report of plans (LOCUS_EXPLAIN) cannot be written to",
                                  runtime::path_of_process(path).view());
    } catch (bad_file const& e) {
      log_line line;
      runtime::write_line(line << e.what());
    }
  }
  write_report(file);
  if (file != 2) ::close(file);
}

}  // namespace locus::detail

LOCUS_COLD_END
