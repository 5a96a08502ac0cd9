// SPDX-License-Identifier: Apache-2.0
// Sorts by CUB.
#pragma once
#include <locus/engine/gpu/half_names.cuh>  // before CUB

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // g++ 12 finds some in CUB
#include <cub/device/device_radix_sort.cuh>             // DeviceRadixSort
#include <cub/device/device_segmented_sort.cuh>         // DeviceSegmentedSort
#pragma GCC diagnostic pop

#include <locus/core/bytes.hpp>               // round_up
#include <locus/engine/gpu/card_context.hpp>  // each_number
#include <locus/engine/gpu/sorts.hpp>         // sort_keys

namespace locus::cuda_side {
inline namespace LOCUS_MODE {

template <class Key>
struct bits_of_keys {
  Key const* keys;
  key_bits<Key>* to;
  __device__ __host__ void operator()(std::int64_t i) const { to[i] = key_order<Key>::of(keys[i]); }
};
template <class Key>
struct keys_of_bits {
  Key* keys;  // the same memory as the bits
  __device__ __host__ void operator()(std::int64_t i) const {
    key_bits<Key> const b = reinterpret_cast<key_bits<Key> const*>(keys)[i];
    keys[i] = key_order<Key>::key(b);
  }
};
template <class F>
int on_each(std::int64_t n, F const& f, void* stream) {
  each_number<F> const body{f, n};
  return n > 0 ? runtime::gpu_api->launch(launch_of(body, blocks_for(n), block_threads, stream))
               : 0;
}

/// means: sort(keys, sorted, memory, bytes) for integer keys; float keys are converted to ordered
///        bits before it and back after it
template <class Key, class Sort>
int sort_ordered(std::int64_t n, Key const* keys, Key* sorted, void* memory, std::size_t* bytes,
                 void* stream, Sort&& sort) {
  if constexpr (!is_floating_v<Key>)
    return sort(keys, sorted, memory, *bytes);
  else {
    using bits = key_bits<Key>;
    auto* const as_bits = static_cast<bits*>(memory);
    auto* const sorted_bits = reinterpret_cast<bits*>(sorted);
    auto const own = static_cast<std::size_t>(round_up(n * std::int64_t(sizeof(bits)) + (n == 0)));
    if (!memory) {
      int const code = sort(static_cast<bits const*>(nullptr), sorted_bits, memory, *bytes);
      *bytes += own;
      return code;
    }
    std::size_t rest = *bytes - own;
    int code = on_each(n, bits_of_keys<Key>{keys, as_bits}, stream);
    if (code == 0)
      code = sort(static_cast<bits const*>(as_bits), sorted_bits,
                  static_cast<void*>(static_cast<char*>(memory) + own), rest);
    return code ? code : on_each(n, keys_of_bits<Key>{sorted}, stream);
  }
}

template <class Key>
struct card_code<sort_keys<Key>> {
  static int run(sort_keys<Key> const& a, void* memory, std::size_t* bytes, void* stream) {
    return sort_ordered(a.n, a.keys, a.sorted, memory, bytes, stream,
                        [&](auto const* keys, auto* sorted, void* own, std::size_t& n) {
                          return int(::cub::DeviceRadixSort::SortKeys(
                              own, n, keys, sorted, a.n, 0, 8 * int(sizeof(Key)),
                              static_cast<cudaStream_t>(stream)));
                        });
  }
};
template <class Key, class Value>
struct card_code<sort_pairs<Key, Value>> {
  static int run(sort_pairs<Key, Value> const& a, void* memory, std::size_t* bytes, void* stream) {
    return sort_ordered(a.n, a.keys, a.sorted_keys, memory, bytes, stream,
                        [&](auto const* keys, auto* sorted, void* own, std::size_t& n) {
                          return int(::cub::DeviceRadixSort::SortPairs(
                              own, n, keys, sorted, a.values, a.sorted_values, a.n, 0, a.bits,
                              static_cast<cudaStream_t>(stream)));
                        });
  }
};
template <class Key>
struct card_code<sort_segments<Key>> {
  static int run(sort_segments<Key> const& a, void* memory, std::size_t* bytes, void* stream) {
    return sort_ordered(a.n, a.keys, a.sorted, memory, bytes, stream,
                        [&](auto const* keys, auto* sorted, void* own, std::size_t& n) {
                          return int(::cub::DeviceSegmentedSort::StableSortKeys(
                              own, n, keys, sorted, a.n, a.segments, a.offsets, a.offsets + 1,
                              static_cast<cudaStream_t>(stream)));
                        });
  }
};

}  // namespace LOCUS_MODE
}  // namespace locus::cuda_side
