// SPDX-License-Identifier: Apache-2.0
// Selections, runs and histograms by CUB.
#pragma once
#include <locus/engine/gpu/half_names.cuh>  // before CUB

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // g++ 12 finds some in CUB
#include <cub/device/device_histogram.cuh>              // DeviceHistogram
#include <cub/device/device_run_length_encode.cuh>      // DeviceRunLengthEncode
#include <cub/device/device_select.cuh>                 // DeviceSelect
#include <thrust/iterator/counting_iterator.h>          // counting_iterator
#pragma GCC diagnostic pop

#include <locus/engine/gpu/selects.hpp>  // select_flagged

namespace locus::cuda_side {
inline namespace LOCUS_MODE {

template <class T>
struct card_code<select_flagged<T>> {
  static int run(select_flagged<T> const& a, void* memory, std::size_t* bytes, void* stream) {
    return int(::cub::DeviceSelect::Flagged(memory, *bytes, a.in, a.flags, a.out, a.count, a.n,
                                            static_cast<cudaStream_t>(stream)));
  }
};
template <class Number>
struct card_code<select_numbers<Number>> {
  static int run(select_numbers<Number> const& a, void* memory, std::size_t* bytes, void* stream) {
    return int(::cub::DeviceSelect::Flagged(memory, *bytes, ::thrust::counting_iterator<Number>(0),
                                            a.flags, a.out, a.count, a.n,
                                            static_cast<cudaStream_t>(stream)));
  }
};
template <class Key, class Number>
struct card_code<first_of_runs<Key, Number>> {
  static int run(first_of_runs<Key, Number> const& a, void* memory, std::size_t* bytes,
                 void* stream) {
    return int(::cub::DeviceSelect::UniqueByKey(
        memory, *bytes, a.keys, ::thrust::counting_iterator<Number>(0), a.unique, a.first, a.count,
        a.n, static_cast<cudaStream_t>(stream)));
  }
};
template <class Key>
struct card_code<run_lengths<Key>> {
  static int run(run_lengths<Key> const& a, void* memory, std::size_t* bytes, void* stream) {
    if (a.n > INT32_MAX) return int(cudaErrorInvalidValue);
    return int(::cub::DeviceRunLengthEncode::Encode(memory, *bytes, a.keys, a.unique, a.lengths,
                                                    a.count, static_cast<int>(a.n),
                                                    static_cast<cudaStream_t>(stream)));
  }
};
template <class T>
struct card_code<histogram<T>> {
  static int run(histogram<T> const& a, void* memory, std::size_t* bytes, void* stream) {
    return int(::cub::DeviceHistogram::HistogramRange(memory, *bytes, a.in, a.counts, a.bins + 1,
                                                      a.levels, a.n,
                                                      static_cast<cudaStream_t>(stream)));
  }
};
template <class Number>
struct card_code<count_numbers<Number>> {
  static int run(count_numbers<Number> const& a, void* memory, std::size_t* bytes, void* stream) {
    return int(::cub::DeviceHistogram::HistogramEven(memory, *bytes, a.numbers, a.counts,
                                                     a.bins + 1, Number(0), Number(a.bins), a.n,
                                                     static_cast<cudaStream_t>(stream)));
  }
};

}  // namespace LOCUS_MODE
}  // namespace locus::cuda_side
