// SPDX-License-Identifier: Apache-2.0
// The host: memory and threads of this process. Everything is done when a call returns.
#pragma once
#include <locus/machine/launch_site.hpp>  // backend
#include <locus/memory/copy_bytes.hpp>    // copy_bytes
#include <locus/memory/host_memory.hpp>   // host_memory

namespace locus {

template <>
struct backend<backing::host> {
  static void* obtain(logical_device&, std::size_t bytes) {
    return runtime::host_memory.allocate(bytes);
  }
  static void give_back(logical_device&, void* p, std::size_t bytes) {
    runtime::host_memory.release(p, bytes);
  }
  static void retire(logical_device&, void*, std::size_t) {}
  static void finish(logical_device&) {}
  static stamp mark(logical_device&, queue_kind) { return {}; }
  static void wait(logical_device&, queue_kind, stamp) {}
  static void synchronize(stamp) {}
  static bool reaches(logical_device&, logical_device&) { return true; }
  static stamp copy(copy_job const& job) {
    if (job.bytes > 0) runtime::copy_bytes(job.target, job.source, job.bytes);
    return {};
  }
  template <class Work>
  static void run(launch_site const&, Work const& work) {
    work.on_host();
  }
};

}  // namespace locus
