// SPDX-License-Identifier: Apache-2.0
// Environment variables with numbers or words as values. Each is read in one place; all are checked
// when devices are first used, so that no error appears in the middle of a program.
#pragma once
#include <string_view>  // string_view

#include <locus/core/macros.hpp>  // LOCUS_COLD_BEGIN, LOCUS_FUNCTION

LOCUS_COLD_BEGIN

namespace locus::runtime {

/// means: the number in an environment variable; `otherwise` if it is not set or empty
/// fails: configuration_error, naming variable and value, for anything but a number in [low, high]
LOCUS_FUNCTION int number_from_environment(char const* variable, int low, int high, int otherwise);
/// means: which of two words an environment variable has: 0 or 1; -1 if it is not set or empty
/// fails: configuration_error, naming variable, value and both words, for anything else
LOCUS_FUNCTION int word_from_environment(char const* variable, std::string_view first,
                                         std::string_view second);
/// means: the variable is 1: for code that cannot throw
LOCUS_FUNCTION bool is_switched_on(char const* variable);

// The value of each variable; its default if it is not set. fails: configuration_error
inline int threads_said() { return number_from_environment("LOCUS_NUM_THREADS", 0, 1 << 16, 0); }
inline int pool_or_openmp() { return word_from_environment("LOCUS_THREADS", "pool", "openmp"); }
inline int blas_or_own() { return word_from_environment("LOCUS_MATMUL", "blas", "own"); }
inline int own_or_fftw() { return word_from_environment("LOCUS_FFT", "own", "fftw"); }
inline int peer_copies_said() { return number_from_environment("LOCUS_PEER_COPIES", 0, 1, 1); }
/// "off", or the path of a library
LOCUS_FUNCTION char const* cudnn_said();
inline bool checks_ranks() { return number_from_environment("LOCUS_CHECK_RANKS", 0, 1, 1) == 1; }
/// 0 or 1; -1: the rank decides
inline int overlap_said() { return number_from_environment("LOCUS_OVERLAP_RANKS", 0, 1, -1); }
/// -1: MPI says itself whether it takes the memory of GPUs
inline int mpi_memory_said() { return number_from_environment("LOCUS_MPI_GPU_MEMORY", 0, 1, -1); }
inline int ranges_said() { return number_from_environment("LOCUS_NVTX", 0, 1, 0); }

/// fails: configuration_error, for the first variable with an invalid value
LOCUS_FUNCTION void require_variables();

}  // namespace locus::runtime

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/runtime/bodies/variables.hpp>  // bodies of the functions above
#endif
