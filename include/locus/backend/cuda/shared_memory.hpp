// SPDX-License-Identifier: Apache-2.0
// Shared memory of a thread block, at most the size that every card allows.
#pragma once
#include <locus/core/compiler.hpp>  // C++20, 64 bits, exceptions

namespace locus::cuda_side {

/// fails: at compile time, with a text; the assembler would only print a number
template <class T, unsigned Size>
struct shared_memory {
  static_assert(
      sizeof(T) * Size <= 49152,
      "locus: the threads of a block would share more than 49,152 bytes; fold fewer values in one "
      "statement, or give a call's team smaller totals");
  T of[Size];
};

}  // namespace locus::cuda_side
