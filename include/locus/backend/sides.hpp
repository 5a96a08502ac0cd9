// SPDX-License-Identifier: Apache-2.0
// The three backends, and the one switch between them.
#pragma once
#include <locus/backend/cuda/backend.hpp>       // backend<backing::cuda>
#include <locus/backend/host/backend.hpp>       // backend<backing::host>
#include <locus/backend/simulated/backend.hpp>  // backend<backing::simulated>

namespace locus {

/// means: f(backend<Side>{}) for the side that stands behind a device: the only switch over sides
template <class F>
decltype(auto) on_side(backing side, F&& f) {
  if (side == backing::host) return f(backend<backing::host>{});
  if (side == backing::simulated) return f(backend<backing::simulated>{});
  return f(backend<backing::cuda>{});
}

}  // namespace locus
