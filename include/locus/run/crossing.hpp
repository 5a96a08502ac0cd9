// SPDX-License-Identifier: Apache-2.0
// A plan of one transfer, made when the program runs: it copies one value to another place.
#pragma once
#include <locus/core/call_site.hpp>   // call_site
#include <locus/core/macros.hpp>      // LOCUS_RUN_MODE, LOCUS_LEAN_BEGIN, LOCUS_FUNCTION
#include <locus/expr/builder.hpp>     // local_value
#include <locus/plan/data.hpp>        // action
#include <locus/plan/show/facts.hpp>  // count_plan
#include <locus/run/program.hpp>      // target

LOCUS_LEAN_BEGIN

namespace locus::internal {
inline namespace LOCUS_RUN_MODE {

/// The plan of one transfer.
class crossing {
 public:
  /// what: element type and size, place and extents of the value
  crossing(step const& what, place const& to);
  crossing(crossing const&) = delete;
  /// false: assign_rows has no row for these two places
  bool is_possible() const { return possible_; }
  plan_view const& plan() const { return plan_; }
  shape const* extents() const { return &leaf_.extents; }
  tally counts() const { return count_plan(plan_, &leaf_.extents); }

  /// means: into = from; from[r]: the value on replica r, at any strides. Counts, log and checks
  ///        are those of any plan
  void run(local_value const* from, target const& into, call_site site = {});

 private:
  step leaf_;
  edge no_edges_{};
  transfer across_;
  root result_{};
  action actions_[2];
  level at_ = level::element;
  plan_view plan_{{&leaf_, 1},   {&no_edges_, 0}, {&across_, 0},
                  {&result_, 1}, {actions_, 0},   {&at_, 1}};
  bool possible_ = false;
};

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::internal

LOCUS_LEAN_END

#if LOCUS_HAS_BODIES
#include <locus/run/bodies/crossing.hpp>  // bodies of the functions above
#endif
