// SPDX-License-Identifier: Apache-2.0
// All functions of CUDA, cuBLAS and cuDNN that locus calls, as one table. A unit of nvcc fills it
// with the real functions; tests fill it with a recorder. Calls need no CUDA header.
#pragma once
#include <cstddef>  // size_t
#include <cstdint>  // uint64_t

#include <locus/core/hooks.hpp>     // gpu_api
#include <locus/core/macros.hpp>    // LOCUS_SHARED_STATE
#include <locus/shape/element.hpp>  // element

namespace locus {
struct launch_site;
}

namespace locus::runtime {

/// One kernel launch: the symbol for the driver, and the same body as host code for the recorder.
struct cuda_launch {
  static constexpr std::size_t max_body_bytes = 32764;  // CUDA 13's limit, on every GPU
  void const* symbol = nullptr;                         // null in a unit that nvcc did not compile
  void (*on_host)(void const* body, unsigned blocks, unsigned threads) = nullptr;
  void* body = nullptr;  // the one kernel parameter
  std::size_t body_bytes = 0;
  unsigned blocks = 1, threads = 256;
  void* stream = nullptr;
};

/// One matrix product for cuBLAS: column-major, op(a) (m,k), op(b) (k,n), c (m,n); or a batch of
/// them at fixed strides, in elements. Halves are added in float.
struct cuda_gemm {
  element type = element::f32;  // floating or complex
  bool transpose_a = false, transpose_b = false;
  bool tf32 = false;  // float operands lose all but 10 bits of fraction
  bool adds = false;  // c += the product; otherwise c is not read
  int m = 0, n = 0, k = 0, lda = 0, ldb = 0, ldc = 0, batch = 1;
  std::int64_t a_step = 0, b_step = 0, c_step = 0;
  void const *a = nullptr, *b = nullptr;
  void* c = nullptr;
  void* stream = nullptr;
  void* workspace = nullptr;  // on the card, for this product; null: cuBLAS' own
  std::size_t workspace_bytes = 0;
  void const* row = nullptr;  // m numbers that gemm_with_row adds to each column of c
  bool relu = false;          // and then c = max(c, 0)
};

/// One algorithm of a library. With `bytes` and without `workspace` the call is a query: *bytes
/// becomes the workspace that it needs. The body is trivially copyable; a recorder runs it as host
/// code.
struct cuda_algorithm {
  char const* name = nullptr;  // the library's function, for counts and messages
  int (*on_card)(void const* body, void* workspace, std::size_t* bytes,
                 void* stream) = nullptr;  // null over a recorder
  void (*on_host)(void const* body) = nullptr;
  void const* body = nullptr;
  std::size_t body_bytes = 0;
  void* workspace = nullptr;
  std::size_t* bytes = nullptr;  // null: it needs no workspace
  void* stream = nullptr;
};

/// The array of a convolution that is computed from the other two.
enum class convolution_result : unsigned char { y, dx, dkernel };

/// One convolution for cuDNN: pixels are channels-last, the kernel is (filters, h.size, w.size,
/// channels / groups), and padding adds as many zeros after an axis as before it.
struct cuda_convolution {
  struct axis {
    int in = 1, size = 1, stride = 1, dilation = 1, padding = 0, out = 1;
    friend constexpr bool operator==(axis const&, axis const&) = default;
  };
  convolution_result result = convolution_result::y;
  element type = element::f32;  // floating; halves are added as floats
  bool tf32 = false;            // float operands lose all but 10 bits of fraction
  int images = 0, channels = 1, filters = 1, groups = 1;
  axis h, w;
  std::size_t most_workspace = 0;
  friend constexpr bool operator==(cuda_convolution const&, cuda_convolution const&) = default;
};

/// The algorithm that cuDNN chose for a convolution.
struct cuda_convolution_choice {
  std::size_t workspace = 0;  // bytes
  bool was_computed = false;  // a call succeeded: later calls are not refused
};

/// The arrays of one call: x, kernel, y without the result; then the result.
struct cuda_convolution_arrays {
  void const *a = nullptr, *b = nullptr;
  void* result = nullptr;
  bool adds = false;  // result += the convolution; otherwise the result is not read
  void* stream = nullptr;
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
};

struct cuda_device_facts {
  char name[128]{};
  std::size_t total_bytes = 0;
  int major = 0, minor = 0;  // compute capability
  char uuid[48]{};           // GPU-8-4-4-4-12 digits
  char bus[24]{};            // PCI: domain:bus:device.0
};

/// All functions return 0 for success, or a code that `describe` turns into text.
struct cuda_api {
  static constexpr int host_memory = -1,
                       managed_memory = -2;  // managed: memory of all devices and the host
  int (*driver_version)(int* version);
  int (*runtime_version)(int* version);
  int (*device_count)(int* count);
  int (*get_device)(int* device);
  int (*set_device)(int device);
  int (*device_facts)(int device, cuda_device_facts* facts);
  int (*kernel_runs)(bool* runs);  // this binary has code for the current device
  int (*memory_free)(std::size_t* free, std::size_t* total);
  int (*memcpy_async)(void* to, void const* from, std::size_t bytes,
                      void* stream);  // any direction
  int (*memcpy_peer_async)(void* to, int to_device, void const* from, int from_device,
                           std::size_t bytes, void* stream);
  int (*stream_create)(void** stream);
  int (*stream_destroy)(void* stream);
  int (*stream_synchronize)(void* stream);
  int (*stream_wait_event)(void* stream, void* event);
  int (*event_create)(void** event);
  int (*event_destroy)(void* event);
  int (*event_record)(void* event, void* stream);
  int (*event_synchronize)(void* event);
  int (*launch)(cuda_launch const& what);
  int (*last_error)();
  int (*gemm)(void* handle, cuda_gemm const& what);      // of blas_create
  int (*device_of_pointer)(void const* p, int* device);  // or one of the two constants above
  char const* (*describe)(int code);
  bool is_recorder;
  int (*malloc_device)(void** p, std::size_t bytes);  // of the current device
  int (*free_device)(void* p);                        // waits until the device is idle
  int (*malloc_host)(void** p, std::size_t bytes);    // pinned, for all devices
  int (*free_host)(void* p);
  void (*retired)(void* p, std::size_t bytes, void* stream);  // no later work uses the memory
  void (*announce)(
      launch_site const& next);  // of the task that this thread issues next; null: no recorder
  int (*library_versions)(int* cublas, int* nccl,
                          int* cudnn);                     // opens the libraries; 0: not found
  int (*stream_create_with)(void** stream, int priority);  // 0; negative is higher
  int (*event_query)(void* event, bool* reached);
  int (*can_access_peer)(int device, int peer, bool* can);
  int (*enable_peer)(int peer);                     // the current device may read memory of peer
  int (*stream_device)(void* stream, int* device);  // null: the current device
  int (*is_read_later)(void const* p,
                       bool* later);  // of host memory: a copy from it returns before
  // for watchers: times of events, and ranges of NVTX (null without NVTX)
  int (*timed_event_create)(void** event);
  int (*event_elapsed)(float* milliseconds, void* begin, void* end);
  int (*range_push)(char const* name);
  int (*range_pop)();
  int (*algorithm)(cuda_algorithm const& what);
  // cuBLAS; several threads share a handle
  int (*blas_create)(void** handle);  // for the current device
  void (*blas_destroy)(void* handle);
  int (*has_context)(int device, bool* has);  // creates none
  int (*peek_error)();                        // the code of last_error, which stays set
  int (*stream_is_captured)(void* stream, bool* is);
  std::int64_t (*shared_memory)();           // size of /dev/shm, which NCCL's ranks use; 0: unknown
  std::size_t (*blas_workspace)(int major);  // wanted on a card of that capability
  // c = the product + the row: launched, unless `asks` makes it a query. *has: cuBLASLt has a
  // kernel for it; false: nothing was launched
  int (*gemm_with_row)(void* handle, cuda_gemm const& what, bool asks, bool* has) = nullptr;
  // open cuBLAS and cuDNN, if they are installed; handles made later load no library. Null: nothing
  // to open
  void (*blas_open)() = nullptr;
  void (*dnn_open)() = nullptr;
  // cuDNN; several threads share a handle. Null: cuDNN is not used
  int (*dnn_create)(void** handle) = nullptr;  // for the current device
  void (*dnn_destroy)(void* handle) = nullptr;
  int (*dnn_ask)(void* handle, cuda_convolution const& what,
                 cuda_convolution_choice* choice) = nullptr;
  int (*dnn_convolve)(void* handle, cuda_convolution const& what,
                      cuda_convolution_arrays const& arrays) = nullptr;

  /// codes of cuDNN functions are this number plus a status of cuDNN; this number alone: no cuDNN
  static constexpr int of_cudnn = 200000;
  /// means: cuDNN launched nothing, and will answer the same for this convolution
  static constexpr bool is_refused(int code) { return code >= of_cudnn && code < of_cudnn + 4000; }
};

}  // namespace locus::runtime
