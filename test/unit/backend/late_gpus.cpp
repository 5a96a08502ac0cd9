// SPDX-License-Identifier: Apache-2.0
// A program that names no GPU computes on the host, and asks for GPUs afterwards: run with
// LOCUS_SIMULATED_GPUS=2. Returns 0.
#include <cstdio>

#include <locus/locus.hpp>
using namespace locus;

namespace {
int failures = 0;
void check(bool holds, char const* what) {
  if (!holds) std::printf("FAILED: %s\n", what), ++failures;
}
}  // namespace

int main() {
  check(!runtime::gpus_of_program, "nothing of this unit names a GPU");
  Tensor<float, Extents<3>> x({1, 2, 3}), y;
  y = 2.f * x + 1.f;
  check(y(2) == 7, "2 * 3 + 1");
  check(runtime::table.started && !runtime::table.knows_gpus, "the host alone is in use");

  check(config::list_logical_devices().size() == 3, "a CPU and two GPUs are listed");
  check(runtime::table.gpu_backing == runtime::backing::simulated, "they are simulated");
  check(config::count_logical_gpus() == 2, "two GPUs are counted");
  check(config::get_memory_info("/GPU:1").current == 0, "nothing lies on the second");
  y = y + x;
  check(y(0) == 4, "3 + 1: plans of the host go on");
  bool refused = false;
  try {
    config::set_visible_devices({}, "GPU");
  } catch (configuration_error const&) {
    refused = true;
  }
  check(refused, "the configuration was frozen by the first tensor");
  std::printf("%d failures\n", failures);
  return failures;
}
