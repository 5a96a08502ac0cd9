// SPDX-License-Identifier: Apache-2.0
// The environment variables that decide whether memory of GPUs grows.
#pragma once
#include <locus/core/macros.hpp>  // LOCUS_COLD_BEGIN, LOCUS_FUNCTION

LOCUS_COLD_BEGIN

namespace locus::runtime {

namespace detail {
/// true 1, false 0, something else 2, not set -1
LOCUS_FUNCTION int read_growth(char const* variable);
}  // namespace detail

/// means: a number that changes when the variables do: a table of devices that was made before its first
///        use is made anew then
LOCUS_FUNCTION int growth_variables();
/// means: LOCUS_FORCE_GPU_ALLOW_GROWTH, else TF_FORCE_GPU_ALLOW_GROWTH: 1 true, 0 false, -1 not set
/// fails: configuration_error, where ours is neither; TensorFlow's is ignored then, as there, and
///        that is said
LOCUS_FUNCTION int forced_growth();

}  // namespace locus::runtime

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/memory/bodies/growth.hpp>  // bodies of the functions above
#endif
