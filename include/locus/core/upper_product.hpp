// SPDX-License-Identifier: Apache-2.0
// The upper half of a product of two words.
#pragma once
#include <cstdint>  // uint32_t

#include <locus/core/macros.hpp>  // LOCUS_HOST_DEVICE

namespace locus::internal {

/// means: a * b / 2^32. In the host's form a GPU would compute a product of 64 bits
LOCUS_HOST_DEVICE constexpr std::uint32_t upper_product(std::uint32_t a, std::uint32_t b) {
#if defined(__CUDA_ARCH__)
  if (!__builtin_is_constant_evaluated()) return __umulhi(a, b);
#endif
  return static_cast<std::uint32_t>(std::uint64_t(a) * b >> 32);
}

}  // namespace locus::internal
