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
/// fails: device_error or device_lost, for a code that is not a refusal
LOCUS_FUNCTION bool is_done(int code, runtime::cuda_convolution const& c,
                            runtime::logical_device& on);
}  // namespace detail

/// means: true: cuDNN computes convolution c with at most 1/16 of the device's limit as workspace,
///        and `choice` has its facts. Sets precision and workspace limit of c
/// cost:  a search in the handle's list; at the first call for a convolution, cuDNN chooses an
///        algorithm
/// fails: device_error, device_lost
LOCUS_FUNCTION bool ask_convolution(launch_site const& site, runtime::cuda_convolution& c,
                                    runtime::cuda_convolution_choice& choice);

/// means: issues convolution c; false: cuDNN refused it, and nothing was issued. While workspace is
///        measured, issues nothing
/// fails: device_error, device_lost
LOCUS_FUNCTION bool start_convolution(launch_site const& site, runtime::cuda_convolution const& c,
                                      runtime::cuda_convolution_arrays arrays);

}  // namespace locus::cuda_side

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/engine/gpu/bodies/convolution.hpp>  // bodies of the functions above
#endif
