// SPDX-License-Identifier: Apache-2.0
// GPUs of CUDA as a machine: streams, events and memory, through the table gpu_api.
#pragma once
#include <locus/backend/cuda/missing_kernel.hpp>  // run_elsewhere
#include <locus/backend/cuda/peers.hpp>           // cuda_reaches
#include <locus/backend/cuda/streams.hpp>         // cuda_queue
#include <locus/backend/cuda/timing.hpp>          // the_cuda_timing
#include <locus/backend/cuda/user_stream.hpp>     // cuda_follow, cuda_lend
#include <locus/core/macros.hpp>                  // LOCUS_COLD_BEGIN, LOCUS_SHARED_STATE
#include <locus/machine/card_scope.hpp>           // card_scope
#include <locus/machine/machine_functions.hpp>    // functions_of

LOCUS_COLD_BEGIN

namespace locus {

namespace cuda_side {
/// The functions of machine_functions, by calls of gpu_api.
struct functions {
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
    bool const across = job.to->is_card() && job.from->is_card() && job.to->card != job.from->card;
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
      // CUDA copies pageable memory before it returns; it reads pinned or managed memory later
      bool later = false;
      if (job.from->is_host() && !job.pinned && api.is_read_later(job.source, &later) == 0 && later)
        runtime::cuda_synchronize(when);
      return when;
    } catch (...) {  // no stamp to wait for: the caller may free the memory now
      api.stream_synchronize(stream);
      throw;
    }
  }
  static void run(launch_site const& site, erased_work const& work) { run_elsewhere(site, work); }

  static void open(logical_device& d) { runtime::open_streams(d); }
  static void close() noexcept {}
  static void close_queues(logical_device& d) { runtime::close_streams(d); }

  static bool is_memory_of(logical_device const&, void const*) { return true; }
  static void check_host(void const*, std::size_t, bool, step_record const&) {}
  static bool find_other_owner(logical_device const& d, void const* p, device& owner) {
    int card = -1;
    runtime::card_scope const scope(runtime::table.gpu_devices[0].card);
    if (runtime::gpu_api->device_of_pointer(p, &card) != 0 ||
        card == runtime::cuda_api::managed_memory)
      return false;
    if (card == (d.is_card() ? d.card : -1)) return false;
    owner = cpu(0);
    for (int i = runtime::table.gpus; card >= 0 && i-- > 0;)
      if (runtime::table.gpu_devices[i].card == card) owner = gpu(i);
    return true;
  }

  static void finish_traced(bool) { runtime::the_cuda_timing().finish(); }
  /// the mark is an event before the work
  static void* begin_span(logical_device& d, queue_kind kind, runtime::trace_span const&) {
    runtime::current_card const scope(d);
    return runtime::the_cuda_timing().mark(d.card, runtime::cuda_queue_of(d, kind).stream);
  }
  static void end_span(logical_device& d, queue_kind kind, runtime::trace_span const& span,
                       void* mark) {
    runtime::the_cuda_timing().add(span, runtime::track_of(d.name, kind), d.card, mark,
                                   begin_span(d, kind, span));
  }

  static void follow_stream(runtime::gpu_set const& all, void* stream) {
    runtime::cuda_follow(all.devices, all.count, stream);
  }
  static void lead_stream(runtime::gpu_set const& all, void* stream) {
    runtime::cuda_lead(all.devices, all.count, stream);
  }
  static void await_stream(void* stream) { runtime::cuda_await_guest(stream); }
  static void lend(logical_device& d, void* stream) { runtime::cuda_lend(d, stream); }
  static void take_back(logical_device& d) { runtime::cuda_take_back(d); }
};
}  // namespace cuda_side

LOCUS_SHARED_STATE inline constexpr machine_functions cuda_machine =
    functions_of<cuda_side::functions>();

}  // namespace locus

LOCUS_COLD_END
