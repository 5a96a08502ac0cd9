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

/// The plans that ran. Never destroyed: the report is written when the program ends.
struct run_report {
  mutex lock;
  plan_record *first = nullptr, *last = nullptr;
};
LOCUS_SHARED_STATE inline run_report& the_report() {
  static run_report* const r = new run_report;
  return *r;
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

inline void add_to_report(plan_record& p, plan_run const& run) {
  run_report& r = the_report();
  int const steps = run.plan.steps.count;
  p.extents = new shape[std::size_t(steps)];
  for (int i = 0; i < steps; ++i) p.extents[i] = run.extents[i];
  p.uses = new dynamic_array<device_use>;
  if (!r.last) runtime::at_end(write_report_at_end);
  (r.last ? r.last->next : r.first) = &p;
  r.last = &p;
}

inline void note_devices(dynamic_array<device_use>& uses, place const& where) {
  for (int r = 0; r < where.local_count(); ++r) {
    bool known = false;
    for (device_use const& u : uses) known = known || u.asked == where.at(r);
    if (!known) uses.push(use_of(where.at(r)));
  }
}

LOCUS_FUNCTION void note_run(plan_record& p, run_event const& e) {
  plan_run const& run = *e.plan;
  if (plan_listener* const heard = plan_listener::current()) heard->ran(run);
  if (!runtime::is_watched(runtime::watcher::report)) return;
  lock_guard hold(the_report().lock);
  if (!p.extents) add_to_report(p, run);
  for (step const& s : run.plan.steps) note_devices(*p.uses, s.where);
  for (root const& r : run.plan.roots) note_devices(*p.uses, r.result);
  site_record** at = &p.sites;
  while (*at && !((*at)->site == e.site)) at = &(*at)->next;
  if (!*at) *at = new site_record{e.site, 0, {}, nullptr};
  ++(*at)->runs;
  (*at)->done += run.done;
}

// ---- the text ----

using report_text = text_buffer<1 << 17>;

/// The runs of one plan or of several, and their counts.
struct run_sum {
  std::int64_t runs = 0;
  tally done{};
  void add(plan_record const& p) {
    for (site_record const* s = p.sites; s; s = s->next) runs += s->runs, done += s->done;
  }
  void write(report_text& out) const {
    tally const& t = done;
    write_count(out, runs, "run", "runs") << ": ";
    write_count(out, t.launches, "launch", "launches") << ", ";
    write_count(out, t.copies, "copy", "copies") << " (" << t.bytes_moved << " bytes), ";
    if (t.reused) out << t.reused << " more reused (" << t.bytes_reused << " bytes), ";
    write_count(out, t.all_reduces + t.other_reductions, "reduction", "reductions")
        << " (" << t.bytes_reduced << " bytes), ";
    write_count(out, t.fallbacks, "fallback", "fallbacks") << "\n";
  }
};
inline run_sum sum_of(plan_record const& p) {
  run_sum sum;
  sum.add(p);
  return sum;
}

/// means: writes the plan's devices, and the devices that stood in for missing ones
inline void write_uses(report_text& out, plan_record const& p) {
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

inline void write_record(report_text& out, plan_record const& p, int number) {
  sum_of(p).write(out << "plan " << number << ", ");
  for (site_record const* s = p.sites; s; s = s->next) {
    out << "  from ";
    if (s->site == call_site{}) out << "an operator";
    write_count(runtime::write_site(out, s->site) << ", ", s->runs, "run", "runs") << "\n";
  }
  write_uses(out, p);
  out << "  in its first run, ";
  write_plan(out, p.code->plan, p.extents, p.policy);
}

inline void write_report(int file) {
  run_report& r = the_report();
  lock_guard hold(r.lock);
  dynamic_array<plan_record*> plans;
  run_sum all;
  for (plan_record* p = r.first; p; p = p->next) {
    plans.push(p);
    std::size_t k = plans.size() - 1;
    std::int64_t const bytes = sum_of(*p).done.bytes_moved;
    for (; k > 0 && sum_of(*plans[k - 1]).done.bytes_moved < bytes; --k) plans[k] = plans[k - 1];
    plans[k] = p;
    all.add(*p);
  }
  auto* const out = new report_text;
  *out << "locus: ";
  write_count(*out, static_cast<std::int64_t>(plans.size()), "plan", "plans") << ", ";
  all.write(*out);
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
