// SPDX-License-Identifier: Apache-2.0
// accuracy [step [doubles [name]]]: units in the last place by which the vector functions miss, over
// every step-th float of all 2^32 (1: every one) and that many doubles of all exponents; functions of
// two: over that many pairs of floats, and of doubles.
// Build: g++ -std=c++20 -O2 -march=native -Iinclude -Itest/unit/simd bench/accuracy.cpp
#include <cstdio>
#include <cstdlib>

#include "accuracy.hpp"

int main(int count, char** args) {
  std::uint64_t const step = count > 1 ? std::strtoull(args[1], nullptr, 10) : 1;
  long const doubles = count > 2 ? std::atol(args[2]) : 100000000;
  char const* const wanted = count > 3 ? args[3] : "";
  std::printf(
      "| function | float: worst ulp | at | double: worst ulp | at |\n|---|---|---|---|---|\n");
#define ACCURACY_ROW(name, range, allowed)                                                     \
  if (!*wanted || std::strcmp(wanted, #name) == 0) {                                           \
    accuracy::worst<float> f;                                                                  \
    for (std::uint64_t first = 0; step && first < 16; ++first)                                 \
      if (auto const w = accuracy::over_floats<locus::simd::vector_##name>(                    \
              accuracy::right<double>::of_##name, 16 * step, first * step);                    \
          w.units > f.units)                                                                   \
        f = w;                                                                                 \
    auto const d = accuracy::over_doubles<locus::simd::vector_##name>(                         \
        accuracy::right<long double>::of_##name, doubles, range);                              \
    std::printf("| %s | %.3f | %a | %.3f | %a |\n", #name, f.units, static_cast<double>(f.at), \
                d.units, d.at);                                                                \
    std::fflush(stdout);                                                                       \
  }
  ACCURACY_FUNCTIONS(ACCURACY_ROW)
#define ACCURACY_ROW_OF_TWO(name, range, allowed)                                        \
  if (!*wanted || std::strcmp(wanted, #name) == 0) {                                     \
    auto const f = accuracy::over_pairs<locus::simd::vector_##name, float>(              \
        accuracy::right<double>::of_##name, doubles, range);                             \
    auto const d = accuracy::over_pairs<locus::simd::vector_##name, double>(             \
        accuracy::right<long double>::of_##name, doubles, range);                        \
    std::printf("| %s | %.3f | %a, %a | %.3f | %a, %a |\n", #name, f.units,              \
                static_cast<double>(f.at), static_cast<double>(f.and_at), d.units, d.at, \
                d.and_at);                                                               \
    std::fflush(stdout);                                                                 \
  }
  ACCURACY_FUNCTIONS_OF_TWO(ACCURACY_ROW_OF_TWO)
}
