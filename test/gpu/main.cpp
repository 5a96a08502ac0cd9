// SPDX-License-Identifier: Apache-2.0
// The tests of ../ptx on real cards. The functions of ask.hpp and count.hpp are here: they know the calls of the CUDA
// runtime and the kernels that were launched, since the linker leads both through this file (--wrap). A card that is
// alone becomes four logical GPUs. Exit status 77: no GPU.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>

#include <locus/locus.hpp>

#include "../ptx/counts/short_name.hpp"

namespace {

struct calls_of {
  std::uint64_t done = 0, until_failure = 0;  // 0: no failure is planned
  cudaError_t code = cudaSuccess;
};
struct label_of {
  std::vector<std::pair<std::string, std::uint64_t>> kernels;  // in the order of first launches
  std::uint64_t launches = 0;
};
std::mutex lock;
std::map<std::string, calls_of> functions;
std::map<std::string, label_of> labels;
std::string label;
std::uint64_t launches = 0;

/// means: counts a call; the code that it fails with on purpose, or cudaSuccess
cudaError_t count(char const* function) {
  std::lock_guard const hold(lock);
  calls_of& c = functions[function];
  ++c.done;
  return c.until_failure > 0 && --c.until_failure == 0 ? c.code : cudaSuccess;
}
void count_kernel(void const* kernel) {
  char const* mangled = "?";
  cudaFuncGetName(&mangled, kernel);
  std::string const name = ptx::counts::short_name(mangled);
  std::lock_guard const hold(lock);
  ++launches;
  label_of& here = labels[label];
  ++here.launches;
  for (auto& [known, times] : here.kernels)
    if (known == name) return void(++times);
  here.kernels.emplace_back(name, 1);
}

}  // namespace

extern "C" {

#define SHOWN __attribute__((visibility("default")))
SHOWN void ptx_is_real() {}
SHOWN std::uint64_t ptx_launches() { return launches; }
SHOWN std::uint64_t ptx_findings() { return 0; }
SHOWN void ptx_forget() {}
SHOWN std::uint64_t ptx_calls(char const* function) {
  std::lock_guard const hold(lock);
  return functions[function].done;
}
SHOWN void ptx_fail(char const* function, std::uint64_t n, int code) {
  std::lock_guard const hold(lock);
  for (auto& one : functions) one.second.until_failure = 0;
  if (function) functions[function].until_failure = n, functions[function].code = cudaError_t(code);
}
SHOWN void ptx_counts_on(int on) {
  if (on) return;
  cudaDeviceSynchronize();
  label.clear();
}
SHOWN void ptx_counts_label(char const* name) { label = name; }
SHOWN void ptx_counts_forget() { labels.clear(); }
SHOWN double ptx_counts(char const* of, char const* name) {
  // a card has no other figures
  return std::strcmp(name, "launches") == 0 ? double(labels[of].launches)
                                            : std::numeric_limits<double>::quiet_NaN();
}
SHOWN char const* ptx_counts_kernels(char const* of) {
  static std::string text;
  text.clear();
  for (auto const& [name, times] : labels[of].kernels)
    text += (text.empty() ? "" : ", ") + name + " x " + std::to_string(times);
  return text.c_str();
}

#define WRAPPED(name, parameters, ...)                                                    \
  cudaError_t __real_##name parameters;                                                   \
  cudaError_t __wrap_##name parameters {                                                  \
    if (cudaError_t const planned = count(#name); planned != cudaSuccess) return planned; \
    return __real_##name(__VA_ARGS__);                                                    \
  }
WRAPPED(cudaMalloc, (void** p, std::size_t n), p, n)
WRAPPED(cudaFree, (void* p), p)
WRAPPED(cudaHostAlloc, (void** p, std::size_t n, unsigned how), p, n, how)
WRAPPED(cudaMemcpyAsync,
        (void* to, void const* from, std::size_t n, cudaMemcpyKind kind, cudaStream_t s), to, from,
        n, kind, s)
WRAPPED(cudaMemcpyPeerAsync,
        (void* to, int card, void const* from, int other, std::size_t n, cudaStream_t s), to, card,
        from, other, n, s)
WRAPPED(cudaEventRecord, (cudaEvent_t e, cudaStream_t s), e, s)
WRAPPED(cudaStreamWaitEvent, (cudaStream_t s, cudaEvent_t e, unsigned how), s, e, how)
WRAPPED(cudaStreamSynchronize, (cudaStream_t s), s)
WRAPPED(cudaEventSynchronize, (cudaEvent_t e), e)
WRAPPED(cudaEventCreateWithFlags, (cudaEvent_t * e, unsigned how), e, how)
WRAPPED(cudaGetDevice, (int* card), card)

// CUB asks for the last error behind a launch, which a call without a place for its answer sets
#define LAUNCHED(name, kernel, parameters, ...)                              \
  cudaError_t __real_##name parameters;                                      \
  cudaError_t __wrap_##name parameters {                                     \
    if (cudaError_t const e = count("cudaLaunchKernel"); e != cudaSuccess) { \
      cudaPointerGetAttributes(nullptr, nullptr);                            \
      return e;                                                              \
    }                                                                        \
    count_kernel(reinterpret_cast<void const*>(kernel));                     \
    return __real_##name(__VA_ARGS__);                                       \
  }
LAUNCHED(cudaLaunchKernel, f,
         (void const* f, dim3 grid, dim3 block, void** a, std::size_t n, cudaStream_t s), f, grid,
         block, a, n, s)
LAUNCHED(__cudaLaunchKernel, f,
         (cudaKernel_t f, dim3 grid, dim3 block, void** a, std::size_t n, cudaStream_t s), f, grid,
         block, a, n, s)
LAUNCHED(cudaLaunchKernelExC, f, (cudaLaunchConfig_t const* how, void const* f, void** a), how, f,
         a)
}

int main(int argc, char** argv) {
  int cards = 0;
  if (cudaGetDeviceCount(&cards) != cudaSuccess || cards == 0) {
    std::fprintf(stderr, "no GPU answers here\n");
    return 77;
  }
  using namespace locus::literals;
  locus::config::logical_options const part{.memory_limit = 4_GiB};
  // a program of CUDA, CUB and Thrust alone has no GPU of locus
  if (cards < 4 && !locus::config::list_physical_devices("GPU").empty())
    locus::config::set_logical_devices("GPU:0", {part, part, part, part});
  int const failures = doctest::Context(argc, argv).run();
  std::printf("%llu launches\n", static_cast<unsigned long long>(launches));
  return failures != 0 || launches == 0;
}
