// SPDX-License-Identifier: Apache-2.0
// The cards that this process sees. Finding them makes no context on any card.
#pragma once
#include <locus/core/macros.hpp>            // LOCUS_SHARED_STATE, LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/runtime/configuration.hpp>  // max_cards
#include <locus/runtime/cuda_api.hpp>       // cuda_device_facts
#include <locus/runtime/device_table.hpp>   // backing, absence

LOCUS_COLD_BEGIN

namespace locus::runtime {

enum : int {
  cuda_success = 0,
  cuda_out_of_memory = 2,
  cuda_old_driver = 35,
  cuda_card_taken = 46,
  cuda_no_device = 100,
  cuda_not_ready = 802,
  cuda_driver_mismatch = 803,
};

inline constexpr int max_simulated = 16;

/// Options of simulated GPUs.
struct simulated_options {
  std::int64_t memory_limit = INT64_MAX;  // bytes of each GPU
  std::uint64_t seed = 1;
  int cards = 0;      // 0: one for each GPU; fewer: GPUs share cards, if no card is divided
  bool peers = true;  // copies between cards need no host memory; false: they go through the host
};

/// The source of cards.
struct card_source {
  enum kind_type : unsigned char {
    found,      // LOCUS_SIMULATED_GPUS if set, else CUDA, else none
    simulated,  // by testing::simulated_gpus
    recorded,   // by testing::recorder
  } kind = found;
  int count = 0;  // simulated GPUs
  simulated_options options{};
};
LOCUS_SHARED_STATE inline constinit card_source cards_from;

/// means: the cards of the source     cost: found once, and again after the source has changed
struct physical_devices {
  bool known = false;
  backing how = backing::host;
  absence why_none = absence::built_without_cuda;
  int count = 0;    // cards
  int logical = 0;  // simulated GPUs, if no card is divided
  simulated_options simulated{};
  int driver = 0, toolkit = 0;  // CUDA's versions
  bool has_cards() const { return how == backing::cuda; }
  cuda_device_facts cards[max_cards]{};
  bool answers[max_cards]{};  // the driver answered the query for this card's facts
};
LOCUS_SHARED_STATE inline constinit physical_devices physical;

namespace detail {
LOCUS_FUNCTION std::int64_t times(std::int64_t a, int b);
LOCUS_FUNCTION void find_simulated(physical_devices& p, int count,
                                   simulated_options const& options);
/// means: sets the cards that CUDA shows, or the reason that there are none
LOCUS_FUNCTION void find_cuda(physical_devices& p);
}  // namespace detail

/// means: the cards; the caller holds table.lock     fails: configuration_error, for a malformed
///        variable
LOCUS_FUNCTION physical_devices& find_physical();

/// means: one request for each logical GPU, in their order: a visible card that is divided gives
///        one request for each part, any other visible card gives one
LOCUS_FUNCTION request_list lay_out(physical_devices const& p, configuration const& c);

}  // namespace locus::runtime

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/machine/bodies/physical.hpp>  // bodies of the functions above
#endif
