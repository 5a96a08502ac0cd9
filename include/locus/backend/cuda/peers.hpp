// SPDX-License-Identifier: Apache-2.0
// Which cards reach each other's memory: asked, enabled and tried once for each pair that is used.
// Not every pair: a card has few peer mappings, and NCCL needs some too.
#pragma once

#include <locus/core/macros.hpp>           // LOCUS_SHARED_STATE, LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/runtime/device_table.hpp>  // logical_device

LOCUS_COLD_BEGIN

namespace locus::runtime {

using peer_path = unsigned char;  // an integer: it is read and written atomically
inline constexpr peer_path peer_untried = 0, peer_direct = 1, peer_staged = 2;

/// means: how copies come to a card from another; one for the process
struct peer_table {
  static constexpr int most_peers = 8;  // that the driver maps for a card
  mutex lock;
  peer_path of[max_logical][max_logical]{};  // [card that copies][card it reads]
  short enabled[max_logical]{};
  bool said = false;
  int patience = 10000;  // milliseconds that a trial copy may take
};
LOCUS_SHARED_STATE inline constinit peer_table peers;

LOCUS_FUNCTION void forget_peers();

/// A copy that a card refused: it goes by way of the host from now on.
struct peer_refused {};

namespace detail {
/// means: remembers that copies between two cards go by way of the host, and says why
[[gnu::cold]] LOCUS_FUNCTION void refuse_peer(logical_device const& to, logical_device const& from,
                                              std::string_view why, bool broken);

/// A stream, memory and an event of a card, for the trial of a pair.
class trial_side {
 public:
  static constexpr std::size_t bytes = 4096;
  explicit trial_side(logical_device& d);
  trial_side(trial_side const&) = delete;
  ~trial_side() { close(); }
  void fill(void const* host);
  /// a copy is frozen: giving its memory back would wait for it
  void abandon() { data = event = stream = nullptr; }
  void *stream = nullptr, *event = nullptr, *data = nullptr;

 private:
  void close() noexcept;
  logical_device& on_;
};

/// means: nothing, or what is wrong with copies between two cards that say they are peers. Behind
///        some bridges they freeze or bring garbage.
/// cost:  the host waits; once for each pair
LOCUS_FUNCTION std::string_view try_peer(logical_device& to, logical_device& from);

[[gnu::cold]] LOCUS_FUNCTION void find_peer(logical_device& to, logical_device& from);
}  // namespace detail

/// means: a copy from one device to the other needs no way by the host
/// cost:  an index; the first time for a pair of cards the host waits for a trial
LOCUS_FUNCTION bool cuda_reaches(logical_device& to, logical_device& from);

}  // namespace locus::runtime

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/backend/cuda/bodies/peers.hpp>  // bodies of the functions above
#endif
