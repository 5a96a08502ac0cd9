// SPDX-License-Identifier: Apache-2.0
// The table gpu_api with the real functions. nvcc links the CUDA runtime statically; cuBLAS is
// opened at the first product, cuDNN at the first convolution, so that a program starts on machines
// without them.
#pragma once
#include <cuda_runtime.h>  // cudaMalloc
#include <dlfcn.h>         // dlopen
#include <sys/statvfs.h>   // statvfs
#if __has_include(<nvtx3/nvToolsExt.h>)
#define LOCUS_NVTX 1
#include <locus/backend/cuda/open_library.hpp>  // open_library
#include <locus/core/macros.hpp>                // LOCUS_LEAN_BEGIN
LOCUS_LEAN_BEGIN
#include <nvtx3/nvToolsExt.h>  // nvtxRangePushA
LOCUS_LEAN_END
#else
#define LOCUS_NVTX 0
#endif

#include <locus/backend/cuda/device_lost.hpp>    // is_sticky
#include <locus/backend/cuda/kernel.cuh>         // kernel
#include <locus/backend/cuda/real_cublas.hpp>    // blas_handle, cublas_table
#include <locus/backend/cuda/real_cudnn.hpp>     // dnn_handle, cudnn_table
#include <locus/backend/cuda/real_cufft.hpp>     // describe_cufft
#include <locus/backend/cuda/real_cusolver.hpp>  // describe_cusolver
#include <locus/backend/cuda/real_nccl.hpp>      // real_nccl
#include <locus/core/macros.hpp>                 // LOCUS_HOST_DEVICE, LOCUS_LEAN_BEGIN
#include <locus/runtime/cuda_api.hpp>            // cuda_api

LOCUS_LEAN_BEGIN

namespace locus::cuda_side {

namespace detail {
inline cudaStream_t stream(void* s) { return static_cast<cudaStream_t>(s); }
inline cudaEvent_t event(void* e) { return static_cast<cudaEvent_t>(e); }
/// the CUDA error behind a failed cuDNN call, if a kernel of cuDNN failed or an earlier error is
/// sticky
inline int cause_in_cudnn(int code) {
  int const cause = code == 0 ? 0 : int(cudaPeekAtLastError());
  bool const is_it = code >= cudnn_table::execution_failed || runtime::is_sticky(cause);
  return cause != 0 && is_it ? cause : code;
}
/// the CUDA error behind a failed cuBLAS kernel
inline int cause_of(int code) {
  cudaError_t const cause =
      code == cublas_table::execution_failed ? cudaPeekAtLastError() : cudaSuccess;
  return cause == cudaSuccess ? code : int(cause);
}

inline int library_versions(int* cublas, int* nccl, int* cudnn) {
  *cublas = *nccl = *cudnn = 0;
  cudnn_table const& of_cudnn = cudnn_table::instance();
  if (of_cudnn.complete) *cudnn = int(of_cudnn.version());
  int (*property)(int, int*) = nullptr;
  if (void* const h = open_library({"libcublas.so.13", "libcublas.so.12", "libcublas.so"}))
    if (take_function(h, property, "cublasGetProperty")) {
      int part[3]{};  // major, minor, patch
      for (int i = 0; i < 3; ++i)
        if (property(i, &part[i]) != 0) return 0;
      *cublas = 10000 * part[0] + 100 * part[1] + part[2];
    }
  int (*version)(int*) = nullptr;
  if (void* const h = open_library({"libnccl.so.2", "libnccl.so"}))
    if (take_function(h, version, "ncclGetVersion") && version(nccl) != 0) *nccl = 0;
  return 0;
}
inline void describe_card(cudaDeviceProp const& p, runtime::cuda_device_facts& facts) {
  facts.total_bytes = p.totalGlobalMem, facts.major = p.major, facts.minor = p.minor;
  for (int i = 0; i + 1 < int(sizeof facts.name) && p.name[i]; ++i) facts.name[i] = p.name[i];
  char* to = facts.uuid;
  auto put = [&to](unsigned value, int digits) {
    for (int d = digits; d-- > 0;) *to++ = "0123456789abcdef"[value >> (4 * d) & 15];
  };
  for (char c : {'G', 'P', 'U', '-'}) *to++ = c;
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) *to++ = '-';
    put(static_cast<unsigned char>(p.uuid.bytes[i]), 2);
  }
  to = facts.bus;
  put(unsigned(p.pciDomainID), 8), *to++ = ':';
  put(unsigned(p.pciBusID), 2), *to++ = ':';
  put(unsigned(p.pciDeviceID), 2), *to++ = '.', *to++ = '0';
}
/// asks the driver: the CUDA runtime has no such function
inline int has_context(int device, bool* has) {
  static void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);  // the runtime's own
  using device_of = int (*)(int*, int);
  using state_of = int (*)(int, unsigned*, int*);
  static auto const find =
      driver ? reinterpret_cast<device_of>(dlsym(driver, "cuDeviceGet")) : nullptr;
  static auto const ask =
      driver ? reinterpret_cast<state_of>(dlsym(driver, "cuDevicePrimaryCtxGetState")) : nullptr;
  if (!find || !ask) return int(cudaErrorNotSupported);
  int handle = 0, active = 1;
  unsigned flags = 0;
  if (int const code = find(&handle, device)) return code;
  int const code = ask(handle, &flags, &active);
  return *has = active != 0, code;
}
/// the kernel of kernel_runs: every unit with nvcc has it, so it shows whether a card can run its
/// code
struct nothing_body {
  LOCUS_EXEC_CHECK_DISABLE
  template <class Block>
  LOCUS_HOST_DEVICE void operator()(Block const&) const {}
};
}  // namespace detail

inline constexpr runtime::cuda_api real_api = {
    .driver_version = [](int* v) { return int(cudaDriverGetVersion(v)); },
    .runtime_version = [](int* v) { return int(cudaRuntimeGetVersion(v)); },
    .device_count = [](int* n) { return int(cudaGetDeviceCount(n)); },
    .get_device = [](int* d) { return int(cudaGetDevice(d)); },
    .set_device = [](int d) { return int(cudaSetDevice(d)); },
    .device_facts =
        [](int device, runtime::cuda_device_facts* facts) {
          cudaDeviceProp p;
          int const code = int(cudaGetDeviceProperties(&p, device));
          if (code == 0) detail::describe_card(p, *facts);
          return code;
        },
    .kernel_runs =
        [](bool* runs) {
          cudaFuncAttributes a;
          int const code = int(cudaFuncGetAttributes(&a, kernel<detail::nothing_body>));
          *runs = code == 0;
          if (code != 0) cudaGetLastError();
          return code == int(cudaErrorDevicesUnavailable) ? code : 0;
        },
    .memory_free = [](std::size_t* free,
                      std::size_t* total) { return int(cudaMemGetInfo(free, total)); },
    .memcpy_async =
        [](void* to, void const* from, std::size_t n, void* s) {
          return int(cudaMemcpyAsync(to, from, n, cudaMemcpyDefault, detail::stream(s)));
        },
    .memcpy_peer_async =
        [](void* to, int to_device, void const* from, int from_device, std::size_t n, void* s) {
          return int(cudaMemcpyPeerAsync(to, to_device, from, from_device, n, detail::stream(s)));
        },
    .stream_create =
        [](void** s) {
          return int(
              cudaStreamCreateWithFlags(reinterpret_cast<cudaStream_t*>(s), cudaStreamNonBlocking));
        },
    .stream_destroy = [](void* s) { return int(cudaStreamDestroy(detail::stream(s))); },
    .stream_synchronize = [](void* s) { return int(cudaStreamSynchronize(detail::stream(s))); },
    .stream_wait_event =
        [](void* s, void* e) {
          return int(cudaStreamWaitEvent(detail::stream(s), detail::event(e), 0));
        },
    .event_create =
        [](void** e) {
          return int(
              cudaEventCreateWithFlags(reinterpret_cast<cudaEvent_t*>(e), cudaEventDisableTiming));
        },
    .event_destroy = [](void* e) { return int(cudaEventDestroy(detail::event(e))); },
    .event_record =
        [](void* e, void* s) { return int(cudaEventRecord(detail::event(e), detail::stream(s))); },
    .event_synchronize = [](void* e) { return int(cudaEventSynchronize(detail::event(e))); },
    .launch =
        [](runtime::cuda_launch const& w) {
          void* arguments[] = {w.body};
          return int(cudaLaunchKernel(w.symbol, dim3(w.blocks), dim3(w.threads), arguments, 0,
                                      detail::stream(w.stream)));
        },
    .last_error = [] { return int(cudaGetLastError()); },
    .gemm =
        [](void* handle, runtime::cuda_gemm const& what) {
          return detail::cause_of(static_cast<blas_handle*>(handle)->multiply(what));
        },
    .device_of_pointer =
        [](void const* p, int* device) {
          cudaPointerAttributes a;
          int const code = int(cudaPointerGetAttributes(&a, p));
          if (code != 0) return cudaGetLastError(), code;
          *device = a.type == cudaMemoryTypeDevice    ? a.device
                    : a.type == cudaMemoryTypeManaged ? runtime::cuda_api::managed_memory
                                                      : runtime::cuda_api::host_memory;
          return 0;
        },
    .describe =
        [](int code) {
          if (char const* const text = describe_cublas(code)) return text;
          if (char const* const text = describe_cudnn(code)) return text;
          if (char const* const text = describe_cusolver(code)) return text;
          if (char const* const text = describe_cufft(code)) return text;
          return cudaGetErrorString(static_cast<cudaError_t>(code));
        },
    .is_recorder = false,
    .malloc_device = [](void** p, std::size_t bytes) { return int(cudaMalloc(p, bytes)); },
    .free_device = [](void* p) { return int(cudaFree(p)); },
    .malloc_host =
        [](void** p, std::size_t bytes) {
          return int(cudaHostAlloc(p, bytes, cudaHostAllocPortable));
        },
    .free_host = [](void* p) { return int(cudaFreeHost(p)); },
    .retired = nullptr,
    .announce = nullptr,
    .library_versions = detail::library_versions,
    .stream_create_with =
        [](void** s, int priority) {
          return int(cudaStreamCreateWithPriority(reinterpret_cast<cudaStream_t*>(s),
                                                  cudaStreamNonBlocking, priority));
        },
    .event_query =
        [](void* e, bool* reached) {
          cudaError_t const code = cudaEventQuery(detail::event(e));
          *reached = code == cudaSuccess;
          return code == cudaErrorNotReady ? 0 : int(code);
        },
    .can_access_peer =
        [](int device, int peer, bool* can) {
          int answer = 0;
          int const code = int(cudaDeviceCanAccessPeer(&answer, device, peer));
          return *can = code == 0 && answer != 0, code;
        },
    .enable_peer =
        [](int peer) {
          int const code = int(cudaDeviceEnablePeerAccess(peer, 0));
          if (code != int(cudaErrorPeerAccessAlreadyEnabled)) return code;
          return cudaGetLastError(), 0;
        },
    .stream_device =
        [](void* s, int* device) {
#if CUDART_VERSION >= 12080
          if (s) return int(cudaStreamGetDevice(detail::stream(s), device));
#endif
          return int(cudaGetDevice(device));
        },
    .is_read_later =
        [](void const* p, bool* later) {
          cudaPointerAttributes a;
          int device = 0, shares_pages = 0;
          int code = int(cudaPointerGetAttributes(&a, p));
          *later = code == 0 && a.type != cudaMemoryTypeUnregistered;  // pinned or managed
          // cards that use the page tables of the host read pageable memory directly, after the
          // call
          if (code == 0 && !*later) code = int(cudaGetDevice(&device));
          if (code == 0 && !*later)
            code = int(cudaDeviceGetAttribute(
                &shares_pages, cudaDevAttrPageableMemoryAccessUsesHostPageTables, device));
          if (shares_pages != 0) *later = true;
          return code == 0 ? 0 : (cudaGetLastError(), code);
        },
    .timed_event_create =
        [](void** e) {
          return int(cudaEventCreateWithFlags(reinterpret_cast<cudaEvent_t*>(e), cudaEventDefault));
        },
    .event_elapsed =
        [](float* milliseconds, void* begin, void* end) {
          return int(cudaEventElapsedTime(milliseconds, detail::event(begin), detail::event(end)));
        },
#if LOCUS_NVTX
    .range_push = [](char const* name) { return nvtxRangePushA(name); },
    .range_pop = [] { return nvtxRangePop(); },
#else
    .range_push = nullptr,
    .range_pop = nullptr,
#endif
    .algorithm =
        [](runtime::cuda_algorithm const& a) {
          return a.on_card ? a.on_card(a.body, a.workspace, a.bytes, a.stream)
                           : int(cudaErrorInvalidDeviceFunction);
        },
    .blas_create = [](void** handle) { return make_blas_handle(cublas_table::instance(), handle); },
    .blas_destroy = [](void* handle) { delete static_cast<blas_handle*>(handle); },
    .has_context = detail::has_context,
    .peek_error = [] { return int(cudaPeekAtLastError()); },
    .stream_is_captured =
        [](void* s, bool* is) {
          cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
          int const code = int(cudaStreamIsCapturing(detail::stream(s), &status));
          // CUDA cannot query the null stream while another stream is captured
          bool const another = code == int(cudaErrorStreamCaptureImplicit);
          if (another) cudaGetLastError();  // an answer, not an error of the program
          *is = another || status != cudaStreamCaptureStatusNone;
          return *is ? 0 : code;
        },
    .shared_memory =
        [] {
          struct statvfs s;
          return ::statvfs("/dev/shm", &s) == 0
                     ? std::int64_t(s.f_blocks) * std::int64_t(s.f_frsize)
                     : 0;
        },
    .blas_workspace = cublas_workspace,
    .gemm_with_row =
        [](void* handle, runtime::cuda_gemm const& what, bool asks, bool* has) {
          return detail::cause_of(
              static_cast<blas_handle*>(handle)->multiply_with_row(what, asks, *has));
        },
    .blas_open = [] { static_cast<void>(cublas_table::instance()); },
    .dnn_open = [] { static_cast<void>(cudnn_table::instance()); },
    .dnn_create =
        [](void** handle) {
          return detail::cause_in_cudnn(make_dnn_handle(cudnn_table::instance(), handle));
        },
    .dnn_destroy = [](void* handle) { delete static_cast<dnn_handle*>(handle); },
    .dnn_ask =
        [](void* handle, runtime::cuda_convolution const& what,
           runtime::cuda_convolution_choice* choice) {
          return detail::cause_in_cudnn(static_cast<dnn_handle*>(handle)->ask(what, choice));
        },
    .dnn_convolve =
        [](void* handle, runtime::cuda_convolution const& what,
           runtime::cuda_convolution_arrays const& arrays) {
          return detail::cause_in_cudnn(static_cast<dnn_handle*>(handle)->convolve(what, arrays));
        },
};

/// Runs before main, in every program with a unit of nvcc; it calls no function of CUDA.
inline bool const registered = (runtime::gpu_api = &real_api, runtime::nccl = &real_nccl, true);

}  // namespace locus::cuda_side

LOCUS_LEAN_END
