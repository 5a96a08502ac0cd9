// SPDX-License-Identifier: Apache-2.0
// The card that is measured: its stream, memory for limits and rivals, and products beside cuBLAS.
#pragma once
#include "rounds.cuh"
// locus comes first
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace bench {

using Gpu = locus::GpuDevice<0>;
using cublas = locus::cuda_side::cublas_table;

inline cudaStream_t stream;
inline char* other_memory;  // 4 GiB, for limits and rivals

/// means: measure(), on a stream of its own
/// after: what main returns: 77 where no GPU answers, 1 where something fell back or gave other numbers
template <class F>
int on_card(F&& measure) {
  int cards = 0;
  if (cudaGetDeviceCount(&cards) != cudaSuccess || cards == 0) {
    std::fprintf(stderr, "no GPU answers here: nothing was measured\n");
    return 77;
  }
  cudaDeviceProp card;
  must(cudaGetDeviceProperties(&card, 0), "the card");
  std::fprintf(stderr, "%s, %d processors\n", card.name, card.multiProcessorCount);
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream");
  must(cudaMalloc(reinterpret_cast<void**>(&other_memory), std::size_t(4) << 30), "4 GiB");
  locus::use_stream<Gpu>(stream);
  measure();
  must(cudaStreamSynchronize(stream), "the end");
  locus::use_stream<Gpu>(locus::own_stream);
  cudaFree(other_memory);
  return failed ? 1 : 0;
}

/// what moves `bytes`, half read and half written
inline auto copy_of(double bytes) {
  auto const half = std::size_t(bytes / 2);
  return [half] {
    must(cudaMemcpyAsync(other_memory, other_memory + half, half, cudaMemcpyDeviceToDevice, stream),
         "a copy");
  };
}

/// means: matmul beside a call of cuBLAS, gemm(table, handle, side, b, a, to), which returns its status
template <class T, class F>
void product(char const* what, char const* rival, std::int64_t side, double tolerance, F gemm) {
  locus::Dextents<2> const square(side, side);
  using Matrix = locus::Tensor<T, locus::Dextents<2>, Gpu>;
  Matrix a{square}, b{square}, c{square}, d{square};
  a = locus::cast<T>(locus::uniform<float>(square, locus::seed{8}));
  b = locus::cast<T>(locus::uniform<float>(square, locus::seed{9}));
  group g{"GPU products", what, std::to_string(side)};
  g.operations = 2. * double(side) * double(side) * double(side);
  g.add("locus", "locus", 0, [&] { c = locus::matmul(a, b); });
  cublas const& blas = cublas::instance();
  void* handle = nullptr;
  if (!blas.is_complete() || blas.create(&handle) != 0) {
    std::fprintf(stderr, "skipped: %s: no cuBLAS\n", what);
    return;
  }
  auto const must_work = [what](int status) {
    if (status == 0) return;
    std::fprintf(stderr, "%s: cuBLAS ended with status %d\n", what, status);
    std::exit(1);
  };
  must_work(blas.set_stream(handle, stream));
  g.add(rival, "rival", 0.98,
        [&, handle] { must_work(gemm(blas, handle, int(side), b.data(), a.data(), d.data())); });
  run(g, stream);
  check(locus::all_close(c, d, tolerance, 0), what);
  blas.destroy(handle);
}

}  // namespace bench
