// SPDX-License-Identifier: Apache-2.0
// The placement log: operations under TensorFlow's names, and also copies, collectives, creations
// and fallbacks, which TensorFlow does not log.
#pragma once
#include <locus/core/array.hpp>      // dynamic_array
#include <locus/core/call_site.hpp>  // call_site
#include <locus/core/lock.hpp>       // mutex
#include <locus/core/macros.hpp>     // LOCUS_SHARED_STATE, LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/plan/data.hpp>       // plan_view

LOCUS_COLD_BEGIN

namespace locus {

namespace detail {

/// kernel: on a GPU, the names of the kernels that run the step
[[gnu::cold]] LOCUS_FUNCTION void log_step(step const& s, short number, shape const& extents,
                                           device on, std::string_view kernel, call_site site);
/// means: true at the first call with that name
[[gnu::cold]] LOCUS_SHARED_STATE inline bool is_first_of_operation(std::string_view name) {
  struct memory {
    mutex lock;
    dynamic_array<std::string_view> names;  // constants of the program
  };
  static memory* const seen = new memory;  // never destroyed: plans run until the end
  lock_guard hold(seen->lock);
  for (std::string_view const& one : seen->names)
    if (one == name) return false;
  seen->names.push(name);
  return true;
}
/// means: warns that a step has no kernel for its device: each time in the destination of the log;
///        without one, on stderr once for each operation name, and only if the program requested
///        the device or there are GPUs
[[gnu::cold]] LOCUS_FUNCTION void say_fallback(step const& s, short number, shape const& extents,
                                               call_site site);

}  // namespace detail

namespace internal {

/// means: tells the log that bytes of a step were copied between two devices, or why they were not
[[gnu::cold]] LOCUS_FUNCTION void log_copy(transfer_kind how, step const& s, short number,
                                           std::int64_t bytes, device from, device to,
                                           std::string_view skipped, call_site site);

}  // namespace internal

namespace detail {

[[gnu::cold]] LOCUS_FUNCTION void log_collective(transfer_kind how, plan_view const& p,
                                                 short bucket, place const& over,
                                                 std::string_view algorithm, std::int64_t bytes,
                                                 call_site site);

}  // namespace detail

namespace internal {

/// means: tells the log that a tensor was made
[[gnu::cold]] LOCUS_FUNCTION void log_creation(std::string_view type, shape const& extents,
                                               place const& where, call_site site);
/// means: tells the log that a tensor was copied on its device
[[gnu::cold]] LOCUS_FUNCTION void log_tensor_copy(std::string_view type, shape const& extents,
                                                  std::int64_t bytes, device on, call_site site);

}  // namespace internal

}  // namespace locus

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/run/bodies/log.hpp>  // bodies of the functions above
#endif
