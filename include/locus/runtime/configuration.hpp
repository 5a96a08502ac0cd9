// SPDX-License-Identifier: Apache-2.0
// The configuration of a program as a value, and the settings in it.
#pragma once
#include <cstdint>  // int64_t

#include <locus/core/error.hpp>       // configuration_error
#include <locus/core/macros.hpp>      // LOCUS_SHARED_STATE
#include <locus/core/value_list.hpp>  // value_list
#include <locus/device/device.hpp>    // max_ordinal

namespace locus {

/// The treatment of a step that reads a value from another device. silent: the value is copied;
/// warn: copied and logged; explicit_only: an error. (TensorFlow's silent_for_int32 is missing:
/// TensorFlow keeps 32-bit integers on the host beside GPU operations; in locus they are where
/// their type says.)
/// after: tf.config.experimental.set_device_policy
enum class copy_policy : unsigned char { silent, warn, explicit_only };

/// The precision of float matrix products on GPUs. highest: float; high: operands with tf32's 10
/// bits of fraction, added in float, several times as fast
/// after: torch.set_float32_matmul_precision,
///        tf.config.experimental.enable_tensor_float_32_execution
enum class matmul_precision : unsigned char { highest, high };

namespace config {
/// The options of one logical device of a card.
/// units: bytes; priority: that of CUDA streams, 0 lowest, negative is higher; ordinal: devices are
///        numbered in its order first
/// after: tf.config.LogicalDeviceConfiguration
struct logical_options {
  static constexpr std::int64_t no_limit = INT64_MIN;
  static constexpr int unset = INT32_MIN;
  std::int64_t memory_limit = no_limit;
  int priority = unset, ordinal = unset;
  friend constexpr bool operator==(logical_options const&, logical_options const&) = default;
};
}  // namespace config

namespace runtime {

inline constexpr int max_cards = 64;
inline constexpr int max_logical = max_ordinal + 1;

/// The request for one logical GPU.
struct logical_request : config::logical_options {
  short card = -1;
  friend constexpr bool operator==(logical_request const&, logical_request const&) = default;
};
using request_list = value_list<logical_request, max_logical>;

/// One bool for each card.
struct card_set {
  std::uint64_t bits = 0;
  constexpr bool has(int card) const { return (bits >> card & 1) != 0; }
  constexpr void put(int card, bool in) {
    bits = in ? bits | std::uint64_t(1) << card : bits & ~(std::uint64_t(1) << card);
  }
  friend constexpr bool operator==(card_set, card_set) = default;
};

/// means: all settings that are fixed at the first use of devices; equal values are no change
struct configuration {
  card_set visible{~std::uint64_t(0)};
  request_list divided;  // logical devices of divided cards, in card order
  int cpus = 1;          // logical CPUs
  card_set growth{~std::uint64_t(0)};
  double memory_fraction = 1;  // of each card, for devices without a limit
  copy_policy copies = copy_policy::silent;
  int inter_op_threads = 0;
  matmul_precision products = matmul_precision::highest;

  constexpr bool is_divided(int card) const {
    for (logical_request const& r : divided)
      if (r.card == card) return true;
    return false;
  }
  friend constexpr bool operator==(configuration const&, configuration const&) = default;
};
LOCUS_SHARED_STATE inline constinit configuration configured;
inline bool matmul_is_tf32() {
  matmul_precision now;
  __atomic_load(&configured.products, &now, __ATOMIC_RELAXED);
  return now == matmul_precision::high;
}

}  // namespace runtime
}  // namespace locus
