// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that runtime/variables.hpp declares.
#pragma once
#include <cstdlib>  // strtol

#include <locus/core/environment.hpp>   // from_environment
#include <locus/core/error.hpp>         // configuration_error
#include <locus/core/macros.hpp>        // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/core/printable.hpp>     // shown
#include <locus/runtime/variables.hpp>  // the declarations
#include <locus/simd/instructions.hpp>  // instructions_now

LOCUS_COLD_BEGIN

namespace locus::runtime {

LOCUS_FUNCTION int number_from_environment(char const* variable, int low, int high, int otherwise) {
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

LOCUS_FUNCTION int word_from_environment(char const* variable, std::string_view first,
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

LOCUS_FUNCTION bool is_switched_on(char const* variable) {
  char const* const v = from_environment(variable);
  return v && v[0] == '1' && v[1] == '\0';
}

LOCUS_FUNCTION char const* cudnn_said() {
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

LOCUS_FUNCTION void require_variables() {
  word_from_environment("LOCUS_QUIET", "0", "1");
  word_from_environment("LOCUS_LOG_ALLOCATIONS", "0", "1");
  threads_said(), pool_or_openmp(), blas_or_own(), own_or_fftw(), peer_copies_said(), ranges_said(),
      checks_ranks(), overlap_said(), mpi_memory_said();
  cudnn_said();
  simd::instructions_now();
}

}  // namespace locus::runtime

LOCUS_COLD_END
