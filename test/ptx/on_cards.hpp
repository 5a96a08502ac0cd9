// SPDX-License-Identifier: Apache-2.0
// Tests over a recorder, run as device code on the cards that the CUDA runtime finds: a unit of nvcc includes
// this before the test. Scopes of a recorder become empty, and bodies that a test runs block by block on the
// host are launched; their memory is the test's own then (PTX_HOST_MEMORY=1).
#pragma once
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include <locus/cuda.cuh>

#include <locus/testing/recorder.hpp>

#include "ask.hpp"

namespace locus::testing {
struct real_cards {
  real_cards(recorder_options const& = {}) {}
  ~real_cards() {}  // no warning of a scope without use
  /// products of a kind, or kernels that were launched, since the scope began
  std::int64_t calls(std::string const& name) const { return count(name) - before_.at(name); }

 private:
  static std::int64_t count(std::string const& name) {
    if (name == "launch") return ptx_calls("cudaLaunchKernel");
    if (name == "gemm_batch") return ptx_calls("cublasGemmStridedBatchedEx");
    std::int64_t const rough = ptx_calls("products of tf32");
    if (name == "gemm_tf32") return rough;
    return ptx_calls("cublasSgemm") + ptx_calls("cublasDgemm") + ptx_calls("cublasGemmEx") - rough;
  }
  std::map<std::string, std::int64_t> before_{{"gemm", count("gemm")},
                                              {"gemm_tf32", count("gemm_tf32")},
                                              {"gemm_batch", count("gemm_batch")},
                                              {"launch", count("launch")}};
};
}  // namespace locus::testing
#define recorder real_cards

namespace locus::cuda_side {
template <class Body>
void run_body(void const* body, unsigned blocks, unsigned threads) {
  void* arguments[] = {const_cast<void*>(body)};
  cudaError_t e = cudaLaunchKernel(reinterpret_cast<void const*>(&kernel<Body>), dim3(blocks),
                                   dim3(threads), arguments, 0, nullptr);
  if (e == cudaSuccess) e = cudaDeviceSynchronize();
  if (e == cudaSuccess) return;
  std::printf("launch: %s\n", cudaGetErrorString(e));
  std::exit(1);
}
}  // namespace locus::cuda_side
#define LOCUS_TEST_ON_CARDS
