// SPDX-License-Identifier: Apache-2.0
// Pass 1 again when the program runs: the extents that the type left open. The rules are those of
// shape/shape.hpp, which the nodes applied to the static ones.
#pragma once
#include <locus/core/macros.hpp>  // LOCUS_LEAN_BEGIN, LOCUS_FUNCTION
#include <locus/plan/data.hpp>    // plan_view
#include <locus/shape/range.hpp>  // range

LOCUS_LEAN_BEGIN

namespace locus {

namespace detail {

/// means: the extents of step i from those of its operands; no_shape where they do not fit
LOCUS_FUNCTION shape inferred(plan_view const& p, short i, shape const* extents,
                              void const** objects);

/// means: a map's operand that has the extents of all others, but for scalars; -1: there is none
LOCUS_FUNCTION short like_all_operands(plan_view const& p, step const& s, shape const* extents);
/// the axes that there are: a copy of all eight waits for each that was just written
LOCUS_FUNCTION void copy_extents(shape& to, shape const& from);

[[noreturn]] LOCUS_FUNCTION void refuse_size(step const& s, short i, shape const& extents);
[[noreturn]] LOCUS_FUNCTION void refuse_range(step const& s, short i, shape const& from,
                                              range const* ranges);
[[noreturn]] LOCUS_FUNCTION void refuse_shapes(plan_view const& p, short i, shape const* extents,
                                               void const** objects);

}  // namespace detail

/// means: extents[i] of every step, from those of leaves and generators
/// fails: shape_error naming operation, step and both shapes; also for max, min and argmax of
///        nothing
LOCUS_FUNCTION void infer_extents(plan_view const& p, shape* extents, void const** objects);

/// fails: shape_error for an extremum over no elements
LOCUS_FUNCTION void require_elements(plan_view const& p, shape const* extents);

}  // namespace locus

LOCUS_LEAN_END

#if LOCUS_HAS_BODIES
#include <locus/plan/bodies/infer.hpp>  // bodies of the functions above
#endif
