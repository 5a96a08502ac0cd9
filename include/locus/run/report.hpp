// SPDX-License-Identifier: Apache-2.0
// LOCUS_EXPLAIN: a report at the end of the program: the call sites, devices, runs and counts of
// every plan.
#pragma once

#include <locus/core/macros.hpp>      // LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/plan/numerics.hpp>    // policy_value
#include <locus/run/program.hpp>      // program
#include <locus/watch/log_event.hpp>  // device_use

LOCUS_COLD_BEGIN

namespace locus::detail {

/// The runs of one plan at one call site.
struct site_record {
  call_site site{};
  std::int64_t runs = 0;
  tally done{};
  site_record* next = nullptr;
};

}  // namespace locus::detail

namespace locus::internal {

/// means: the record of one graph: a static variable in its code, never destroyed
struct plan_record {
  program const* code = nullptr;
  policy_value policy{};
  site_record* sites = nullptr;
  shape* extents = nullptr;                   // [step] of the first run
  dynamic_array<device_use>* uses = nullptr;  // of each device, once
  plan_record* next = nullptr;                // in the order of their first runs
};

}  // namespace locus::internal

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

[[gnu::cold]] LOCUS_FUNCTION void add_to_report(plan_record& p, shape const* extents);
[[gnu::cold]] LOCUS_FUNCTION void note_device(dynamic_array<device_use>& uses, device d);

}  // namespace locus::detail

namespace locus::internal {

/// means: a listener of every plan that its thread runs during its lifetime
class plan_listener {
 public:
  plan_listener();
  plan_listener(plan_listener const&) = delete;
  virtual ~plan_listener();
  virtual void ran(plan_record const& record, plan_view const& plan, shape const* extents) = 0;
  LOCUS_SHARED_STATE static plan_listener*& current() {
    static thread_local plan_listener* now = nullptr;
    return now;
  }

 private:
  LOCUS_SHARED_STATE static int& count() {
    static int n = 0;
    return n;
  }
  plan_listener* outer_;
};

}  // namespace locus::internal

namespace locus::detail {

/// means: tells the thread's listener of a run, and adds its counts to the report's record of that
///        call site
[[gnu::cold]] LOCUS_FUNCTION void note_run(plan_record& p, call_site site, tally const& done,
                                           plan_view const& plan, shape const* extents);

// ---- the text ----

using report_text = text_buffer<1 << 17>;

LOCUS_FUNCTION tally sum_of_sites(plan_record const& p);
LOCUS_FUNCTION std::int64_t runs_of(plan_record const& p);
LOCUS_FUNCTION void write_tally(report_text& out, tally const& t);
/// means: writes the plan's devices, and the devices that stood in for missing ones
LOCUS_FUNCTION void write_uses(report_text& out, plan_record const& p);
[[gnu::cold]] LOCUS_FUNCTION void write_record(report_text& out, plan_record const& p, int number);

/// means: writes every plan that ran, by falling bytes moved, then in the order of first runs
[[gnu::cold]] LOCUS_FUNCTION void write_report(int file);
[[gnu::cold]] LOCUS_FUNCTION void write_report_at_end(bool terminating);

}  // namespace locus::detail

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/run/bodies/report.hpp>  // bodies of the functions above
#endif
