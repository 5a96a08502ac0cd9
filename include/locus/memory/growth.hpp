// SPDX-License-Identifier: Apache-2.0
// The environment variables for memory growth of GPUs.
#pragma once
#include <locus/core/macros.hpp>  // LOCUS_COLD_BEGIN, LOCUS_FUNCTION

LOCUS_COLD_BEGIN

namespace locus::runtime {

namespace detail {
/// value of the variable: true 1, false 0, any other text 2, not set -1
LOCUS_FUNCTION int read_growth(char const* variable);
}  // namespace detail

/// means: a number that changes with the variables. A device table that was made, but not yet used,
///        is rebuilt when it changes.
LOCUS_FUNCTION int growth_variables();
/// means: LOCUS_FORCE_GPU_ALLOW_GROWTH, else TF_FORCE_GPU_ALLOW_GROWTH: 1 true, 0 false, -1 not set
/// fails: configuration_error, if the variable of locus is neither true nor false. Such a value of
///        TensorFlow's variable is ignored with a warning, as TensorFlow does
LOCUS_FUNCTION int forced_growth();

}  // namespace locus::runtime

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/memory/bodies/growth.hpp>  // bodies of the functions above
#endif
