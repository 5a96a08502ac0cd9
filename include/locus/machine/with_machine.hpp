// SPDX-License-Identifier: Apache-2.0
// The one switch between the host and what lies beyond it.
#pragma once
#include <locus/backend/host/backend.hpp>       // backend<backing::host>
#include <locus/machine/machine_functions.hpp>  // far_backend

namespace locus {

/// means: f(backend) for what stands behind a device: the only switch over sides
template <class F>
decltype(auto) on_side(backing side, F&& f) {
  if (side == backing::host) return f(backend<backing::host>{});
  gpu_part const& gpus = *runtime::gpus_of_program;
  return f(far_backend{side, side == backing::simulated ? &gpus.simulated : &gpus.cuda});
}

}  // namespace locus
