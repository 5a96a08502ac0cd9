// SPDX-License-Identifier: Apache-2.0
// Sorts on a GPU, as data, with loops on the host for a recorder.
#pragma once
#include <locus/engine/gpu/algorithm.hpp>  // algorithm_size
#include <locus/engine/gpu/key_order.hpp>  // order_of_keys

namespace locus::cuda_side {
inline namespace LOCUS_MODE {

/// means: sorted = the keys in rising order; every NaN becomes one quiet NaN
/// shape: keys (n), sorted (n): no overlap
/// cost:  workspace of n keys, 2 n for floats; a pass for each 8 bits
/// after: CUB's onesweep radix sort
template <class Key>
struct sort_keys {
  static constexpr char const* name = "cub::DeviceRadixSort::SortKeys";
  std::int64_t n;
  Key const* keys;
  Key* sorted;

  algorithm_size size() const { return {n, 0}; }
  void host() const {
    std::int64_t to = 0;
    for (std::int64_t const i : order_of_keys(keys, n))
      sorted[to++] = key_order<Key>::key(key_order<Key>::of(keys[i]));
  }
};

/// means: sorts the keys by their lowest `bits` bits, and the values with them; equal keys keep
///        their order
/// shape: keys, values, sorted_keys, sorted_values (n): no overlap
/// cost:  workspace of n keys and n values, for floats n keys more; floats are sorted by all bits
template <class Key, class Value>
struct sort_pairs {
  static constexpr char const* name = "cub::DeviceRadixSort::SortPairs";
  std::int64_t n;
  Key const* keys;
  Value const* values;
  Key* sorted_keys;
  Value* sorted_values;
  int bits = 8 * int(sizeof(Key));  // fewer bits only for integer keys >= 0

  algorithm_size size() const { return {n, bits}; }
  void host() const {
    std::int64_t to = 0;
    for (std::int64_t const i : order_of_keys(keys, n, bits)) {
      sorted_keys[to] = key_order<Key>::key(key_order<Key>::of(keys[i]));
      sorted_values[to++] = values[i];
    }
  }
};

/// means: sorts the keys of each segment [offsets[s], offsets[s + 1]) in rising order
/// shape: keys, sorted (n): no overlap; offsets (segments + 1) from 0 to n
template <class Key>
struct sort_segments {
  static constexpr char const* name = "cub::DeviceSegmentedSort::StableSortKeys";
  std::int64_t n, segments;
  std::int64_t const* offsets;
  Key const* keys;
  Key* sorted;

  algorithm_size size() const { return {n, segments}; }
  void host() const {
    for (std::int64_t s = 0; s < segments; ++s) {
      Key const* const from = keys + offsets[s];
      Key* to = sorted + offsets[s];
      for (std::int64_t const i : order_of_keys(from, offsets[s + 1] - offsets[s]))
        *to++ = key_order<Key>::key(key_order<Key>::of(from[i]));
    }
  }
};

}  // namespace LOCUS_MODE
}  // namespace locus::cuda_side
