// SPDX-License-Identifier: Apache-2.0
// A product of (10000, 100) and (100, 100000) matrices, summed over axis 0 twice, on the CPU and on
// a GPU where there is one. The product would take 4 GB: it is made and summed in panels of columns.
//     02_cpu_vs_gpu [panels: 1 to 100]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <locus/cuda.cuh>
#include <locus/data/progress.hpp>  // progress_bar

using namespace locus;

constexpr std::int64_t rows = 10000, inner = 100, columns = 100000, panel = 1000;

struct outcome {
  float sum;
  double seconds;
  std::int64_t peak_bytes;
};

// [example: panels]
template <single_device Device>
outcome product_and_sums(std::int64_t panels) {
  Tensor<float, Extents<rows, inner>, Device> a(
      uniform<float>(Extents<rows, inner>{}, seed{1}, 1, 2));
  Tensor<float, Extents<inner, columns>, Device> b(
      uniform<float>(Extents<inner, columns>{}, seed{2}, 1, 2));
  Tensor<float, Extents<columns>, Device> column_sums;
  data::progress_bar bar(panels);
  for (std::int64_t j = 0; j < panels * panel; j += panel) {
    auto const part = matmul(a, slice(b, all_of, {j, j + panel}));  // (rows, panel): 40 MB
    slice(column_sums, {j, j + panel}) = sum<0>(part);              // (panel)
    bar.show(j / panel + 1);
  }
  float const total = fetch(sum(slice(column_sums, {0, panels * panel})));
  return {total, bar.seconds(), config::get_memory_info<Device>().peak};
}
// [end]

template <single_device Device>
outcome report(char const* title, std::int64_t panels) {
  config::reset_memory_stats<Device>();
  outcome const r = product_and_sums<Device>(panels);
  std::printf("%-16s sum %.6e  time %6.3f s  peak memory %4lld MB\n", title, double(r.sum),
              r.seconds, static_cast<long long>(r.peak_bytes / 1000000));
  return r;
}

int main(int argc, char** argv) {
  std::int64_t const all = columns / panel;
  std::int64_t const panels =
      argc > 1 ? std::clamp<std::int64_t>(std::atoll(argv[1]), 1, all) : all;
  config::set_intra_op_parallelism_threads(1);
  outcome const one = report<CpuDevice>("CPU, 1 thread", panels);
  config::set_intra_op_parallelism_threads(2);
  outcome const two = report<CpuDevice>("CPU, 2 threads", panels);
  std::printf("1 and 2 threads give %s\n", one.sum == two.sum ? "the same bits" : "OTHER BITS");
  // each product has the mean 1.5 * 1.5
  double const expected = 2.25 * double(rows) * double(panels * panel) * double(inner);
  // prints:
  // CPU, 1 thread    sum 2.249825e+11  time <*> s  peak memory <*> MB
  // CPU, 2 threads   sum 2.249825e+11  time <*> s  peak memory <*> MB
  // 1 and 2 threads give the same bits
  std::printf("within 1e-3 of %.3g: %s\n", expected,
              std::abs(one.sum / expected - 1) < 1e-3 ? "yes" : "NO");
  // prints:
  // within 1e-3 of 2.25e+11: yes
  // ...
  if (config::count_logical_gpus() == 0) {
    std::printf("no GPU here: the CPU alone was measured\n");
    return 0;
  }
  outcome const first = report<GpuDevice<0>>("GPU, first run", panels);
  outcome const again = report<GpuDevice<0>>("GPU, again", panels);
  std::printf("CPU and GPU agree to %.1e, the GPU is %.1f times as fast\n",
              std::abs(double(first.sum) / one.sum - 1), one.seconds / again.seconds);
}
