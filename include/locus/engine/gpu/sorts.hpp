// SPDX-License-Identifier: Apache-2.0
// Sorts on a GPU, as data, and on the host for a recorder.
#pragma once
#include <locus/engine/gpu/algorithm.hpp>  // algorithm_size
#include <locus/engine/gpu/key_order.hpp>  // order_of_keys

namespace locus::cuda_side {
inline namespace LOCUS_MODE {

/// means: sorted = the keys in rising order; every NaN comes out as one quiet NaN
/// shape: keys (n), sorted (n): they do not overlap
/// cost:  n keys of workspace, for floats 2 n; a pass for each 8 bits
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

/// means: keys in rising order of their lowest `bits` bits with their values; equal keys as they came
/// shape: keys, values, sorted_keys, sorted_values (n): none overlap
/// cost:  n keys and values of workspace, for floats n keys more; floats are sorted by all bits
template <class Key, class Value>
struct sort_pairs {
  static constexpr char const* name = "cub::DeviceRadixSort::SortPairs";
  std::int64_t n;
  Key const* keys;
  Value const* values;
  Key* sorted_keys;
  Value* sorted_values;
  int bits = 8 * int(sizeof(Key));  // fewer: keys are integers, none negative

  algorithm_size size() const { return {n, bits}; }
  void host() const {
    std::int64_t to = 0;
    for (std::int64_t const i : order_of_keys(keys, n, bits)) {
      sorted_keys[to] = key_order<Key>::key(key_order<Key>::of(keys[i]));
      sorted_values[to++] = values[i];
    }
  }
};

/// means: each segment [offsets[s], offsets[s + 1]) of the keys in rising order
/// shape: keys, sorted (n): they do not overlap; offsets (segments + 1) from 0 to n
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
