// SPDX-License-Identifier: Apache-2.0
// Batches that are gone before the loop asks for them.
// expect-1: locus: distribute looks at batches that live on; give them a name first
#include <locus/data/batches.hpp>
#include <locus/locus.hpp>
using namespace locus;

Tensor<float, Extents<8, 3>> x;
using Replicas = Mirrored<GpuDevice<0>, GpuDevice<1>>;
#if LOCUS_MUST_FAIL == 1
void misuse() {
  for (auto [batch] : distribute<Replicas>(data::batches({.batch_size = 4}, x))) (void)batch;
}
#else
void proper() {
  auto batches = data::batches({.batch_size = 4}, x);
  for (auto [batch] : distribute<Replicas>(batches)) (void)batch;
}
#endif
