// SPDX-License-Identifier: Apache-2.0
// Code that only units with GPU policies compile: the machines of simulated GPUs and of CUDA, and
// the GPUs of the device table.
#pragma once
#include <locus/backend/cuda/machine.hpp>       // cuda_machine
#include <locus/backend/devices.hpp>            // table
#include <locus/backend/simulated/machine.hpp>  // simulated_machine
#include <locus/backend/staging.hpp>            // copy_beyond_host
#include <locus/core/macros.hpp>  // LOCUS_SHARED_STATE, LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/machine/machine_functions.hpp>  // gpu_part
#include <locus/machine/physical.hpp>           // physical_devices
#include <locus/memory/growth.hpp>              // forced_growth
#include <locus/memory/limits.hpp>              // require_limits_fit

LOCUS_COLD_BEGIN

namespace locus::runtime {

/// means: bytes that the logical device of a request may take of its card
LOCUS_FUNCTION std::int64_t limit_of(logical_request const& r, physical_devices const& p);

namespace detail {

/// means: lowers the limit of d to free memory less the room for NCCL: without growth, d takes its
///        whole limit at once
LOCUS_FUNCTION void leave_room_for_nccl(logical_device& d, int cards);
LOCUS_FUNCTION int count_cards(request_list const& requests);
LOCUS_FUNCTION void open_gpu(logical_request const& r, physical_devices const& p, bool growth,
                             int cards);
LOCUS_FUNCTION void begin_simulation(physical_devices const& p, int gpus);

/// means: makes the logical GPUs from cards and configuration; the caller holds table.lock
/// fails: configuration_error, device_lost
LOCUS_FUNCTION void build_gpus();
/// means: drops cached facts about cards
LOCUS_FUNCTION void forget_cards();

}  // namespace detail

LOCUS_SHARED_STATE inline constexpr gpu_part whole_gpu_part{
    .build = detail::build_gpus,
    .forget = detail::forget_cards,
    .copy = copy_beyond_host,
    .foresee_copy = foresee_chunks,
};

/// means: devices(), GPUs included, for callers without a type that names a GPU
LOCUS_FUNCTION device_table& devices_with_gpus(char const* what, call_site where = {});

/// Runs before main, in every program with a template that names a GPU.
template <bool = true>
struct names_a_gpu {
  static inline bool const registered = (gpus_of_program = &whole_gpu_part, true);
};
/// means: if NamesGpu, this program uses GPUs; also before main, where a tensor of a GPU may be made
///        sooner than `registered`
template <bool NamesGpu>
void note_gpus() {
  if constexpr (NamesGpu) {
    static_cast<void>(&names_a_gpu<NamesGpu>::registered);
    if (!__atomic_load_n(&gpus_of_program, __ATOMIC_ACQUIRE))
      __atomic_store_n(&gpus_of_program, &whole_gpu_part, __ATOMIC_RELEASE);
  }
}

}  // namespace locus::runtime

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/backend/bodies/gpus.hpp>  // bodies of the functions above
#endif
