// SPDX-License-Identifier: Apache-2.0
// A convolution by cuDNN on the compute stream of a device.
#pragma once
#include <locus/backend/cuda/convolutions.hpp>  // convolutions_of
#include <locus/backend/seam.hpp>               // launch_site
#include <locus/core/config.hpp>                // LOCUS_COLD_BEGIN

LOCUS_COLD_BEGIN

namespace locus::cuda_side {

namespace detail {
constexpr std::string_view name_of_convolution(runtime::convolution_result r) {
  return r == runtime::convolution_result::y    ? "a convolution"
         : r == runtime::convolution_result::dx ? "the gradient of a convolution's input"
                                                : "the gradient of a convolution's kernel";
}
/// fails: device_error, device_lost, for a code that is no refusal
inline bool is_done(int code, runtime::cuda_convolution const& c, runtime::logical_device& on) {
  if (code == runtime::cuda_success) return true;
  if (!runtime::cuda_api::is_refused(code)) runtime::check_cuda(code, "cuDNN convolution", on.name);
  runtime::detail::say_refusal(code, name_of_convolution(c.result), on.name);
  return false;
}
}  // namespace detail

/// means: whether cuDNN computes the convolution c with at most a sixteenth of the device's limit as workspace; `choice`
///        becomes cuDNN's choice. Precision and limit of c are filled in
/// cost:  a look into the handle's list of shapes; cuDNN chooses at the first call with a shape
/// fails: device_error, device_lost
inline bool ask_convolution(launch_site const& site, runtime::cuda_convolution& c,
                            runtime::cuda_convolution_choice& choice) {
  runtime::require_card(*site.on);
  void* const handle = runtime::convolutions_of(*site.on);
  if (!handle) return false;
  c.tf32 = c.type == element::f32 && site.tf32;
  c.most_workspace = static_cast<std::size_t>(site.on->memory.limit) / 16;
  runtime::current_card const scope(*site.on);
  return detail::is_done(runtime::gpu_api->dnn_ask(handle, c, &choice), c, *site.on);
}

/// means: the result of c; false: cuDNN refuses it, and enqueued nothing. While workspace is measured nothing is
///        enqueued
/// fails: device_error, device_lost
inline bool start_convolution(launch_site const& site, runtime::cuda_convolution const& c,
                              runtime::cuda_convolution_arrays arrays) {
  if (site.only_measures("cuDNN")) return true;
  runtime::require_card(*site.on);
  runtime::cuda_queue& queue = runtime::cuda_queue_of(*site.on, queue_kind::compute);
  queue.note(site.record);
  arrays.stream = queue.stream;
  runtime::current_card const scope(*site.on);
  void* const handle = runtime::convolutions_of(*site.on);
  return detail::is_done(runtime::gpu_api->dnn_convolve(handle, c, arrays), c, *site.on);
}

}  // namespace locus::cuda_side

LOCUS_COLD_END
