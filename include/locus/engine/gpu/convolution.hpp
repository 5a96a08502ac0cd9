// SPDX-License-Identifier: Apache-2.0
// A convolution by cuDNN on the compute stream of a device.
#pragma once
#include <locus/core/macros.hpp>          // LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/machine/launch_site.hpp>  // launch_site
#include <locus/runtime/cuda_api.hpp>     // convolution_result

LOCUS_COLD_BEGIN

namespace locus::cuda_side {

namespace detail {
constexpr std::string_view name_of_convolution(runtime::convolution_result r) {
  return r == runtime::convolution_result::y    ? "a convolution"
         : r == runtime::convolution_result::dx ? "the gradient of a convolution's input"
                                                : "the gradient of a convolution's kernel";
}
/// fails: device_error, device_lost, for a code that is no refusal
LOCUS_FUNCTION bool is_done(int code, runtime::cuda_convolution const& c,
                            runtime::logical_device& on);
}  // namespace detail

/// means: whether cuDNN computes the convolution c with at most a sixteenth of the device's limit as workspace; `choice`
///        becomes cuDNN's choice. Precision and limit of c are filled in
/// cost:  a look into the handle's list of shapes; cuDNN chooses at the first call with a shape
/// fails: device_error, device_lost
LOCUS_FUNCTION bool ask_convolution(launch_site const& site, runtime::cuda_convolution& c,
                                    runtime::cuda_convolution_choice& choice);

/// means: the result of c; false: cuDNN refuses it, and enqueued nothing. While workspace is measured nothing is
///        enqueued
/// fails: device_error, device_lost
LOCUS_FUNCTION bool start_convolution(launch_site const& site, runtime::cuda_convolution const& c,
                                      runtime::cuda_convolution_arrays arrays);

}  // namespace locus::cuda_side

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/engine/gpu/bodies/convolution.hpp>  // bodies of the functions above
#endif
