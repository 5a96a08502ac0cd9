// SPDX-License-Identifier: Apache-2.0
// Tests over a recorder, run as device code on the cards that the CUDA runtime finds: a unit of nvcc includes
// this before the test. Scopes of a recorder become empty, and bodies that a test runs block by block on the
// host are launched; their memory is the test's own then (PTX_HOST_MEMORY=1).
#pragma once
#include <cstdio>
#include <cstdlib>

#include <locus/cuda.cuh>

#include <locus/testing/recorder.hpp>

namespace locus::testing {
struct real_cards {
  real_cards(recorder_options const& = {}) {}
  ~real_cards() {}  // no warning of a scope without use
};
}  // namespace locus::testing
#define recorder real_cards

inline bool const without_nccl = (locus::runtime::nccl = nullptr, true);  // NCCL asks the driver

namespace locus::cuda_side {
template <class Body>
void run_as_device_code(void const* body, unsigned blocks, unsigned threads) {
  void* arguments[] = {const_cast<void*>(body)};
  cudaError_t e = cudaLaunchKernel(reinterpret_cast<void const*>(&kernel<Body>), dim3(blocks),
                                   dim3(threads), arguments, 0, nullptr);
  if (e == cudaSuccess) e = cudaDeviceSynchronize();
  if (e == cudaSuccess) return;
  std::printf("launch: %s\n", cudaGetErrorString(e));
  std::exit(1);
}
}  // namespace locus::cuda_side
#define run_on_host run_as_device_code
