// SPDX-License-Identifier: Apache-2.0
// What only units that name a GPU compile: simulated GPUs, CUDA's, and their part of the device
// table.
#pragma once
#include <locus/backend/cuda/backend.hpp>           // backend
#include <locus/backend/cuda/timing.hpp>            // the_cuda_timing
#include <locus/backend/cuda/user_stream.hpp>       // cuda_follow, cuda_lead
#include <locus/backend/devices.hpp>                // table
#include <locus/backend/simulated/backend.hpp>      // backend
#include <locus/backend/simulated/user_stream.hpp>  // guest_queue
#include <locus/backend/staging.hpp>                // copy_beyond_host
#include <locus/core/macros.hpp>  // LOCUS_SHARED_STATE, LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/machine/machine_functions.hpp>  // gpu_part
#include <locus/machine/physical.hpp>           // physical_devices
#include <locus/machine/stamps.hpp>             // mark
#include <locus/memory/growth.hpp>              // forced_growth
#include <locus/memory/limits.hpp>              // require_limits_fit

LOCUS_COLD_BEGIN

namespace locus::runtime {

namespace detail {
LOCUS_FUNCTION std::int64_t limit_of(logical_request const& r, physical_devices const& p);
/// means: without growth the whole card is taken at once: this room is left for NCCL
LOCUS_FUNCTION void leave_room_for_nccl(logical_device& d, int cards);
LOCUS_FUNCTION int count_cards(request_list const& requests);
LOCUS_FUNCTION void open_gpu(logical_request const& r, physical_devices const& p, bool growth,
                             int cards);
LOCUS_FUNCTION void begin_simulation(physical_devices const& p, int gpus);

struct gpu_functions {
  /// means: the logical GPUs, from the cards and the configuration; table.lock is held
  /// fails: configuration_error, device_lost
  static void build();
  static void close() noexcept;
  static void close_queues() noexcept {
    for (logical_device& d : table.gpu_devices) close_streams(d);
  }
  static void forget();

  static bool is_memory_of(device d, void const* p) { return simulated::gpus().device_of(p) == d; }
  static void check_host(void const* p, std::size_t bytes, bool writes, step_record const& record) {
    simulated::gpus().check_host(p, bytes, writes, record);
  }
  /// p lies elsewhere than on d
  static bool find_other_owner(logical_device const& d, void const* p, device& owner);

  /// what has been issued has run; at exit what simulated GPUs did not run yet never runs
  static void finish_traced(bool at_exit);
  static void* mark_work(logical_device& d, queue_kind kind);
  static void add_work(trace_span const& span, logical_device& d, queue_kind kind, void* begin) {
    the_cuda_timing().add(span, track_of(d.name, kind), d.card, begin, mark_work(d, kind));
  }

  // ---- streams of the user's ----
  static void follow_guest(gpu_set const& all, void* stream);
  static void lead_guest(gpu_set const& all, void* stream);
  static void await_guest(void* stream);
  static void lend(logical_device& d, void* stream);
  static void take_back(logical_device& d);
};

template <backing Side, class Backend = backend<Side>>
constexpr far_side side_of() {
  return {Backend::obtain, Backend::give_back,   Backend::retire,  Backend::finish, Backend::mark,
          Backend::wait,   Backend::synchronize, Backend::reaches, Backend::copy,   Backend::run};
}
}  // namespace detail

LOCUS_SHARED_STATE inline constexpr gpu_part whole_gpu_part{
    .simulated = detail::side_of<backing::simulated>(),
    .cuda = detail::side_of<backing::cuda>(),
    .build = detail::gpu_functions::build,
    .close = detail::gpu_functions::close,
    .close_streams = detail::gpu_functions::close_queues,
    .forget = detail::gpu_functions::forget,
    .copy = copy_beyond_host,
    .foresee_copy = foresee_chunks,
    .is_memory_of = detail::gpu_functions::is_memory_of,
    .check_host = detail::gpu_functions::check_host,
    .find_other_owner = detail::gpu_functions::find_other_owner,
    .finish_traced = detail::gpu_functions::finish_traced,
    .mark_work = detail::gpu_functions::mark_work,
    .add_work = detail::gpu_functions::add_work,
    .follow_guest = detail::gpu_functions::follow_guest,
    .lead_guest = detail::gpu_functions::lead_guest,
    .await_guest = detail::gpu_functions::await_guest,
    .lend = detail::gpu_functions::lend,
    .take_back = detail::gpu_functions::take_back,
};

/// means: devices(), the GPUs among them: for what asks for these without a type that names one
LOCUS_FUNCTION device_table& devices_with_gpus(char const* what, call_site where = {});

/// Before main, in every program that has a template which names a GPU.
template <bool = true>
struct names_a_gpu {
  static inline bool const registered = (gpus_of_program = &whole_gpu_part, true);
};
/// means: the program this is compiled into uses GPUs, if NamesGpu
template <bool NamesGpu>
void note_gpus() {
  if constexpr (NamesGpu) static_cast<void>(&names_a_gpu<NamesGpu>::registered);
}

}  // namespace locus::runtime

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/backend/bodies/gpus.hpp>  // bodies of the functions above
#endif
