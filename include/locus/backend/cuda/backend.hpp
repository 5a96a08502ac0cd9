// SPDX-License-Identifier: Apache-2.0
// Real GPUs as a backend: streams, events and pooled memory through the table of CUDA's functions.
#pragma once
#include <locus/backend/cuda/missing_kernel.hpp>  // run_elsewhere
#include <locus/backend/cuda/peers.hpp>           // cuda_reaches
#include <locus/backend/cuda/streams.hpp>         // cuda_queue
#include <locus/core/macros.hpp>                  // LOCUS_COLD_BEGIN
#include <locus/machine/launch_site.hpp>          // backend

LOCUS_COLD_BEGIN

namespace locus {

template <>
struct backend<backing::cuda> {
  static void* obtain(logical_device& d, std::size_t bytes) {
    return runtime::cuda_obtain(d, bytes);
  }
  static void give_back(logical_device& d, void* p, std::size_t) { runtime::cuda_give_back(d, p); }
  static void retire(logical_device& d, void* p, std::size_t bytes) {
    runtime::cuda_retire(d, p, bytes);
  }
  static void finish(logical_device& d) { runtime::cuda_finish(d); }
  static stamp mark(logical_device& d, queue_kind kind) { return runtime::cuda_mark(d, kind); }
  static void wait(logical_device& d, queue_kind kind, stamp s) { runtime::cuda_wait(d, kind, s); }
  static void synchronize(stamp s) { runtime::cuda_synchronize(s); }

  static bool reaches(logical_device& to, logical_device& from) {
    return runtime::cuda_reaches(to, from);
  }
  static stamp copy(copy_job const& job) {
    runtime::require_card(*job.carrier);
    runtime::current_card const scope(*job.carrier);
    runtime::cuda_queue& queue = runtime::cuda_queue_of(*job.carrier, job.queue);
    void* const stream = queue.stream;
    bool const across = job.to->how == backing::cuda && job.from->how == backing::cuda &&
                        job.to->card != job.from->card;
    auto const& api = *runtime::gpu_api;
    queue.note({job.carrier, job.record});
    int const code = across ? api.memcpy_peer_async(job.target, job.to->card, job.source,
                                                    job.from->card, job.bytes, stream)
                            : api.memcpy_async(job.target, job.source, job.bytes, stream);
    if (across && code != runtime::cuda_success && !runtime::is_sticky(code)) {
      api.last_error();
      runtime::detail::refuse_peer(*job.to, *job.from, api.describe(code), true);
      throw runtime::peer_refused{};
    }
    runtime::check_cuda(code, "a copy", job.carrier->name);
    try {
      stamp const when = runtime::cuda_mark(*job.carrier, job.queue);
      // CUDA stages pageable memory; from what is pinned or managed it reads later
      bool later = false;
      if (job.from->how == backing::host && !job.pinned &&
          api.is_read_later(job.source, &later) == 0 && later)
        runtime::cuda_synchronize(when);
      return when;
    } catch (...) {  // nobody can wait for it: its memory may go as soon as we have thrown
      api.stream_synchronize(stream);
      throw;
    }
  }
  static void run(launch_site const& site, far_work const& work) {
    cuda_side::run_elsewhere(site, work);
  }
};

}  // namespace locus

LOCUS_COLD_END
