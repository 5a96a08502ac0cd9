// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that backend/cuda/convolutions.hpp declares.
#pragma once
#include <locus/backend/cuda/convolutions.hpp>    // the declarations
#include <locus/backend/cuda/streams.hpp>         // current_card
#include <locus/core/macros.hpp>                  // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/runtime/collective_settings.hpp>  // issue_lock
#include <locus/watch/log.hpp>                    // warn

LOCUS_COLD_BEGIN

namespace locus::runtime {

LOCUS_FUNCTION void say_refusal(int code, std::string_view what, device on) {
  if (__atomic_exchange_n(&detail::refusal_was_said, true, __ATOMIC_RELAXED)) return;
  log_line line;
  line << "locus: cuDNN does not compute " << what << " on " << on << ": "
       << std::string_view(gpu_api->describe(code)) << "; products of cuBLAS compute it";
  warn(line);
}

}  // namespace locus::runtime

namespace locus::runtime::detail {

LOCUS_FUNCTION void open_convolutions(logical_device& d) {
  lock_guard hold(convolutions_lock);
  cuda_convolutions& mine = cuda_queue_of(d, queue_kind::compute).convolutions;
  if (mine.handle || mine.none) return;
  if (gpu_api->dnn_open) gpu_api->dnn_open();  // reading files takes long: no other thread waits
  current_card const scope(d);
  void* handle = nullptr;
  int code;
  {
    lock_guard issuing(issue_lock);  // cuDNN allocates memory
    code = gpu_api->dnn_create(&handle);
  }
  if (cuda_api::is_refused(code)) {
    if (code != cuda_api::of_cudnn) say_refusal(code, "convolutions", d.name);
    return __atomic_store_n(&mine.none, true, __ATOMIC_RELEASE);
  }
  check_cuda(code, "opening cuDNN", d.name);
  __atomic_store_n(&mine.handle, handle, __ATOMIC_RELEASE);
}

}  // namespace locus::runtime::detail

namespace locus::runtime {

LOCUS_FUNCTION void* convolutions_of(logical_device& d) {
  if (!gpu_api->dnn_create) return nullptr;
  cuda_convolutions& mine = cuda_queue_of(d, queue_kind::compute).convolutions;
  void* handle = __atomic_load_n(&mine.handle, __ATOMIC_ACQUIRE);
  if (handle || __atomic_load_n(&mine.none, __ATOMIC_ACQUIRE)) return handle;
  detail::open_convolutions(d);
  return mine.handle;
}

}  // namespace locus::runtime

LOCUS_COLD_END
