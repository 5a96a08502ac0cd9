// SPDX-License-Identifier: Apache-2.0
// A setting: whether plans use the margins of an unchanged tensor again.
#pragma once
#include <locus/core/macros.hpp>  // LOCUS_SHARED_STATE

namespace locus {

namespace runtime {
LOCUS_SHARED_STATE inline constinit bool reuse_of_halos = true;
inline bool halos_are_reused() { return __atomic_load_n(&reuse_of_halos, __ATOMIC_RELAXED); }
}  // namespace runtime

namespace config {
/// means: on (default): a plan brings rows into the margins of a tensor once, and again after the
///        tensor was written. Off: each plan that reads margins brings them. May be called at any
///        time
inline void set_halo_reuse(bool on) {
  __atomic_store_n(&runtime::reuse_of_halos, on, __ATOMIC_RELAXED);
}
inline bool get_halo_reuse() { return runtime::halos_are_reused(); }
}  // namespace config

}  // namespace locus
