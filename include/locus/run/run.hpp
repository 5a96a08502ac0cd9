// SPDX-License-Identifier: Apache-2.0
// The run-time loop over a constant plan: memory first, then its actions in order. It contains no
// type of an expression, so it is the same code in every unit; it calls the kernels and folds of a
// graph through the pointers of its program.
#pragma once
#include <locus/core/macros.hpp>          // LOCUS_RUN_MODE, LOCUS_LEAN_BEGIN, LOCUS_FUNCTION
#include <locus/run/foresee.hpp>          // foresee_transfers
#include <locus/run/implicit_copies.hpp>  // apply_copy_policy
#include <locus/run/issue.hpp>            // move_value
#include <locus/run/lay_out.hpp>          // lay_out_arrivals
#include <locus/run/reduce.hpp>           // foresee_terms, reduce_apart, reduce_bucket
#if LOCUS_CUDA_KERNELS
#include <locus/engine/gpu/call_teams.hpp>    // the teams of the unit
#include <locus/engine/gpu/card_context.hpp>  // bodies for cards
#include <locus/engine/gpu/kernels.hpp>  // common_kernels, which a compiled run time finds by name
#endif

LOCUS_LEAN_BEGIN

namespace locus::detail {
inline namespace LOCUS_RUN_MODE {

/// means: one run of a plan, from its bound leaves to its results
LOCUS_FUNCTION void run_plan(program const& code, run_arrays const& arrays, target const* targets,
                             run_watch const& seen);

// a program names these tables if its plan has transfers or reductions
inline constexpr crossing_code crossings{apply_copy_policy, lay_out_arrivals, foresee_transfers,
                                         move_value};
inline constexpr reduction_code reductions{foresee_terms, reduce_apart, reduce_bucket};

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::detail

LOCUS_LEAN_END

#if LOCUS_HAS_BODIES
#include <locus/run/bodies/run.hpp>  // bodies of the functions above
#endif
