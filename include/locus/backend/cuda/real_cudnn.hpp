// SPDX-License-Identifier: Apache-2.0
// cuDNN 9, opened for the first convolution: its functions for convolutions, which take descriptors. No header
// of CUDA or cuDNN is needed here: handles are opaque, numbers are cuDNN's own.
#pragma once
#include <dlfcn.h>  // dlopen

#include <locus/backend/cuda/open_library.hpp>  // open_library
#include <locus/core/config.hpp>                // LOCUS_LEAN_BEGIN
#include <locus/core/lock.hpp>                  // mutex
#include <locus/runtime/cuda_api.hpp>           // cuda_convolution
#include <locus/runtime/log.hpp>                // warn
#include <locus/runtime/variables.hpp>          // cudnn_said

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

  static cudnn_table const& instance() {
    static cudnn_table const table = find();
    return table;
  }
  /// means: the library that LOCUS_CUDNN names, else libcudnn of the loader or of Python's packages
  /// after: a library that is no cuDNN 9 is said once
  [[gnu::cold]] static cudnn_table find() {
    cudnn_table t;
    char const* const named = runtime::cudnn_said();
    if (named && std::string_view(named) == "off") return t;
    void* const library = named ? dlopen(named, RTLD_NOW | RTLD_LOCAL)
                                : open_library({"libcudnn.so.9", "libcudnn.so"});
    if (!library && !named) return t;
    char const* const missing = library ? t.take_all(library) : "cudnnGetVersion";
    t.complete = missing == nullptr && t.version() >= 90000;
    if (!t.complete) t.say_unusable(named, missing, library);
    return t;
  }

 private:
  /// means: the first function that is not there; null: all are
  char const* take_all(void* library) {
    char const* missing = nullptr;
    auto const take = [&](auto& to, char const* name) {
      if (!take_function(library, to, name) && !missing) missing = name;
    };
    take(version, "cudnnGetVersion");
    take(create, "cudnnCreate");
    take(destroy, "cudnnDestroy");
    take(set_stream, "cudnnSetStream");
    take(make_tensor, "cudnnCreateTensorDescriptor");
    take(set_tensor, "cudnnSetTensor4dDescriptor");
    take(drop_tensor, "cudnnDestroyTensorDescriptor");
    take(make_filter, "cudnnCreateFilterDescriptor");
    take(set_filter, "cudnnSetFilter4dDescriptor");
    take(drop_filter, "cudnnDestroyFilterDescriptor");
    take(make_window, "cudnnCreateConvolutionDescriptor");
    take(set_window, "cudnnSetConvolution2dDescriptor");
    take(set_math, "cudnnSetConvolutionMathType");
    take(set_groups, "cudnnSetConvolutionGroupCount");
    take(drop_window, "cudnnDestroyConvolutionDescriptor");
    take(results[0].choose, "cudnnGetConvolutionForwardAlgorithm_v7");
    take(results[0].workspace, "cudnnGetConvolutionForwardWorkspaceSize");
    take(results[0].compute, "cudnnConvolutionForward");
    take(results[1].choose, "cudnnGetConvolutionBackwardDataAlgorithm_v7");
    take(results[1].workspace, "cudnnGetConvolutionBackwardDataWorkspaceSize");
    take(results[1].compute, "cudnnConvolutionBackwardData");
    take(results[2].choose, "cudnnGetConvolutionBackwardFilterAlgorithm_v7");
    take(results[2].workspace, "cudnnGetConvolutionBackwardFilterWorkspaceSize");
    take(results[2].compute, "cudnnConvolutionBackwardFilter");
    return missing;
  }
  [[gnu::cold]] void say_unusable(char const* named, char const* missing, void* library) const {
    log_line line;
    line << "locus: ";
    if (named)
      line << "LOCUS_CUDNN is \"" << shown(named).view() << "\", which is ";
    else
      line << "the cuDNN that was found is ";
    if (!library)
      line << "no library that can be opened";
    else if (version && version() < 90000)
      line << "cuDNN " << int(version() / 1000) << "." << int(version() % 1000 / 100)
           << ", older than 9";
    else
      line << "no cuDNN 9: it lacks " << std::string_view(missing);
    runtime::warn(line << ", and convolutions are products of cuBLAS; write the path of a "
                          "libcudnn.so.9, off, or unset it");
  }
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
  ~dnn_handle() {
    for (known& k : known_) drop(k);
    table_.destroy(raw_);
  }

  /// means: the algorithm is chosen, and *choice says it. 0, or a code for describe_cudnn
  int ask(runtime::cuda_convolution const& what, runtime::cuda_convolution_choice* choice) {
    lock_guard hold(lock_);
    known& k = find(what);
    *choice = k.choice;
    return answer_of(k);
  }
  int convolve(runtime::cuda_convolution const& what,
               runtime::cuda_convolution_arrays const& arrays) {
    lock_guard hold(lock_);
    known& k = find(what);
    if (k.code != 0) return answer_of(k);
    double const one = 1, before = arrays.adds ? 1 : 0;
    float const one_float = 1, before_float = arrays.adds ? 1 : 0;
    bool const wide = what.type == element::f64;
    int status = table_.set_stream(raw_, arrays.stream);
    if (status == 0)
      status = functions(what).compute(
          raw_, wide ? static_cast<void const*>(&one) : &one_float, k.a, arrays.a, k.b, arrays.b,
          k.window, k.algorithm, arrays.workspace, arrays.workspace_bytes,
          wide ? static_cast<void const*>(&before) : &before_float, k.c, arrays.result);
    int const code = code_of(status);
    if (code == 0) k.choice.was_computed = true;
    if (runtime::cuda_api::is_refused(code)) k.code = code;  // and each time from now on
    return code;
  }

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
  int answer_of(known& k) const {
    int const code = k.code;
    if (code != 0 && !runtime::cuda_api::is_refused(code)) drop(k), k = {};
    return code;
  }
  known& find(runtime::cuda_convolution const& what) {
    for (known& k : known_)
      if (k.is_used && k.what == what) return k;
    known& fresh = known_[next_++ % most_known];
    drop(fresh);
    fresh = {};
    fresh.what = what, fresh.is_used = true;
    int const status = describe(fresh);
    fresh.code = status != 0 ? code_of(status) : choose(fresh);
    return fresh;
  }
  void drop(known& k) const {
    if (!k.is_used) return;
    auto const is_kernel = [&](runtime::convolution_result r) { return k.what.result == r; };
    auto const give = [&](void* d, bool kernel) {
      if (d) kernel ? table_.drop_filter(d) : table_.drop_tensor(d);
    };
    give(k.a, is_kernel(runtime::convolution_result::dx));
    give(k.b, is_kernel(runtime::convolution_result::y));
    give(k.c, is_kernel(runtime::convolution_result::dkernel));
    if (k.window) table_.drop_window(k.window);
  }
  /// the four descriptors; a status
  int describe(known& k) const {
    using enum runtime::convolution_result;
    runtime::cuda_convolution const& g = k.what;
    int const type = g.type == element::f64    ? cudnn_table::real_double
                     : g.type == element::f16  ? cudnn_table::real_half
                     : g.type == element::bf16 ? cudnn_table::real_bfloat16
                                               : cudnn_table::real_float;
    int const sums = g.type == element::f64 ? cudnn_table::real_double : cudnn_table::real_float;
    void*& x = g.result == dx ? k.c : k.a;
    void*& kernel = g.result == y ? k.b : g.result == dx ? k.a : k.c;
    void*& rows = g.result == y ? k.c : k.b;
    int status = 0;
    auto const then = [&](auto const& f) { status = status == 0 ? f() : status; };
    then([&] { return table_.make_tensor(&x); });
    then([&] { return table_.make_filter(&kernel); });
    then([&] { return table_.make_tensor(&rows); });
    then([&] { return table_.make_window(&k.window); });
    then([&] {
      return table_.set_tensor(x, cudnn_table::channels_last, type, g.images, g.channels, g.h.in,
                               g.w.in);
    });
    then([&] {
      return table_.set_tensor(rows, cudnn_table::channels_last, type, g.images, g.filters, g.h.out,
                               g.w.out);
    });
    then([&] {
      return table_.set_filter(kernel, type, cudnn_table::channels_last, g.filters,
                               g.channels / g.groups, g.h.size, g.w.size);
    });
    then([&] {
      return table_.set_window(k.window, g.h.padding, g.w.padding, g.h.stride, g.w.stride,
                               g.h.dilation, g.w.dilation, cudnn_table::cross_correlation, sums);
    });
    then([&] { return table_.set_groups(k.window, g.groups); });
    then([&] { return table_.set_math(k.window, math_of(g)); });
    return status;
  }
  /// full floats are multiplied as floats: default math reads 10 bits of their fraction
  static int math_of(runtime::cuda_convolution const& g) {
    return g.type == element::f32 && !g.tf32 ? cudnn_table::fused_math : cudnn_table::default_math;
  }
  /// sums of products alone: algorithms that transform their operands (FFT, Winograd) round otherwise
  static bool sums_products(runtime::convolution_result r, int algorithm) {
    return r == runtime::convolution_result::y ? algorithm >= 0 && algorithm <= 2 : algorithm == 1;
  }
  /// means: the first algorithm of cuDNN's order that is allowed; a code
  int choose(known& k) const {
    constexpr int most = 16;  // more than there are algorithms
    cudnn_table::answer answers[most];
    int found = 0;
    cudnn_table::of_result const& f = functions(k.what);
    int status = f.choose(raw_, k.a, k.b, k.window, k.c, most, &found, answers);
    if (status != 0) return code_of(status);
    int const math = math_of(k.what);
    for (int i = 0; i < found; ++i) {
      cudnn_table::answer const& one = answers[i];
      if (one.status != 0 || one.determinism != cudnn_table::deterministic ||
          !sums_products(k.what.result, one.algorithm))
        continue;
      if (math == cudnn_table::default_math) {
        if (one.math == cudnn_table::converting_math) continue;
        if (table_.set_math(k.window, one.math) != 0) continue;
      }
      std::size_t bytes = 0;
      status = f.workspace(raw_, k.a, k.b, k.window, k.c, one.algorithm, &bytes);
      if (status != 0 || bytes > k.what.most_workspace) continue;
      k.algorithm = one.algorithm, k.choice.workspace = bytes;
      return 0;
    }
    return cudnn_table::no_algorithm;
  }

  cudnn_table const& table_;
  void* raw_;
  mutex lock_;
  known known_[most_known];
  unsigned next_ = 0;
};

/// means: a dnn_handle for the current device; 0, or a code for describe_cudnn
inline int make_dnn_handle(cudnn_table const& t, void** handle) {
  if (!t.complete) return cudnn_table::not_found;
  void* raw = nullptr;
  if (int const status = t.create(&raw); status != 0) return cudnn_table::not_found + status;
  return *handle = new dnn_handle(t, raw), 0;
}

}  // namespace locus::cuda_side

LOCUS_LEAN_END
