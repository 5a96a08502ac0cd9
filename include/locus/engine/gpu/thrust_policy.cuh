// SPDX-License-Identifier: Apache-2.0
// A Thrust policy on the stream of a device, with memory from the device's pool.
#pragma once
#include <locus/engine/gpu/half_names.cuh>  // before Thrust

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // g++ 12 finds some in CUB
#include <thrust/count.h>                               // count_if
#include <thrust/device_ptr.h>                          // device_pointer_cast
#include <thrust/fill.h>                                // fill
#include <thrust/for_each.h>                            // for_each
#include <thrust/reduce.h>                              // reduce
#include <thrust/remove.h>                              // remove_if
#include <thrust/reverse.h>                             // reverse
#include <thrust/scan.h>                                // inclusive_scan
#include <thrust/sort.h>                                // sort
#include <thrust/system/cuda/execution_policy.h>        // cuda::par_nosync
#include <thrust/system_error.h>                        // system_error
#include <thrust/transform.h>                           // transform
#include <thrust/unique.h>                              // unique
#pragma GCC diagnostic pop

#include <locus/memory/allocate.hpp>  // allocate, release

namespace locus::cuda_side {

/// memory of Thrust besides the operands: counted and limited, and freed in the order of the queue
struct thrust_memory {
  using value_type = char;
  static constexpr std::string_view purpose = "the workspace of Thrust";
  logical_device* on;
  char* allocate(std::ptrdiff_t n) {
    return static_cast<char*>(runtime::allocate(*on, n, purpose));
  }
  void deallocate(char* p, std::size_t n) {
    runtime::release(*on, p, static_cast<std::int64_t>(n), purpose);
  }
};

/// means: f(policy); returns the CUDA code of an exception of Thrust, or 0
template <class F>
int with_policy(logical_device* on, void* stream, F&& f) {
  thrust_memory memory{on};
  try {
    f(::thrust::cuda::par_nosync(memory).on(static_cast<cudaStream_t>(stream)));
  } catch (::thrust::system_error const& e) {
    return e.code().value();
  }
  return 0;
}

}  // namespace locus::cuda_side
