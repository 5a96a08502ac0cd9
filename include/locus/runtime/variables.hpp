// SPDX-License-Identifier: Apache-2.0
// Variables of the environment whose values are numbers or words: each is read in one place, and all
// are looked at when devices are first used, so that nothing is refused in the middle of a program.
#pragma once
#include <string_view>  // string_view

#include <locus/core/macros.hpp>  // LOCUS_COLD_BEGIN, LOCUS_FUNCTION

LOCUS_COLD_BEGIN

namespace locus::runtime {

/// means: a number that an environment variable gives; `otherwise` where it is not set or empty
/// fails: configuration_error, naming variable and value, for anything but a number in [low, high]
LOCUS_FUNCTION int number_from_environment(char const* variable, int low, int high, int otherwise);
/// means: which of two words an environment variable gives: 0 or 1; -1 where it is not set or empty
/// fails: configuration_error, naming variable, value and both words, for anything else
LOCUS_FUNCTION int word_from_environment(char const* variable, std::string_view first,
                                         std::string_view second);
/// means: the variable is 1: for those that are asked where nothing can be refused
LOCUS_FUNCTION bool is_switched_on(char const* variable);

// The value of each variable; -1, 0 or null: not set. fails: configuration_error
inline int threads_said() { return number_from_environment("LOCUS_NUM_THREADS", 0, 1 << 16, 0); }
inline int pool_or_openmp() { return word_from_environment("LOCUS_THREADS", "pool", "openmp"); }
inline int blas_or_own() { return word_from_environment("LOCUS_MATMUL", "blas", "own"); }
inline int peer_copies_said() { return number_from_environment("LOCUS_PEER_COPIES", 0, 1, 1); }
/// off, or a library
LOCUS_FUNCTION char const* cudnn_said();
inline int ranges_said() { return number_from_environment("LOCUS_NVTX", 0, 1, 0); }

/// fails: configuration_error, for the first variable that says what nobody understands
LOCUS_FUNCTION void require_variables();

}  // namespace locus::runtime

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/runtime/bodies/variables.hpp>  // bodies of the functions above
#endif
