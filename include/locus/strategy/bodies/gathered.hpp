// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that strategy/gathered.hpp declares.
#pragma once
#include <locus/core/macros.hpp>        // LOCUS_FUNCTION
#include <locus/strategy/gathered.hpp>  // the declarations

namespace locus::detail {

LOCUS_FUNCTION void refuse_axis(int axis, int rank) {
  message text;
  throw shape_error(text << "locus: axis " << axis << " is out of range for a value with rank "
                         << rank << "; name one from " << -rank << " to " << rank - 1);
}

LOCUS_FUNCTION axis_set axes_of(int const* axes, int count, int rank) {
  axis_set all = 0;
  for (int k = 0; k < count; ++k) {
    int const a = axes[k] < 0 ? axes[k] + rank : axes[k];
    if (a < 0 || a >= rank || has_axis(all, a)) refuse_axis(axes[k], rank);
    all = static_cast<axis_set>(all | 1u << a);
  }
  return all;
}

LOCUS_FUNCTION bool lie_apart(local_parts const& parts) {
  device_list seen;
  bool apart = true;
  for (int r = 0; r < parts.count; ++r) {
    apart = apart && !seen.contains(parts.of[r].at);
    seen.push(parts.of[r].at);
  }
  return parts.lie_on_ranks() ? all_ranks_say(seen == parts.over.here()) : apart;
}

}  // namespace locus::detail
