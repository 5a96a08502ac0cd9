// SPDX-License-Identifier: Apache-2.0
// Pass 1 at run time: the dynamic extents of all steps. The rules are those of shape/shape.hpp,
// which nodes apply to static extents at compile time.
#pragma once
#include <locus/core/macros.hpp>  // LOCUS_LEAN_BEGIN, LOCUS_FUNCTION
#include <locus/plan/data.hpp>    // plan_view
#include <locus/shape/range.hpp>  // range

LOCUS_LEAN_BEGIN

namespace locus {

namespace detail {

/// means: to = the extents of a slice, which has no more elements than its operand; false: a range
///        does not fit
LOCUS_FUNCTION bool slice_extents(step const& s, shape const& from, range const* ranges, shape& to);
/// means: the extents of step i from those of its operands; no_shape where they do not fit
LOCUS_FUNCTION shape inferred(plan_view const& p, short i, shape const* extents,
                              void const** objects);

/// means: a map's operand that has the extents of all others, scalars aside; -1: none
LOCUS_FUNCTION short like_all_operands(plan_view const& p, step const& s, shape const* extents);
/// copies only `rank` extents: a copy of all would wait for the stores of those just written
LOCUS_FUNCTION void copy_extents(shape& to, shape const& from);

[[noreturn]] LOCUS_FUNCTION void refuse_size(step const& s, short i, shape const& extents);
[[noreturn]] LOCUS_FUNCTION void refuse_range(step const& s, short i, shape const& from,
                                              range const* ranges);
[[noreturn]] LOCUS_FUNCTION void refuse_shapes(plan_view const& p, short i, shape const* extents,
                                               void const** objects);

}  // namespace detail

/// means: sets extents[i] of every step from those of leaves and generators
/// fails: shape_error naming operation, step and both shapes; also for max, min and argmax over no
///        element
LOCUS_FUNCTION void infer_extents(plan_view const& p, shape* extents, void const** objects);

/// fails: shape_error for max, min or argmax over no element
LOCUS_FUNCTION void require_elements(plan_view const& p, shape const* extents);

}  // namespace locus

LOCUS_LEAN_END

#if LOCUS_HAS_BODIES
#include <locus/plan/bodies/infer.hpp>  // bodies of the functions above
#endif
