// SPDX-License-Identifier: Apache-2.0
// The sinks of plans: the listener of a thread, and LOCUS_EXPLAIN, a report at the end of the
// program with the call sites, devices, runs and counts of every plan.
#pragma once

#include <locus/core/macros.hpp>    // LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/plan/numerics.hpp>  // policy_value
#include <locus/run/program.hpp>    // program
#include <locus/watch/event.hpp>    // run_event, device_use

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
  program const* code = nullptr;  // the constant; a plan with open devices runs a copy of it
  policy_value policy{};
  detail::site_record* sites = nullptr;
  shape* extents = nullptr;                   // [step] of the first run
  dynamic_array<device_use>* uses = nullptr;  // of each device, once
  plan_record* next = nullptr;                // in the order of their first runs
};

/// means: a listener of every plan that its thread runs during its lifetime
class plan_listener {
 public:
  plan_listener();
  plan_listener(plan_listener const&) = delete;
  virtual ~plan_listener();
  virtual void ran(plan_run const& plan) = 0;
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

/// means: tells the thread's listener of a run that ends, and adds its counts to the report's
///        record of that call site
[[gnu::cold]] LOCUS_FUNCTION void note_run(plan_record& p, run_event const& e);

/// means: writes every plan that ran, by falling bytes moved, then in the order of first runs
[[gnu::cold]] LOCUS_FUNCTION void write_report_at_end(bool terminating);

}  // namespace locus::detail

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/run/bodies/report.hpp>  // bodies of the functions above
#endif
