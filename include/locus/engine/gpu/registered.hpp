// SPDX-License-Identifier: Apache-2.0
// The kernels that this unit makes for units of the host compiler: each is in the registry before
// main.
#pragma once
#include <typeinfo>  // type_info

#include <locus/core/macros.hpp>              // LOCUS_RTTI, LOCUS_COLD_BEGIN
#include <locus/machine/launch_site.hpp>      // launch_site
#include <locus/runtime/kernel_registry.hpp>  // kernel_entry

LOCUS_COLD_BEGIN

namespace locus {
inline namespace LOCUS_MODE {

/// The launch of a kind of work on a GPU. Units with LOCUS_CUDA_KERNELS specialise it.
template <class Work>
struct cuda_kernel;
}  // namespace LOCUS_MODE

namespace cuda_side {
inline namespace LOCUS_MODE {

/// means: name, size and alignment of a type of work
template <class Work>
runtime::work_id id_of() {
#if LOCUS_RTTI
  return {typeid(Work).name(), sizeof(Work), alignof(Work)};
#else
  return {{}, sizeof(Work), alignof(Work)};
#endif
}

template <class Work>
class kernel_of_unit {
 public:
  kernel_of_unit() {
    if (!entry_.of.name.empty()) runtime::kernels.add(entry_);
  }
  kernel_of_unit(kernel_of_unit const&) = delete;
  ~kernel_of_unit() {
    if (!entry_.of.name.empty()) runtime::kernels.remove(entry_);
  }
  static kernel_of_unit registered;

 private:
  static void launch(launch_site const& site, void const* work) {
    cuda_kernel<Work>::launch(site, *static_cast<Work const*>(work));
  }
  runtime::kernel_entry entry_{.of = id_of<Work>(), .launch = &launch};
};
template <class Work>
kernel_of_unit<Work> kernel_of_unit<Work>::registered;

/// means: this unit makes and registers the kernel for Work
template <class Work>
void require_registered() {
  (void)&kernel_of_unit<Work>::registered;
}

}  // namespace LOCUS_MODE
}  // namespace cuda_side
}  // namespace locus

LOCUS_COLD_END
