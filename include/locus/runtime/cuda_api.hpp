// SPDX-License-Identifier: Apache-2.0
// Every CUDA, cuBLAS and cuDNN entry point that locus uses, as one table. A unit of nvcc fills it with the
// real ones; tests fill it with a recorder. No CUDA header is needed to call it.
#pragma once
#include <cstddef>  // size_t
#include <cstdint>  // uint64_t

#include <locus/core/macros.hpp>    // LOCUS_SHARED_STATE
#include <locus/shape/element.hpp>  // element

namespace locus {
struct launch_site;
}

namespace locus::runtime {

/// One kernel launch: the symbol for the driver, the same body as host code for the recorder.
struct cuda_launch {
  static constexpr std::size_t max_body_bytes = 32764;  // what CUDA 13 grants on every GPU
  void const* symbol = nullptr;                         // null in a unit that nvcc did not compile
  void (*on_host)(void const* body, unsigned blocks, unsigned threads) = nullptr;
  void* body = nullptr;  // the one kernel parameter
  std::size_t body_bytes = 0;
  unsigned blocks = 1, threads = 256;
  void* stream = nullptr;
};

/// One matrix product as cuBLAS sees it: column-major, op(a) (m,k), op(b) (k,n), c (m,n); or a batch
/// of them, so many elements apart. Halves are added as floats.
struct cuda_gemm {
  element type = element::f32;  // floating
  bool transpose_a = false, transpose_b = false;
  bool tf32 = false;  // floats are read with 10 bits of fraction, added as floats
  bool adds = false;  // c += the product; otherwise c is not read
  int m = 0, n = 0, k = 0, lda = 0, ldb = 0, ldc = 0, batch = 1;
  std::int64_t a_step = 0, b_step = 0, c_step = 0;
  void const *a = nullptr, *b = nullptr;
  void* c = nullptr;
  void* stream = nullptr;
  void* workspace = nullptr;  // of the card, for this product; null: cuBLAS' own
  std::size_t workspace_bytes = 0;
  void const* row = nullptr;  // m numbers that are added to each column of c, by gemm_with_row
  bool relu = false;          // then max(c, 0)
};

/// One algorithm of a library. With bytes and without workspace it is a question: *bytes becomes what it
/// needs, and nothing is launched. The body is trivially copyable; a recorder runs it as host code.
struct cuda_algorithm {
  char const* name = nullptr;  // of the library's function: for counts and messages
  int (*on_card)(void const* body, void* workspace, std::size_t* bytes,
                 void* stream) = nullptr;  // null over a recorder
  void (*on_host)(void const* body) = nullptr;
  void const* body = nullptr;
  std::size_t body_bytes = 0;
  void* workspace = nullptr;
  std::size_t* bytes = nullptr;  // null: it needs no workspace
  void* stream = nullptr;
};

/// Which of a convolution's three arrays is computed from the other two.
enum class convolution_result : unsigned char { y, dx, dkernel };

/// One convolution as cuDNN sees it: pixels are channels-last, the kernel is (filters, h.size, w.size,
/// channels / groups), and an axis has as many zeros behind it as in front.
struct cuda_convolution {
  struct axis {
    int in = 1, size = 1, stride = 1, dilation = 1, padding = 0, out = 1;
    friend constexpr bool operator==(axis const&, axis const&) = default;
  };
  convolution_result result = convolution_result::y;
  element type = element::f32;  // floating; halves are added as floats
  bool tf32 = false;            // floats are read with 10 bits of fraction, added as floats
  int images = 0, channels = 1, filters = 1, groups = 1;
  axis h, w;
  std::size_t most_workspace = 0;
  friend constexpr bool operator==(cuda_convolution const&, cuda_convolution const&) = default;
};

/// The choice of cuDNN for a convolution.
struct cuda_convolution_choice {
  std::size_t workspace = 0;  // bytes
  bool was_computed = false;  // a call of it succeeded: cuDNN refuses none from then on
};

/// The arrays of one call, in the order x, kernel, y without the result, which comes last.
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

/// All functions return 0 for success, or a code that `describe` puts into words.
struct cuda_api {
  static constexpr int host_memory = -1,
                       managed_memory = -2;  // managed: of every device and the host
  int (*driver_version)(int* version);
  int (*runtime_version)(int* version);
  int (*device_count)(int* count);
  int (*get_device)(int* device);
  int (*set_device)(int device);
  int (*device_facts)(int device, cuda_device_facts* facts);
  int (*kernel_runs)(bool* runs);  // a kernel of this binary has code for the current device
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
  int (*device_of_pointer)(void const* p, int* device);  // or one of the two above
  char const* (*describe)(int code);
  bool is_recorder;
  int (*malloc_device)(void** p, std::size_t bytes);  // of the current device
  int (*free_device)(void* p);                        // when the device has finished everything
  int (*malloc_host)(void** p, std::size_t bytes);    // pinned, for all devices
  int (*free_host)(void* p);
  void (*retired)(void* p, std::size_t bytes, void* stream);  // no call: nobody uses it behind this
  void (*announce)(launch_site const& next);  // no call: the task that this thread issues next
  int (*library_versions)(int* cublas, int* nccl,
                          int* cudnn);                     // opens the libraries; 0: not there
  int (*stream_create_with)(void** stream, int priority);  // 0; negative is higher
  int (*event_query)(void* event, bool* reached);
  int (*can_access_peer)(int device, int peer, bool* can);
  int (*enable_peer)(int peer);                     // the current device reaches what lies on peer
  int (*stream_device)(void* stream, int* device);  // null: the current device
  int (*is_read_later)(void const* p,
                       bool* later);  // of host memory: a copy from it returns before
  // what watches a program: times of events, ranges of NVTX (null where there is no NVTX)
  int (*timed_event_create)(void** event);
  int (*event_elapsed)(float* milliseconds, void* begin, void* end);
  int (*range_push)(char const* name);
  int (*range_pop)();
  int (*algorithm)(cuda_algorithm const& what);
  // cuBLAS; one handle serves several threads
  int (*blas_create)(void** handle);  // for the current device
  void (*blas_destroy)(void* handle);
  int (*has_context)(int device, bool* has);  // makes none
  int (*peek_error)();                        // what last_error would say; it stays
  int (*stream_is_captured)(void* stream, bool* is);
  std::int64_t (*shared_memory)();  // bytes of /dev/shm, where ranks of NCCL meet; 0: unknown
  std::size_t (*blas_workspace)(int major);  // bytes that it wants on a card of that capability
  // c = the product + the row: launched, unless this is only a question. *has: cuBLASLt has a kernel for it; false: nothing
  // was launched
  int (*gemm_with_row)(void* handle, cuda_gemm const& what, bool asks, bool* has) = nullptr;
  // these open cuBLAS and cuDNN, if they are there; then a handle is made without reading a library. Null: nothing to open
  void (*blas_open)() = nullptr;
  void (*dnn_open)() = nullptr;
  // cuDNN; one handle serves several threads. Null: none is used
  int (*dnn_create)(void** handle) = nullptr;  // for the current device
  void (*dnn_destroy)(void* handle) = nullptr;
  int (*dnn_ask)(void* handle, cuda_convolution const& what,
                 cuda_convolution_choice* choice) = nullptr;
  int (*dnn_convolve)(void* handle, cuda_convolution const& what,
                      cuda_convolution_arrays const& arrays) = nullptr;

  /// codes of the four above are this number plus a status of cuDNN; the number alone: there is no cuDNN
  static constexpr int of_cudnn = 200000;
  /// means: cuDNN has begun nothing, and gives this answer for this convolution each time
  static constexpr bool is_refused(int code) { return code >= of_cudnn && code < of_cudnn + 4000; }
};

/// Null while no unit of this program was compiled by nvcc (or by a test with a recorder).
LOCUS_SHARED_STATE inline constinit cuda_api const* gpu_api = nullptr;

}  // namespace locus::runtime
