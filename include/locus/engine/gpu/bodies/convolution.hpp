// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that engine/gpu/convolution.hpp declares.
#pragma once
#include <locus/backend/cuda/convolutions.hpp>  // convolutions_of
#include <locus/backend/cuda/streams.hpp>       // current_card
#include <locus/core/macros.hpp>                // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/engine/gpu/convolution.hpp>     // the declarations

LOCUS_COLD_BEGIN

namespace locus::cuda_side::detail {

LOCUS_FUNCTION bool is_done(int code, runtime::cuda_convolution const& c,
                            runtime::logical_device& on) {
  if (code == runtime::cuda_success) return true;
  if (!runtime::cuda_api::is_refused(code)) runtime::check_cuda(code, "cuDNN convolution", on.name);
  runtime::say_refusal(code, name_of_convolution(c.result), on.name);
  return false;
}

}  // namespace locus::cuda_side::detail

namespace locus::cuda_side {

LOCUS_FUNCTION bool ask_convolution(launch_site const& site, runtime::cuda_convolution& c,
                                    runtime::cuda_convolution_choice& choice) {
  runtime::require_card(*site.on);
  void* const handle = runtime::convolutions_of(*site.on);
  if (!handle) return false;
  c.tf32 = c.type == element::f32 && site.tf32;
  c.most_workspace = static_cast<std::size_t>(site.on->memory.limit) / 16;
  runtime::current_card const scope(*site.on);
  return detail::is_done(runtime::gpu_api->dnn_ask(handle, c, &choice), c, *site.on);
}

LOCUS_FUNCTION bool start_convolution(launch_site const& site, runtime::cuda_convolution const& c,
                                      runtime::cuda_convolution_arrays arrays) {
  if (site.only_measures("cuDNN")) return true;
  runtime::require_card(*site.on);
  runtime::cuda_queue& queue = runtime::cuda_queue_of(*site.on, queue_kind::compute);
  queue.note(site);
  arrays.stream = queue.stream;
  runtime::current_card const scope(*site.on);
  void* const handle = runtime::convolutions_of(*site.on);
  return detail::is_done(runtime::gpu_api->dnn_convolve(handle, c, arrays), c, *site.on);
}

}  // namespace locus::cuda_side

LOCUS_COLD_END
