// SPDX-License-Identifier: Apache-2.0
// From work to its kernel: the host's, one that this unit compiles for CUDA, or one that the
// device's machine finds.
#pragma once
#include <locus/core/macros.hpp>              // LOCUS_MODE, LOCUS_UNIT_FILE, LOCUS_CUDA_KERNELS
#include <locus/engine/gpu/registered.hpp>    // cuda_kernel, id_of
#include <locus/engine/host/run_on_host.hpp>  // run_on_host
#include <locus/machine/machine_of.hpp>       // machine_of

namespace locus {

namespace cuda_side {
inline namespace LOCUS_MODE {
/// means: the unit with LOCUS_INSTANTIATE_ALGORITHMS compiles the kernel of Work
template <class Work>
inline constexpr bool is_in_library = requires { requires Work::is_plain; };
/// means: work without its type, for a machine that finds its kernel by name; `missing`, one for
///        each type, is for the message that no unit compiled the kernel
template <class Work>
erased_work erase_type(Work const& work) {
  constexpr bool runs_algorithms =
      requires { requires Work::has_card_body; } || is_in_library<Work>;
  static missing_kernel missing{LOCUS_UNIT_FILE, id_of<Work>(), runs_algorithms ? "" : nullptr};
  return {&work,
          &missing,
          [](void const* w) { run_on_host(*static_cast<Work const*>(w)); },
          [](void const* w) -> void* { return new Work(*static_cast<Work const*>(w)); },
          [](void* w) { delete static_cast<Work*>(w); },
          [](void* w, void (*visit)(void*, void*&), void* context) {
            static_cast<Work*>(w)->for_each_pointer([&](void*& p) { visit(context, p); });
          }};
}
}  // namespace LOCUS_MODE
}  // namespace cuda_side

inline namespace LOCUS_MODE {

/// means: runs the kernel of `work` on the device of `site`, in the order of its compute queue; on
///        the host, before it returns
/// fails: no_kernel_in_unit, device_lost; on the host, with the exception of the kernel
template <class Work, class Mode = mode>
void launch_work(launch_site const& site, Work const& work) {
  if (site.on->is_host()) return run_on_host(work);
  constexpr bool by_library = LOCUS_CUDA_KERNELS == 3 && cuda_side::is_in_library<Work>;
  if constexpr (LOCUS_CUDA_KERNELS && Work::has_cuda_kernel && !by_library)
    if (site.on->is_card()) {
      cuda_side::require_registered<Work>();
      return cuda_kernel<Work>::launch(site, work);
    }
  machine_of(*site.on).run(site, cuda_side::erase_type(work));
}

}  // namespace LOCUS_MODE
}  // namespace locus
