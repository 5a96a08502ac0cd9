// SPDX-License-Identifier: Apache-2.0
// A recorder in place of CUDA: it counts every call, lets any call fail, and reports a kernel, copy
// or collective that uses bytes of another stream without an event between them.
// Include it, with LOCUS_CUDA_KERNELS defined to 1, before any other header of locus (in a unit of
// nvcc: after <locus/cuda.cuh>).
#pragma once
#include <locus/core/macros.hpp>             // LOCUS_HAS_BODIES
#include <locus/runtime/nccl_api.hpp>        // nccl_api
#include <locus/testing/recorded_api.hpp>    // recorded_api
#include <locus/testing/recorded_cards.hpp>  // recorded_cards

namespace locus::testing {

/// means: during its lifetime the program's GPUs are recorded cards
/// fails: configuration_error, if a tensor is alive at the beginning
class recorder : public recorded_cards {
 public:
  explicit recorder(recorder_options const& options = {});
  /// tensors that outlive the recorder keep its cards; a line on stderr says so
  ~recorder();

 private:
  recorder(recorder&&) = default;
  /// means: closes the streams of earlier GPUs by the functions that made them
  static void close_found_devices();
  void leave_api();

  runtime::cuda_api const* before_;
  runtime::nccl_api const* nccl_before_;  // real NCCL has no recorded cards
  bool successor_ = false;                // this object keeps the cards of an ended recorder
};

}  // namespace locus::testing

#if LOCUS_HAS_BODIES
#include <locus/testing/bodies/recorder.hpp>  // bodies of the functions above
#endif
