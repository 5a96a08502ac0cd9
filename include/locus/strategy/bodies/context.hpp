// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that strategy/context.hpp declares.
#pragma once
#include <locus/core/macros.hpp>       // LOCUS_FUNCTION
#include <locus/strategy/context.hpp>  // the declarations

namespace locus::detail {

LOCUS_FUNCTION void require_cross_replica(std::string_view what) {
  if (inside_replica == 0) return;
  message text;
  throw placement_error(text << "locus: " << what
                             << " speaks of all replicas and was called inside one; use the "
                                "replica_context, or write it in a merge_call");
}

LOCUS_FUNCTION void require_replicas(int have, int want) {
  if (have == want) return;
  message text;
  throw placement_error(text << "locus: a value for " << have << " replicas is given to " << want
                             << "; make it with the strategy that runs");
}

LOCUS_FUNCTION void refuse_devices(device_list const& have, device_list const& want,
                                   std::string_view what) {
  message text;
  text << "locus: " << what << " lies over";
  for (int r = 0; r < have.size(); ++r) text << " " << have[r];
  text << " and the strategy over";
  for (int r = 0; r < want.size(); ++r) text << " " << want[r];
  throw placement_error(text << "; bring it over with to<...>(x)");
}

}  // namespace locus::detail
