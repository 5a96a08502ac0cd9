// SPDX-License-Identifier: Apache-2.0
// The host as a machine: memory and threads of this process. Each function has finished its work
// when it returns.
#pragma once
#include <locus/core/macros.hpp>                // LOCUS_SHARED_STATE
#include <locus/machine/machine_functions.hpp>  // machine_functions
#include <locus/runtime/copy_bytes.hpp>         // copy_bytes
#include <locus/runtime/host_memory.hpp>        // host_memory

namespace locus {

LOCUS_SHARED_STATE inline constexpr machine_functions host_machine{
    .obtain = [](logical_device&, std::size_t bytes) -> void* {
      return runtime::host_memory.allocate(bytes);
    },
    .give_back = [](logical_device&, void* p,
                    std::size_t bytes) { runtime::host_memory.release(p, bytes); },
    .retire = [](logical_device&, void*, std::size_t) {},
    .finish = [](logical_device&) {},
    .mark = [](logical_device&, queue_kind) { return stamp{}; },
    .wait = [](logical_device&, queue_kind, stamp) {},
    .synchronize = [](stamp) {},
    .reaches = [](logical_device&, logical_device&) { return true; },
    .copy =
        [](copy_job const& job) {
          if (job.bytes > 0) runtime::copy_bytes(job.target, job.source, job.bytes);
          return stamp{};
        },
    .run = [](launch_site const&, erased_work const& work) { work.on_host(work.work); },
};

}  // namespace locus
