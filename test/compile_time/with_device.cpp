// SPDX-License-Identifier: Apache-2.0
// budget: 4600 instantiations (clang 14)
// A lambda under eight names at run time: made twice, for GPUs and for CPUs, never once per ordinal.
#include <locus/locus.hpp>

using namespace locus;

int main() {
  Tensor<float, Extents<dyn>> const x(8);
  for (auto const* name :
       {"/gpu:0", "/gpu:1", "/gpu:2", "/gpu:3", "/gpu:4", "/gpu:5", "/gpu:6", "/cpu:0"})
    with_device(name, [&](auto here) { return fetch(sum(here(2.f * x + 1.f))); });
}
