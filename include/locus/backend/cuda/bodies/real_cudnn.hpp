// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that backend/cuda/real_cudnn.hpp declares.
#pragma once
#include <dlfcn.h>  // dlopen

#include <locus/backend/cuda/open_library.hpp>  // open_library
#include <locus/backend/cuda/real_cudnn.hpp>    // the declarations
#include <locus/core/macros.hpp>                // LOCUS_FUNCTION, LOCUS_LEAN_BEGIN
#include <locus/runtime/variables.hpp>          // cudnn_said
#include <locus/watch/log.hpp>                  // warn

LOCUS_LEAN_BEGIN

namespace locus::cuda_side {

LOCUS_FUNCTION cudnn_table const& cudnn_table::instance() {
  static cudnn_table const table = find();
  return table;
}

LOCUS_FUNCTION cudnn_table cudnn_table::find() {
  cudnn_table t;
  char const* const named = runtime::cudnn_said();
  if (named && std::string_view(named) == "off") return t;
  void* const library =
      named ? dlopen(named, RTLD_NOW | RTLD_LOCAL) : open_library({"libcudnn.so.9", "libcudnn.so"});
  if (!library && !named) return t;
  char const* const missing = library ? t.take_all(library) : "cudnnGetVersion";
  t.complete = missing == nullptr && t.version() >= 90000;
  if (!t.complete) t.say_unusable(named, missing, library);
  return t;
}

LOCUS_FUNCTION char const* cudnn_table::take_all(void* library) {
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

LOCUS_FUNCTION void cudnn_table::say_unusable(char const* named, char const* missing,
                                              void* library) const {
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

LOCUS_FUNCTION dnn_handle::~dnn_handle() {
  for (known& k : known_) drop(k);
  table_.destroy(raw_);
}

LOCUS_FUNCTION int dnn_handle::ask(runtime::cuda_convolution const& what,
                                   runtime::cuda_convolution_choice* choice) {
  lock_guard hold(lock_);
  known& k = find(what);
  *choice = k.choice;
  return answer_of(k);
}

LOCUS_FUNCTION int dnn_handle::convolve(runtime::cuda_convolution const& what,
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
  if (runtime::cuda_api::is_refused(code)) k.code = code;  // later calls get the same code
  return code;
}

LOCUS_FUNCTION int dnn_handle::answer_of(known& k) const {
  int const code = k.code;
  if (code != 0 && !runtime::cuda_api::is_refused(code)) drop(k), k = {};
  return code;
}

LOCUS_FUNCTION dnn_handle::known& dnn_handle::find(runtime::cuda_convolution const& what) {
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

LOCUS_FUNCTION void dnn_handle::drop(known& k) const {
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

LOCUS_FUNCTION int dnn_handle::describe(known& k) const {
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

LOCUS_FUNCTION int dnn_handle::choose(known& k) const {
  constexpr int most = 16;  // more than cuDNN has algorithms
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

LOCUS_FUNCTION int make_dnn_handle(cudnn_table const& t, void** handle) {
  if (!t.complete) return cudnn_table::not_found;
  void* raw = nullptr;
  if (int const status = t.create(&raw); status != 0) return cudnn_table::not_found + status;
  return *handle = new dnn_handle(t, raw), 0;
}

}  // namespace locus::cuda_side

LOCUS_LEAN_END
