// SPDX-License-Identifier: Apache-2.0
// cuDNN 9, opened at the first convolution: its functions with descriptors. It needs no header of
// CUDA or cuDNN: handles are opaque, constants are copied from cuDNN.
#pragma once

#include <locus/core/lock.hpp>         // mutex
#include <locus/core/macros.hpp>       // LOCUS_LEAN_BEGIN, LOCUS_FUNCTION
#include <locus/runtime/cuda_api.hpp>  // cuda_convolution

LOCUS_LEAN_BEGIN

namespace locus::cuda_side {

/// The entry points of cuDNN; its handles and descriptors are opaque.
struct cudnn_table {
  // codes of this table: not_found, or not_found + a status of cuDNN
  static constexpr int not_found = runtime::cuda_api::of_cudnn, no_algorithm = not_found + 3999,
                       execution_failed = not_found + 5000;
  // constants of cuDNN: layout with channels last; cross-correlation; element types; math types
  static constexpr int channels_last = 1, cross_correlation = 1, real_float = 0, real_double = 1,
                       real_half = 2, real_bfloat16 = 9, default_math = 0, fused_math = 3,
                       converting_math = 2, deterministic = 1;
  /// The layout of cudnnConvolutionFwdAlgoPerf_t and its siblings: facts about one algorithm.
  struct answer {
    int algorithm, status;
    float milliseconds;
    std::size_t workspace;
    int determinism, math, reserved[3];
  };
  /// The functions for one result: they read a and b and write c.
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
  of_result results[3];  // indexed by convolution_result
  bool complete = false;

  static cudnn_table const& instance();
  /// means: the library that LOCUS_CUDNN names, else libcudnn from dlopen or Python packages
  /// after: warns if the library is not cuDNN 9
  [[gnu::cold]] static cudnn_table find();

 private:
  /// means: the name of the first missing function; null: all were found
  char const* take_all(void* library);
  [[gnu::cold]] void say_unusable(char const* named, char const* missing, void* library) const;
};

/// means: the text of a cuDNN status, with advice; null for codes of other libraries
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

/// A cuDNN handle for one logical device, with descriptors and an algorithm for each convolution.
/// The stream is state of the handle: one lock covers setting it and the call, so that several
/// threads may compute.
class dnn_handle {
 public:
  dnn_handle(cudnn_table const& t, void* raw) : table_(t), raw_(raw) {}
  dnn_handle(dnn_handle const&) = delete;
  ~dnn_handle();

  /// means: chooses an algorithm and writes its facts to *choice; returns 0, or a code for
  ///        describe_cudnn
  int ask(runtime::cuda_convolution const& what, runtime::cuda_convolution_choice* choice);
  int convolve(runtime::cuda_convolution const& what,
               runtime::cuda_convolution_arrays const& arrays);

 private:
  static constexpr int most_known = 128;  // the oldest is replaced
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
  /// means: the code of a choice. An error that is no refusal, such as a lack of memory, is
  ///        forgotten: the next call asks cuDNN again
  int answer_of(known& k) const;
  known& find(runtime::cuda_convolution const& what);
  void drop(known& k) const;
  /// makes the four descriptors; returns a status of cuDNN
  int describe(known& k) const;
  /// float products without TF32 need fused_math: under default math cuDNN may use TF32
  static int math_of(runtime::cuda_convolution const& g) {
    return g.type == element::f32 && !g.tf32 ? cudnn_table::fused_math : cudnn_table::default_math;
  }
  /// true: the algorithm adds plain products; FFT and Winograd transform their operands, and round
  /// otherwise
  static bool sums_products(runtime::convolution_result r, int algorithm) {
    return r == runtime::convolution_result::y ? algorithm >= 0 && algorithm <= 2 : algorithm == 1;
  }
  /// means: the first algorithm in the order of cuDNN that is deterministic and fits; returns a
  ///        code
  int choose(known& k) const;

  cudnn_table const& table_;
  void* raw_;
  mutex lock_;
  known known_[most_known];
  unsigned next_ = 0;
};

/// means: makes a dnn_handle for the current device; returns 0, or a code for describe_cudnn
LOCUS_FUNCTION int make_dnn_handle(cudnn_table const& t, void** handle);

}  // namespace locus::cuda_side

LOCUS_LEAN_END

#if LOCUS_HAS_BODIES
#include <locus/backend/cuda/bodies/real_cudnn.hpp>  // bodies of the functions above
#endif
