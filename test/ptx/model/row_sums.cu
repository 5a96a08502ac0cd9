// SPDX-License-Identifier: Apache-2.0
// row_sums PART: sums of rows by locus and by CUB, of matrices of 256 MiB, or of that PART of them where rows are short: then counts
// grow with the rows. `totals` is cub::DeviceSegmentedReduce over what locus hands to CUB, a vector of 16 bytes as one total
// in double; `as is` is its Sum of plain floats, which are added as floats.
#include <locus/cuda.cuh>

#include <cub/device/device_segmented_reduce.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "../count.hpp"

namespace {
using namespace locus;
using count = std::int64_t;
template <int Rank, class T>
using On = Tensor<T, Dextents<Rank>, GpuDevice<0>>;

template <class Index>
struct begin_of {
  Index each;
  __host__ __device__ Index operator()(Index row) const { return row * each; }
};
template <class T>
struct total_of {
  static constexpr int vector = 16 / int(sizeof(T));
  struct alignas(16) numbers {
    T of[vector];
  };
  T const* from;
  __host__ __device__ double operator()(count v) const {
    numbers const some = reinterpret_cast<numbers const*>(from)[v];
    using wide = std::conditional_t<sizeof(T) == 2, float, T>;
    auto total = static_cast<wide>(some.of[0]);
    for (int j = 1; j < vector; ++j) total += static_cast<wide>(some.of[j]);
    return double(total);
  }
};
struct add {
  template <class T>
  __host__ __device__ T operator()(T a, T b) const {
    return a + b;
  }
};

template <class F>
void family(std::string const& label, count bytes, F&& f) {
  ptx_counts::measure(label.c_str(), f);
  std::printf("%s\t%lld\n", label.c_str(), static_cast<long long>(bytes));
}
/// rows of `each` items; what is as it is has offsets of 32 bits, which CUB likes best
template <class Index, class In, class Out, class T>
void segments(In in, Out out, count rows, Index each, T zero) {
  auto const begin =
      thrust::make_transform_iterator(thrust::counting_iterator<Index>(0), begin_of<Index>{each});
  std::size_t bytes = 0;
  void* memory = nullptr;
  for (int twice = 0; twice < 2; ++twice) {
    cub::DeviceSegmentedReduce::Reduce(memory, bytes, in, out, rows, begin, begin + 1, add{}, zero);
    if (!memory) cudaMalloc(&memory, bytes);
  }
  cudaDeviceSynchronize();
  cudaFree(memory);
}
template <class T>
void rows_of(char const* type, count part) {
  for (count const columns : {1024, 4096, 65536}) {
    count const of_row = columns * count(sizeof(T)),
                rows = (count(256) << 20) / of_row / (of_row <= 16384 ? part : 1);
    On<2, T> m{Dextents<2>(rows, columns)};
    m = full<T>(m.extents(), T(1));
    On<1, sum_t<T>> sums{Dextents<1>(rows)};
    On<1, double> totals{Dextents<1>(rows)};
    auto const label = [&](char const* by) {
      return std::string(type) + " " + std::to_string(columns) + " " + by;
    };
    family(label("locus"), rows * of_row, [&] { sums = sum<1>(m); });
    auto const in =
        thrust::make_transform_iterator(thrust::counting_iterator<count>(0), total_of<T>{m.data()});
    family(label("CUB, totals"), rows * of_row,
           [&] { segments(in, totals.data(), rows, columns / total_of<T>::vector, 0.0); });
    if constexpr (sizeof(T) >= 4)
      family(label("CUB, as is"), rows * of_row, [&] {
        segments(static_cast<T const*>(m.data()), sums.data(), rows, int(columns), T(0));
      });
  }
}
}  // namespace

int main(int, char** argv) {
  count const part = std::atoll(argv[1]);
  ptx_counts::only_measured();
  rows_of<float>("float", part);
  rows_of<double>("double", part);
  rows_of<half>("half", part);
  cudaError_t const e = cudaDeviceSynchronize();
  if (e != cudaSuccess) std::fprintf(stderr, "row_sums: %s\n", cudaGetErrorString(e));
  return e != cudaSuccess;
}
