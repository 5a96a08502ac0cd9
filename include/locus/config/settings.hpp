// SPDX-License-Identifier: Apache-2.0
// Settings and queries of a program, before and while it uses devices.
#pragma once
#include <cstdint>  // int64_t

#include <locus/core/error.hpp>             // configuration_error
#include <locus/core/macros.hpp>            // LOCUS_COLD_BEGIN
#include <locus/device/device.hpp>          // device
#include <locus/memory/regions.hpp>         // region_pool
#include <locus/runtime/configuration.hpp>  // copy_policy
#include <locus/runtime/device_table.hpp>   // table
#include <locus/runtime/gather_limit.hpp>   // set_gather_limit
#include <locus/runtime/halo_reuse.hpp>     // set_halo_reuse
#include <locus/runtime/host_memory.hpp>    // host_memory
#include <locus/runtime/threads.hpp>        // thread_limit
#include <locus/watch/watch.hpp>            // set_watcher

LOCUS_COLD_BEGIN

namespace locus::config {

/// means: on (default): another device does the work of a device that is missing or has no kernel
///        for an operation, and the log says so. Off: a missing device that the program names
///        throws unknown_device, an operation without a kernel on the named device placement_error,
///        whatever was used before; steps without a named device run where they can. May be called
///        at any time
/// after: tf.config.set_soft_device_placement
inline void set_soft_device_placement(bool on) {
  __atomic_store_n(&runtime::table.soft_placement, on, __ATOMIC_RELAXED);
}
inline bool get_soft_device_placement() { return runtime::placement_is_soft(); }

/// means: loops on the host use at most n threads; 0: LOCUS_NUM_THREADS, else OMP_NUM_THREADS, else
///        one for each processor of this process
/// fails: configuration_error for a negative number
/// after: tf.config.threading.set_intra_op_parallelism_threads
inline void set_intra_op_parallelism_threads(int n) {
  if (n < 0)
    throw configuration_error("locus: the number of threads is negative; write 0 for the default");
  __atomic_store_n(&runtime::thread_limit, n, __ATOMIC_RELAXED);
}
inline int get_intra_op_parallelism_threads() { return runtime::limit_of_threads(); }

/// means: how many operations may run at the same time. Only stored, for ported programs: on the
///        host locus runs the steps of one plan in order; on GPUs their queues decide.
/// fails: configuration_error for a negative number
/// after: tf.config.threading.set_inter_op_parallelism_threads
inline void set_inter_op_parallelism_threads(int n) {
  if (n < 0)
    throw configuration_error("locus: the number of threads is negative; write 0 for the default");
  __atomic_store_n(&runtime::configured.inter_op_threads, n, __ATOMIC_RELAXED);
}
inline int get_inter_op_parallelism_threads() {
  return __atomic_load_n(&runtime::configured.inter_op_threads, __ATOMIC_RELAXED);
}

/// means: sets the treatment of a step that reads a value from another device; may be called at any
///        time
/// after: tf.config.experimental.set_device_policy
inline void set_device_policy(copy_policy policy) {
  runtime::set_watched(runtime::watcher::copies, policy != copy_policy::silent,
                       runtime::configured.copies, policy);
}
inline copy_policy get_device_policy() {
  copy_policy now;
  __atomic_load(&runtime::configured.copies, &now, __ATOMIC_RELAXED);
  return now;
}

/// means: the precision of float matrix products on GPUs; the CPU always uses float. At any time
inline void set_matmul_precision(matmul_precision precision) {
  __atomic_store(&runtime::configured.products, &precision, __ATOMIC_RELAXED);
}
inline matmul_precision get_matmul_precision() {
  return runtime::matmul_is_tf32() ? matmul_precision::high : matmul_precision::highest;
}

/// units: bytes; blocks are multiples of 256 bytes
struct memory_info {
  std::int64_t current = 0, peak = 0;  // in use now; the most since the last reset
  std::int64_t allocations = 0;        // number of them since the last reset
  std::int64_t largest = 0;            // the largest allocation since the last reset
  std::int64_t limit = 0;              // the most that `current` may be
  std::int64_t reserved =
      0;  // taken from the card or the system, held or kept; CPUs share one pool
};

namespace detail {
[[gnu::noinline]] inline memory_info read_memory(runtime::logical_device const& d) {
  runtime::memory_account const& m = d.memory;
  auto const read = [](auto const& v) { return __atomic_load_n(&v, __ATOMIC_RELAXED); };
  runtime::region_pool const* const pool = __atomic_load_n(&m.pool, __ATOMIC_ACQUIRE);
  return {read(m.in_use),
          read(m.peak),
          read(m.allocations),
          read(m.largest),
          m.limit,
          pool          ? pool->reserved()
          : d.is_host() ? static_cast<std::int64_t>(runtime::host_memory.reserved())
                        : 0};
}
[[gnu::noinline]] inline void reset_memory(runtime::logical_device& d) {
  runtime::memory_account& m = d.memory;
  __atomic_store_n(&m.peak, __atomic_load_n(&m.in_use, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
  __atomic_store_n(&m.allocations, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&m.largest, 0, __ATOMIC_RELAXED);
}
}  // namespace detail

}  // namespace locus::config

LOCUS_COLD_END
