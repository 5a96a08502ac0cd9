// SPDX-License-Identifier: Apache-2.0
// A body of a kernel for GPUs, run block by block: on the host, or as device code on the cards of ptx/on_cards.hpp.
#pragma once
#include <locus/engine/gpu/block.hpp>  // run_blocks_on_host

#if !defined(LOCUS_TEST_ON_CARDS)
namespace locus::cuda_side {
template <class Body>
void run_body(void const* body, unsigned blocks, unsigned threads) {
  run_blocks_on_host<Body>(body, blocks, threads);
}
}  // namespace locus::cuda_side
#endif
