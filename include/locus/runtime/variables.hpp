// SPDX-License-Identifier: Apache-2.0
// Variables of the environment whose values are numbers or words: each is read in one place, and all
// are looked at when devices are first used, so that nothing is refused in the middle of a program.
#pragma once
#include <cstdlib>      // strtol
#include <string_view>  // string_view

#include <locus/core/config.hpp>        // LOCUS_COLD_BEGIN
#include <locus/core/environment.hpp>   // from_environment
#include <locus/core/error.hpp>         // configuration_error
#include <locus/core/printable.hpp>     // shown
#include <locus/simd/instructions.hpp>  // instructions_now

LOCUS_COLD_BEGIN

namespace locus::runtime {

/// means: a number that an environment variable gives; `otherwise` where it is not set or empty
/// fails: configuration_error, naming variable and value, for anything but a number in [low, high]
inline int number_from_environment(char const* variable, int low, int high, int otherwise) {
  char const* const v = from_environment(variable);
  if (!v || !*v) return otherwise;
  char* end = nullptr;
  long const n = std::strtol(v, &end, 10);
  if (*end == '\0' && n >= low && n <= high) return static_cast<int>(n);
  message text;
  throw configuration_error(text << "locus: " << std::string_view(variable) << " is \""
                                 << shown(v).view() << "\"; write a number from " << low << " to "
                                 << high);
}
/// means: which of two words an environment variable gives: 0 or 1; -1 where it is not set or empty
/// fails: configuration_error, naming variable, value and both words, for anything else
inline int word_from_environment(char const* variable, std::string_view first,
                                 std::string_view second) {
  char const* const v = from_environment(variable);
  std::string_view const word(v ? v : "");
  if (word.empty()) return -1;
  if (word == first) return 0;
  if (word == second) return 1;
  message text;
  throw configuration_error(text << "locus: " << std::string_view(variable) << " is \""
                                 << shown(word).view() << "\"; write " << first << " or "
                                 << second);
}
/// means: the variable is 1: for those that are asked where nothing can be refused
inline bool is_switched_on(char const* variable) {
  char const* const v = from_environment(variable);
  return v && v[0] == '1' && v[1] == '\0';
}

// The value of each variable; -1, 0 or null: not set. fails: configuration_error
inline int threads_said() { return number_from_environment("LOCUS_NUM_THREADS", 0, 1 << 16, 0); }
inline int pool_or_openmp() { return word_from_environment("LOCUS_THREADS", "pool", "openmp"); }
inline int blas_or_own() { return word_from_environment("LOCUS_MATMUL", "blas", "own"); }
inline int peer_copies_said() { return number_from_environment("LOCUS_PEER_COPIES", 0, 1, 1); }
/// off, or a library
inline char const* cudnn_said() {
  char const* const v = from_environment("LOCUS_CUDNN");
  std::string_view const word(v ? v : "");
  for (std::string_view const wrong : {"0", "1", "on", "none", "true", "false", "yes", "no"}) {
    if (word != wrong) continue;
    message text;
    throw configuration_error(text << "locus: LOCUS_CUDNN is \"" << wrong
                                   << "\"; write off or the path of a libcudnn.so.9, or unset it");
  }
  return word.empty() ? nullptr : v;
}
inline int ranges_said() { return number_from_environment("LOCUS_NVTX", 0, 1, 0); }

/// fails: configuration_error, for the first variable that says what nobody understands
inline void require_variables() {
  word_from_environment("LOCUS_QUIET", "0", "1");
  word_from_environment("LOCUS_LOG_ALLOCATIONS", "0", "1");
  threads_said(), pool_or_openmp(), blas_or_own(), peer_copies_said(), ranges_said();
  cudnn_said();
  simd::instructions_now();
}

}  // namespace locus::runtime

LOCUS_COLD_END
