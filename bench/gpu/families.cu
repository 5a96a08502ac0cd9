// SPDX-License-Identifier: Apache-2.0
// The statements of test/ptx/families.cu on a GPU, as long as each takes: a line for each, "label <tab> bytes of the largest
// tensor <tab> bytes that it must move <tab> microseconds (median of 21) <tab> the least". families [ELEMENTS [LABEL]]
#include <locus/cuda.cuh>

#include <algorithm>
#include <cstdio>
#include <vector>

namespace ptx_counts {  // in place of test/ptx/count.hpp
inline void only_measured() {}
inline cudaStream_t the_stream() {
  static cudaStream_t const stream = [] {
    cudaStream_t s = nullptr;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    locus::use_stream<locus::GpuDevice<0>>(s);
    return s;
  }();
  return stream;
}
template <class F>
void measure(char const*, F&& f) {
  cudaStream_t const stream = the_stream();
  cudaEvent_t begin, end;
  cudaEventCreate(&begin), cudaEventCreate(&end);
  std::vector<float> us;
  for (int k = 0; k < 24; ++k) {
    cudaEventRecord(begin, stream);
    for (int j = 0; j < 5; ++j) f();
    cudaEventRecord(end, stream);
    if (cudaError_t const e = cudaEventSynchronize(end); e != cudaSuccess)
      std::printf("%s: ", cudaGetErrorString(e));
    float ms = 0;
    cudaEventElapsedTime(&ms, begin, end);
    if (k >= 3) us.push_back(ms * 200.f);
  }
  cudaEventDestroy(begin), cudaEventDestroy(end);
  std::sort(us.begin(), us.end());
  std::printf("%.2f\t%.2f\t", double(us[us.size() / 2]), double(us[0]));
}
}  // namespace ptx_counts
#define FAMILIES_ARE_TIMED
#include "../../test/ptx/families.cu"
