// SPDX-License-Identifier: Apache-2.0
// Peer access between cards: asked for, enabled and tested once for each pair of cards that a copy
// needs. Other pairs are not enabled: a card has few peer mappings, and NCCL needs some.
#pragma once

#include <locus/core/macros.hpp>           // LOCUS_SHARED_STATE, LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/runtime/device_table.hpp>  // logical_device

LOCUS_COLD_BEGIN

namespace locus::runtime {

using peer_path = unsigned char;  // not an enum: atomic builtins read and write it
inline constexpr peer_path peer_untried = 0, peer_direct = 1, peer_staged = 2;

/// means: the path of copies between each two cards; one table for each process
struct peer_table {
  static constexpr int most_peers = 8;  // peer mappings that the driver allows for a card
  mutex lock;
  peer_path of[max_logical][max_logical]{};  // [target card][source card]
  short enabled[max_logical]{};
  bool said = false;
  int patience = 10000;  // milliseconds that the test copy of a pair may take
};
LOCUS_SHARED_STATE inline constinit peer_table peers;

LOCUS_FUNCTION void forget_peers();

/// Thrown when CUDA refuses a copy between two cards: later copies of the pair go through the host.
struct peer_refused {};

namespace detail {
/// means: copies of the pair go through the host from now on; logs the reason
[[gnu::cold]] LOCUS_FUNCTION void refuse_peer(logical_device const& to, logical_device const& from,
                                              std::string_view why, bool broken);

/// A stream, an event and memory on a card, for the test copy of a pair.
class trial_side {
 public:
  static constexpr std::size_t bytes = 4096;
  explicit trial_side(logical_device& d);
  trial_side(trial_side const&) = delete;
  ~trial_side() { close(); }
  void fill(void const* host);
  /// leaks them: freeing them would wait for a copy that never ends
  void abandon() { data = event = stream = nullptr; }
  void *stream = nullptr, *event = nullptr, *data = nullptr;

 private:
  void close() noexcept;
  logical_device& on_;
};

/// means: tests a copy between two cards that report peer access; returns the fault, or an empty
///        text. With some PCIe bridges copies never end or bring wrong bytes.
/// cost:  the host waits for the copy, once for each pair
LOCUS_FUNCTION std::string_view try_peer(logical_device& to, logical_device& from);

[[gnu::cold]] LOCUS_FUNCTION void find_peer(logical_device& to, logical_device& from);
}  // namespace detail

/// means: true: copies between the two devices need no host memory
/// cost:  an index; for a new pair of cards the host waits for a test copy
LOCUS_FUNCTION bool cuda_reaches(logical_device& to, logical_device& from);

}  // namespace locus::runtime

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/backend/cuda/bodies/peers.hpp>  // bodies of the functions above
#endif
