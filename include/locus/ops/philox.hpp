// SPDX-License-Identifier: Apache-2.0
// Philox-4x32-10: random numbers as a pure function of key and counter, on every device.
#pragma once
#include <cstdint>  // uint32_t

#include <locus/core/config.hpp>  // LOCUS_HOST_DEVICE

namespace locus {

struct philox_block {
  std::uint32_t word[4];
};

/// means: four random words from a 128-bit counter and a 64-bit key
/// after: Salmon, Moraes, Dror, Shaw, Parallel random numbers: as easy as 1, 2, 3 (SC 2011)
LOCUS_HOST_DEVICE constexpr philox_block philox(philox_block counter, std::uint32_t key0,
                                                std::uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    std::uint64_t const a = std::uint64_t(0xD2511F53u) * counter.word[0];
    std::uint64_t const b = std::uint64_t(0xCD9E8D57u) * counter.word[2];
    counter = {{static_cast<std::uint32_t>(b >> 32) ^ counter.word[1] ^ key0,
                static_cast<std::uint32_t>(b),
                static_cast<std::uint32_t>(a >> 32) ^ counter.word[3] ^ key1,
                static_cast<std::uint32_t>(a)}};
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return counter;
}

/// means: 64 random bits for element i of the stream that the seed names
LOCUS_HOST_DEVICE constexpr std::uint64_t random_bits(std::uint64_t seed, std::int64_t i) {
  auto const n = static_cast<std::uint64_t>(i) / 2;
  philox_block const block =
      philox({{static_cast<std::uint32_t>(n), static_cast<std::uint32_t>(n >> 32), 0, 0}},
             static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32));
  bool const second = (i & 1) != 0;
  return std::uint64_t(block.word[second ? 2 : 0]) << 32 | block.word[second ? 3 : 1];
}

}  // namespace locus
