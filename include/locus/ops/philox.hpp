// SPDX-License-Identifier: Apache-2.0
// Philox-4x32-10: random numbers as a pure function of key and counter, on every device.
#pragma once
#include <cstdint>  // uint32_t

#include <locus/core/macros.hpp>         // LOCUS_HOST_DEVICE
#include <locus/core/upper_product.hpp>  // upper_product

namespace locus {

struct philox_block {
  std::uint32_t word[4];
};

/// means: four random words from a 128-bit counter and a 64-bit key
/// after: Salmon, Moraes, Dror, Shaw, Parallel random numbers: as easy as 1, 2, 3 (SC 2011)
LOCUS_HOST_DEVICE constexpr philox_block philox(philox_block counter, std::uint32_t key0,
                                                std::uint32_t key1, int rounds = 10) {
  for (int round = 0; round < rounds; ++round) {
    std::uint32_t const a = counter.word[0], b = counter.word[2];
    counter = {{internal::upper_product(b, 0xCD9E8D57u) ^ counter.word[1] ^ key0, b * 0xCD9E8D57u,
                internal::upper_product(a, 0xD2511F53u) ^ counter.word[3] ^ key1, a * 0xD2511F53u}};
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return counter;
}

/// means: block n of the stream of that seed: philox({n, n / 2^32, 0, 0}). The first round is
///        written out with one product, since the other factor is 0. (nvcc keeps the upper half of
///        a product with 0.)
LOCUS_HOST_DEVICE constexpr philox_block random_block(std::uint64_t seed, std::int64_t n) {
  auto const low = static_cast<std::uint32_t>(n), high = static_cast<std::uint32_t>(n >> 32),
             key0 = static_cast<std::uint32_t>(seed), key1 = static_cast<std::uint32_t>(seed >> 32);
  return philox(
      {{high ^ key0, 0, internal::upper_product(low, 0xD2511F53u) ^ key1, low * 0xD2511F53u}},
      key0 + 0x9E3779B9u, key1 + 0xBB67AE85u, 9);
}

/// means: 64 random bits for element i of the stream of that seed; two elements share a block
LOCUS_HOST_DEVICE constexpr std::uint64_t random_bits(std::uint64_t seed, std::int64_t i) {
  philox_block const block = random_block(seed, i >> 1);
  bool const second = (i & 1) != 0;
  return std::uint64_t(block.word[second ? 2 : 0]) << 32 | block.word[second ? 3 : 1];
}

/// means: 32 random bits for element i of the stream of that seed; four elements share a block
LOCUS_HOST_DEVICE constexpr std::uint32_t random_word(std::uint64_t seed, std::int64_t i) {
  philox_block const block = random_block(seed, i >> 2);
  // the word is chosen by conditions, not by an index, which would put the block into memory of a
  // kernel
  std::uint32_t const of_first_two = (i & 1) != 0 ? block.word[1] : block.word[0],
                      of_last_two = (i & 1) != 0 ? block.word[3] : block.word[2];
  return (i & 2) != 0 ? of_last_two : of_first_two;
}

}  // namespace locus
