// SPDX-License-Identifier: Apache-2.0
// Scans and segmented folds by CUB.
#pragma once
#include <locus/engine/gpu/half_names.cuh>  // before CUB

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // g++ 12 finds some in CUB
#include <cub/device/device_reduce.cuh>                 // DeviceReduce
#include <cub/device/device_scan.cuh>                   // DeviceScan
#include <cub/device/device_segmented_reduce.cuh>       // DeviceSegmentedReduce
#pragma GCC diagnostic pop

#include <locus/engine/gpu/scans.hpp>  // scan

namespace locus::cuda_side {
inline namespace LOCUS_MODE {

template <bool Exclusive, reduction R, class T>
struct card_code<scan<Exclusive, R, T>> {
  static int run(scan<Exclusive, R, T> const& a, void* memory, std::size_t* bytes, void* stream) {
    auto const s = static_cast<cudaStream_t>(stream);
    if constexpr (Exclusive)
      return int(::cub::DeviceScan::ExclusiveScan(memory, *bytes, a.in, a.out, combine_fn<R, T>{},
                                                  T(combine_fn<R, T>::identity), a.n, s));
    else
      return int(::cub::DeviceScan::InclusiveScan(memory, *bytes, a.in, a.out, combine_fn<R, T>{},
                                                  a.n, s));
  }
};
template <reduction R, class T>
struct card_code<fold_segments<R, T>> {
  static int run(fold_segments<R, T> const& a, void* memory, std::size_t* bytes, void* stream) {
    return int(::cub::DeviceSegmentedReduce::Reduce(
        memory, *bytes, a.in, a.out, a.segments, a.offsets, a.offsets + 1, combine_fn<R, T>{},
        T(combine_fn<R, T>::identity), static_cast<cudaStream_t>(stream)));
  }
};
template <reduction R, class Key, class T>
struct card_code<fold_by_key<R, Key, T>> {
  static int run(fold_by_key<R, Key, T> const& a, void* memory, std::size_t* bytes, void* stream) {
    return int(::cub::DeviceReduce::ReduceByKey(memory, *bytes, a.keys, a.unique, a.in, a.out,
                                                a.count, combine_fn<R, T>{}, a.n,
                                                static_cast<cudaStream_t>(stream)));
  }
};

}  // namespace LOCUS_MODE
}  // namespace locus::cuda_side
