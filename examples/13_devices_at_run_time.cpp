// SPDX-License-Identifier: Apache-2.0
// Devices that are known when the program runs: one named on the command line, a tensor on each of
// several GPUs, as many GPUs as there are, and a tensor that comes out of a file.
#include <cstdio>
#include <iostream>
#include <locus/cuda.cuh>
#include <locus/tensor/any_tensor.hpp>
#include <vector>

using namespace locus;

int main(int argc, char** argv) {
  // [example: name]
  Tensor<float, Extents<2, 3>> a{{1, 2, 3}, {4, 5, 6}};
  Tensor<float, Extents<3, 2>> b{{1, 2}, {3, 4}, {5, 6}};
  char const* const name = argc > 1 ? argv[1] : "/gpu:1";
  float const total = with_device(name, [&](auto here) {  // compiled twice: for GPUs and for CPUs
    auto const c = eval(here(matmul(a, b)));              // lies there: GpuDevice<dyn>, or Cpu<dyn>
    return fetch(sum(c));
  });
  std::cout << total << "\n";
  // [end]
  // prints:
  // 163

  // [example: ordinals]
  using Block = Tensor<double, Extents<dyn>, GpuDevice<dyn>>;  // the ordinal lies in the object
  std::vector<Block> blocks;
  for (int k = 0; k < 4; ++k) blocks.emplace_back(gpu(k), 3);
  for (Block& block : blocks) block = full<double>(block.extents(), block.device().ordinal());
  blocks[0] = blocks[3];  // keeps its device: the elements cross over, counted and logged
  std::cout << blocks[0] << " on " << blocks[0].device() << "\n";
  // [end]
  // prints:
  // [3. 3. 3.] on /GPU:0

  try {
    blocks[1] = blocks[1] + blocks[2];  // one expression, two ordinals
  } catch (placement_error const& e) {
    std::cout << e.what() << "\n";
  }
  blocks[1] = blocks[1] + to<GpuDevice<dyn>>(blocks[2], 1);
  std::cout << blocks[1] << "\n";
  // prints:
  // locus: one expression on two devices of /GPU:dyn: /GPU:1 and, for a tensor (#1), /GPU:2; bring one over first, as in to<GpuDevice<dyn>>(x, 2)
  // [3. 3. 3.]

  // [example: all]
  Tensor<double, Extents<dyn, 3>, Sharded<0, AllGpus>> x{1000};  // the visible GPUs, or one CPU
  x = uniform<double>(x.extents(), seed{7});
  Tensor<double, Extents<3>, Mirrored<AllGpus>> w{1, 2, 3};
  auto const step = plan(into(w, w - 0.1 * mean<0>(x * w)));
  static_assert(step.all_reduces() == 1);  // however many there are
  run(step);
  explain(std::cout, step);
  // [end]
  // prints:
  // plan under prefer_gpu
  //   leaf #0 double[3] on mirrored(all GPUs)
  //   leaf #2 double[?,3] on sharded<0>(all GPUs)
  //   leaf #3 double[3] on mirrored(all GPUs)
  // ...
  //     #5 = mean(#4) double[3]
  //   all_reduce #5 from partial<sum>(all GPUs) to mirrored(all GPUs), 24 bytes
  // ...
  //   mirrored(all GPUs) is <*> now

  // [example: file]
  AnyTensor<double, Extents<dyn, 3>> kept =
      std::move(x);  // its place is known when the program runs
  char const* const path = "devices_at_run_time.tensor";
  kept.save(path);  // from wherever it lies; the file is there as a whole or not at all
  auto const again = AnyTensor<double, Extents<dyn, 3>>::load(path);
  std::cout << again.where() << ", " << equal(again.as<CpuDevice>(), kept.to<CpuDevice>()) << "\n";
  // [end]
  std::remove(path);
  // prints:
  // /CPU:0, 1
}
