// SPDX-License-Identifier: Apache-2.0
// A shared library with locus in it; PART is its function's name.
#include "part.hpp"

#include <locus/locus.hpp>
#include <optional>

#define PART_JOIN_(part, what) part##what
#define PART_JOIN(part, what) PART_JOIN_(part, what)
#define PART_EXPORTED extern "C" __attribute__((visibility("default")))

using namespace locus;

static std::optional<Tensor<float, Extents<1000>, CpuDevice>> kept;

PART_EXPORTED void PART(part_facts* facts) {
  facts->table = &runtime::table, facts->counters = &runtime::executed;
  facts->kernels = &runtime::kernels, facts->machine = &simulated::gpus();
  facts->threads = &runtime::host_memory;
  Tensor<float, Extents<8>, GpuDevice<0>> x{{1, 2, 3, 4, 5, 6, 7, 8}};
  facts->sum = fetch(sum(x));
  kept.emplace();
  facts->held_bytes = 4096;  // 4000, rounded up
}
PART_EXPORTED void PART_JOIN(PART, _drop)() { kept.reset(); }
PART_EXPORTED void PART_JOIN(PART, _misuse)() {
  Tensor<float, Extents<8>, CpuDevice> x, y(std::move(x));
  (void)fetch(x);
}
