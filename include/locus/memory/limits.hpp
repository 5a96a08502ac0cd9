// SPDX-License-Identifier: Apache-2.0
// Checks the memory limits of a card's logical GPUs against the size of the card.
#pragma once
#include <cstdint>  // int64_t

#include <locus/core/error.hpp>             // configuration_error
#include <locus/core/macros.hpp>            // LOCUS_COLD_BEGIN
#include <locus/runtime/configuration.hpp>  // request_list

LOCUS_COLD_BEGIN

namespace locus::runtime {

/// means: an estimate of the bytes that NCCL allocates on a card for communicators of `cards`
///        cards; locus does not count them. It is computed, not measured: at most 32 channels;
///        buffers in each channel for each neighbour of the card in a ring, at most two; buffers of
///        three protocols: 4 MiB, 120 * 640 * 8 * 8 bytes, 8 * 512 * 8 * 16 bytes
/// after: computeBuffSizes in NCCL's init.cc
constexpr std::int64_t room_for_nccl(int cards) {
  constexpr std::int64_t buffers = (4 << 20) + 120 * 640 * 8 * 8 + 8 * 512 * 8 * 16, channels = 32;
  return cards < 2 ? 0 : channels * (cards == 2 ? 1 : 2) * buffers;
}

/// fails: configuration_error, if the limits of a card add up to more than its memory
/// after: TensorFlow has no such check: there, the second device fails at its first allocation
inline void require_limits_fit(request_list const& requests, int card, std::int64_t total) {
  std::int64_t sum = 0;
  int count = 0;
  for (logical_request const& r : requests)
    if (r.card == card && r.memory_limit != r.no_limit) {
      ++count;
      if (__builtin_add_overflow(sum, r.memory_limit, &sum)) sum = INT64_MAX;
    }
  if (count == 0 || sum <= total) return;
  message text;
  throw configuration_error(text << "locus: the memory limits of the " << count
                                 << " logical devices of /physical_device:GPU:" << card
                                 << " add up to " << sum << " bytes, the card has " << total
                                 << "; ask for less");
}

}  // namespace locus::runtime

LOCUS_COLD_END
