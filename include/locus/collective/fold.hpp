// SPDX-License-Identifier: Apache-2.0
// The fold over replicas of one operation and element type, on any kind of device.
#pragma once
#include <locus/engine/launch.hpp>        // launch_work
#include <locus/machine/launch_site.hpp>  // launch_site
#include <locus/work/fold.hpp>            // fold_work, replica_terms
#if LOCUS_CUDA_KERNELS
#include <locus/engine/gpu/kernels.hpp>  // cuda_kernel
#endif

namespace locus {

inline namespace LOCUS_MODE {

/// means: runs fold_work on the device of `site`
template <reduction R, class T>
void fold_replicas(launch_site const& site, replica_terms const& terms) {
  launch_work(site, fold_work<R, T>{terms});
}

}  // namespace LOCUS_MODE
}  // namespace locus
