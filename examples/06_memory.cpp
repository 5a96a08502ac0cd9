// SPDX-License-Identifier: Apache-2.0
// A logical device of 1 GiB, filled until there is no more: what the error says, what did not
// change, and how the program goes on. On a card, or on a simulated one where there is none.
#include <iostream>
#include <optional>
#include <vector>

#include <locus/cuda.cuh>
#include <locus/testing/simulated_gpus.hpp>

using namespace locus;

using G0 = GpuDevice<0>;
using Block = Tensor<float, Extents<4096, 4096>, G0>;  // 64 MiB

void report(char const* when) {
  auto const m = config::get_memory_info<G0>();
  std::cout << when << ": " << m.current / 1_MiB << " of " << m.limit / 1_MiB
            << " MiB in use, peak " << m.peak / 1_MiB << " MiB, " << m.allocations
            << " allocations\n";
}
template <class F>
void attempt(F&& f) {
  try {
    f();
    std::cout << "done\n";
  } catch (out_of_memory const& e) {
    std::cout << e.what() << "\n";
  }
}

int main() {
  // [example: limit]
  std::optional<testing::simulated_gpus> laptop;
  if (config::list_physical_devices("GPU").empty())
    laptop.emplace(1, testing::simulated_options{.memory_limit = 2_GiB});
  config::set_logical_devices("GPU:0", {{.memory_limit = 1_GiB}});
  // [end]

  // [example: fill]
  std::vector<Block> blocks;
  blocks.emplace_back(iota<float>(Extents<4096, 4096>{}));
  attempt([&] {
    for (;;) blocks.emplace_back();
  });
  std::cout << blocks.size() << " blocks of 64 MiB\n";
  report("full");

  // a transpose in place sets its operand aside; all memory of a plan is there before its first step
  Block& x = blocks[0];
  attempt([&] { x = transpose(x); });
  // [end]
  // prints:
  // locus: no memory on /GPU:0 for a tensor of float[4096,4096]: requested 67108864 bytes, in use 1073741824, limit 1073741824; free tensors, or cut the problem into smaller parts
  // 16 blocks of 64 MiB
  // full: 1024 of 1024 MiB in use, peak 1024 MiB, 16 allocations
  // locus: no memory on /GPU:0 for <*>: requested 67108864 bytes, in use 1073741824, limit 1073741824; free tensors, or cut the problem into smaller parts

  // [example: recover]
  for (int i = 0; i < 4; ++i) blocks.pop_back();  // freed blocks join: 256 MiB in one piece
  report("four freed");
  auto const second = [&] { return fetch(sum(slice(x, {0, 1}, {1, 2}))); };
  std::cout << "x(0, 1) is still " << second() << "\n";
  attempt([&] { x = transpose(x); });
  std::cout << "x(0, 1) is now " << second() << "\n";
  attempt([] { Tensor<float, Extents<4, 4096, 4096>, G0> large; });

  config::reset_memory_stats<G0>();
  for (int i = 0; i < 3; ++i) x = 0.5f * x;  // in place: a steady statement allocates nothing
  report("three steps later");
  // [end]
  // prints:
  // four freed: 768 of 1024 MiB in use, peak 1024 MiB, 16 allocations
  // x(0, 1) is still 1
  // done
  // x(0, 1) is now 4096
  // done
  // three steps later: 768 of 1024 MiB in use, peak 768 MiB, 0 allocations
}
