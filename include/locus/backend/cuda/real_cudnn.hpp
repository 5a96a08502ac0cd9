// SPDX-License-Identifier: Apache-2.0
// cuDNN 9, opened for the first convolution: its functions for convolutions, which take descriptors. No header
// of CUDA or cuDNN is needed here: handles are opaque, numbers are cuDNN's own.
#pragma once

#include <locus/core/lock.hpp>         // mutex
#include <locus/core/macros.hpp>       // LOCUS_LEAN_BEGIN, LOCUS_FUNCTION
#include <locus/runtime/cuda_api.hpp>  // cuda_convolution

LOCUS_LEAN_BEGIN

namespace locus::cuda_side {

/// cuDNN's entry points; its handles and descriptors are opaque
struct cudnn_table {
  // codes of this table: a status of cuDNN behind not_found, which is no status
  static constexpr int not_found = runtime::cuda_api::of_cudnn, no_algorithm = not_found + 3999,
                       execution_failed = not_found + 5000;
  // cuDNN's numbers: channels last; a kernel that is not turned over; types; math
  static constexpr int channels_last = 1, cross_correlation = 1, real_float = 0, real_double = 1,
                       real_half = 2, real_bfloat16 = 9, default_math = 0, fused_math = 3,
                       converting_math = 2, deterministic = 1;
  /// cuDNN's figures for one algorithm
  struct answer {
    int algorithm, status;
    float milliseconds;
    std::size_t workspace;
    int determinism, math, reserved[3];
  };
  /// the functions for one result: a and b are read, c is written
  struct of_result {
    int (*choose)(void*, void* a, void* b, void* window, void* c, int wanted, int* found,
                  answer*) = nullptr;
    int (*workspace)(void*, void* a, void* b, void* window, void* c, int algorithm,
                     std::size_t*) = nullptr;
    int (*compute)(void*, void const* alpha, void* a, void const* at, void* b, void const* bt,
                   void* window, int algorithm, void* workspace, std::size_t, void const* beta,
                   void* c, void* ct) = nullptr;
  };
  std::size_t (*version)() = nullptr;
  int (*create)(void**) = nullptr;
  int (*destroy)(void*) = nullptr;
  int (*set_stream)(void*, void*) = nullptr;
  int (*make_tensor)(void**) = nullptr;
  int (*set_tensor)(void*, int format, int type, int n, int c, int h, int w) = nullptr;
  int (*drop_tensor)(void*) = nullptr;
  int (*make_filter)(void**) = nullptr;
  int (*set_filter)(void*, int type, int format, int k, int c, int h, int w) = nullptr;
  int (*drop_filter)(void*) = nullptr;
  int (*make_window)(void**) = nullptr;
  int (*set_window)(void*, int pad_h, int pad_w, int stride_h, int stride_w, int dilation_h,
                    int dilation_w, int mode, int type) = nullptr;
  int (*set_math)(void*, int) = nullptr;
  int (*set_groups)(void*, int) = nullptr;
  int (*drop_window)(void*) = nullptr;
  of_result results[3];  // of convolution_result
  bool complete = false;

  static cudnn_table const& instance();
  /// means: the library that LOCUS_CUDNN names, else libcudnn of the loader or of Python's packages
  /// after: a library that is no cuDNN 9 is said once
  [[gnu::cold]] static cudnn_table find();

 private:
  /// means: the first function that is not there; null: all are
  char const* take_all(void* library);
  [[gnu::cold]] void say_unusable(char const* named, char const* missing, void* library) const;
};

/// means: a status of cuDNN in words, with the remedy; null for codes of other libraries
constexpr char const* describe_cudnn(int code) {
  int const status = code - cudnn_table::not_found;
  if (status < 0 || status >= 10000) return nullptr;
  switch (status) {
  case 0: return "no cuDNN library (libcudnn.so.9) was found, or LOCUS_CUDNN is off";
  case 1001:
    return "CUDNN_STATUS_NOT_INITIALIZED: cuDNN could not begin on this card; look for a driver "
           "that is older than the library";
  case 1002:
  case 1008:
    return "cuDNN's own parts were not found or differ in version; look for a second cuDNN in "
           "LD_LIBRARY_PATH";
  case 3005:
  case 3006:
    return "cuDNN wants another driver or another CUDA; take the one that was built for it";
  case 3007: return "CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH: cuDNN has no code for this card";
  case 3999:
    return "it has no deterministic sum of products for this shape that fits the workspace";
  case 4003: return "CUDNN_STATUS_ALLOC_FAILED: cuDNN found no memory on the host";
  case 4004:
    return "CUDNN_STATUS_ALLOC_FAILED: cuDNN found no memory on the card outside of what locus "
           "holds; lower the memory limit of the device, leave memory growth on, or set "
           "LOCUS_CUDNN=off";
  default: break;
  }
  switch (status / 1000) {
  case 1: return "cuDNN cannot begin (a status of 1000 to 1999)";
  case 2: return "CUDNN_STATUS_BAD_PARAM: cuDNN refused a size or an address";
  case 3: return "CUDNN_STATUS_NOT_SUPPORTED";
  case 4:
    return "CUDNN_STATUS_INTERNAL_ERROR: cuDNN failed inside; update it, or set LOCUS_CUDNN=off";
  case 5: return "CUDNN_STATUS_EXECUTION_FAILED: a kernel of cuDNN failed on the card";
  default: return "a status that this locus does not know; update locus, or set LOCUS_CUDNN=off";
  }
}

/// A handle for one logical device, with the descriptors and the choice for each convolution that it was asked
/// for. Its stream is state of cuDNN: stream and call are one under a lock, so that several threads may compute.
class dnn_handle {
 public:
  dnn_handle(cudnn_table const& t, void* raw) : table_(t), raw_(raw) {}
  dnn_handle(dnn_handle const&) = delete;
  ~dnn_handle();

  /// means: the algorithm is chosen, and *choice says it. 0, or a code for describe_cudnn
  int ask(runtime::cuda_convolution const& what, runtime::cuda_convolution_choice* choice);
  int convolve(runtime::cuda_convolution const& what,
               runtime::cuda_convolution_arrays const& arrays);

 private:
  static constexpr int most_known = 128;  // the oldest makes room
  struct known {
    runtime::cuda_convolution what;
    void *a = nullptr, *b = nullptr, *c = nullptr, *window = nullptr;
    int algorithm = 0, code = 0;
    runtime::cuda_convolution_choice choice;
    bool is_used = false;
  };

  static int code_of(int status) { return status == 0 ? 0 : cudnn_table::not_found + status; }
  cudnn_table::of_result const& functions(runtime::cuda_convolution const& what) const {
    return table_.results[static_cast<int>(what.result)];
  }
  /// means: the code of a choice; one that is no refusal, as without memory, is forgotten, and cuDNN asked again
  int answer_of(known& k) const;
  known& find(runtime::cuda_convolution const& what);
  void drop(known& k) const;
  /// the four descriptors; a status
  int describe(known& k) const;
  /// full floats are multiplied as floats: default math reads 10 bits of their fraction
  static int math_of(runtime::cuda_convolution const& g) {
    return g.type == element::f32 && !g.tf32 ? cudnn_table::fused_math : cudnn_table::default_math;
  }
  /// sums of products alone: algorithms that transform their operands (FFT, Winograd) round otherwise
  static bool sums_products(runtime::convolution_result r, int algorithm) {
    return r == runtime::convolution_result::y ? algorithm >= 0 && algorithm <= 2 : algorithm == 1;
  }
  /// means: the first algorithm of cuDNN's order that is allowed; a code
  int choose(known& k) const;

  cudnn_table const& table_;
  void* raw_;
  mutex lock_;
  known known_[most_known];
  unsigned next_ = 0;
};

/// means: a dnn_handle for the current device; 0, or a code for describe_cudnn
LOCUS_FUNCTION int make_dnn_handle(cudnn_table const& t, void** handle);

}  // namespace locus::cuda_side

LOCUS_LEAN_END

#if LOCUS_HAS_BODIES
#include <locus/backend/cuda/bodies/real_cudnn.hpp>  // bodies of the functions above
#endif
