// SPDX-License-Identifier: Apache-2.0
// A recorder in place of CUDA: every call is counted, the n-th fails for any n, and a kernel, copy or
// collective that touches bytes of another stream without an event is reported.
// Include it, with LOCUS_CUDA_KERNELS defined to 1, before any other header of locus (in a unit of
// nvcc: after <locus/cuda.cuh>).
#pragma once
#include <locus/core/macros.hpp>             // LOCUS_HAS_BODIES
#include <locus/runtime/nccl_api.hpp>        // nccl_api
#include <locus/testing/recorded_api.hpp>    // recorded_api
#include <locus/testing/recorded_cards.hpp>  // recorded_cards

namespace locus::testing {

/// means: while it lives, the program's GPUs are recorded ones
/// fails: configuration_error, while a tensor is alive
class recorder : public recorded_cards {
 public:
  explicit recorder(recorder_options const& options = {});
  /// tensors that outlive it keep what it records; that is said on stderr
  ~recorder();

 private:
  recorder(recorder&&) = default;
  /// streams of the GPUs that were there before are closed by the functions that made them
  static void close_found_devices();
  void leave_api();

  runtime::cuda_api const* before_;
  runtime::nccl_api const* nccl_before_;  // the real one knows no recorded cards
  bool successor_ = false;                // keeps what an ended recorder recorded
};

}  // namespace locus::testing

#if LOCUS_HAS_BODIES
#include <locus/testing/bodies/recorder.hpp>  // bodies of the functions above
#endif
