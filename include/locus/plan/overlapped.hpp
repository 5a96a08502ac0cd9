// SPDX-License-Identifier: Apache-2.0
// Kernels of stencils in parts: the inside runs while rows of other pieces are on their way.
#pragma once
#include <locus/plan/data.hpp>  // placement_policy

namespace locus {

/// means: a kernel of maps alone that reads margins is three launches: first the rows that need none,
///        while halos travel; then the first rows of each piece, and the last ones
/// cost:  two launches more for each such kernel; the rows travel in each run, also of a tensor that
///        was not written. Pays where a piece takes longer than its rows travel. On the host nothing
///        runs beside a copy
/// fails: never: other kernels are one launch, as without it
template <placement_policy Placement = prefer_gpu>
struct overlapped : Placement {
  static constexpr bool overlaps = true;
};

template <class Policy>
constexpr bool overlaps_of() {
  return requires { Policy::overlaps; };
}

}  // namespace locus
