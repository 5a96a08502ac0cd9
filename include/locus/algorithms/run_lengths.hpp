// SPDX-License-Identifier: Apache-2.0
// run_lengths, unique: runs of equal elements of a list. A program includes this header by name;
// <locus/locus.hpp> does not.
#pragma once
#include <utility>  // forward

#include <locus/algorithms/runs_op.hpp>  // runs_op
#include <locus/algorithms/sort.hpp>     // sort
#include <locus/algorithms/trim.hpp>     // trim
#include <locus/core/macros.hpp>         // LOCUS_MODE
#include <locus/ops/call.hpp>            // call

namespace locus {
inline namespace LOCUS_MODE {

/// means: auto [values, lengths, count] = run_lengths(x): the first element of each run of equal
///        elements of the list x, and the length of the run, then zeros; and the number of runs.
///        -0.0 equals 0.0, and NaN equals NaN. auto [values, lengths] = trim(run_lengths(x)) waits
///        for the number, and has no zeros behind the runs. Of two calls on operands of one type in one
///        plan, one operand needs a name: run_lengths(named<"x">(x))
/// shape: values, lengths: that of x, for the worst case; count: rank 0     units: lengths, count: int64
/// device: as x, which is whole; pieces do not compile
/// cost:  one launch; no fusion. The host reads x once for each result that a step reads; a GPU selects
///        the numbers of first elements
/// fails: at compile time, for pieces and for an operand that is no list; on a GPU shape_error for
///        2^31 - 1 elements or more
/// after: CUB's run-length encoding; no derivative
template <tensor_operand X>
constexpr auto run_lengths(X&& x) {
  constexpr bool is_list = expression_of_t<X>::pattern.rank == 1;
  static_assert(is_list, "locus: run_lengths and unique take one list of elements; write "
                         "unique(reshape<n>(x))");
  if constexpr (is_list) return call(algorithms::runs_op{}, std::forward<X>(x));
}

/// means: auto [values, counts, number] = unique(x): the different elements of the list x in rising order
///        and how often each stands in x, then zeros; and their number: run_lengths(sort<0>(x)).
///        Zeros of both signs are one value, -0.0 if there is one, and all NaNs are one, the last
/// shape, device, fails: as run_lengths and sort     cost: a sort, and a run_lengths
/// after: NumPy's unique with return_counts; no derivative
template <tensor_operand X>
constexpr auto unique(X&& x) {
  if constexpr (expression_of_t<X>::pattern.rank == 1)
    return run_lengths(sort<0>(std::forward<X>(x)));
  else
    return run_lengths(std::forward<X>(x));
}

}  // namespace LOCUS_MODE
}  // namespace locus
