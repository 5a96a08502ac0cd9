// SPDX-License-Identifier: Apache-2.0
// What each library of the program tells about itself.
#pragma once
#include <cstdint>

/// What one shared library sees of the process' state, and what it did.
struct part_facts {
  void const *table, *counters, *kernels, *machine, *threads;
  double sum;               // of 1 + 2 + ... + 8, computed on /GPU:0
  std::int64_t held_bytes;  // of a tensor that lives until drop
};
/// The functions of one library.
struct part {
  char const* name;
  void (*report)(part_facts*);
  void (*drop)();
  void (*misuse)();  // throws locus::bad_access
};
/// The libraries that the program is linked with, if it is.
extern part const* const linked_parts;
extern int const linked_part_count;
