// SPDX-License-Identifier: Apache-2.0
// Results with a row for each replica of a cut: their number.
#pragma once
#include <cstdint>  // int64_t

#include <locus/core/dyn.hpp>       // dyn
#include <locus/core/macros.hpp>    // LOCUS_MODE
#include <locus/device/device.hpp>  // max_devices, place
#include <locus/runtime/ranks.hpp>  // this_rank

namespace locus::algorithms {
inline namespace LOCUS_MODE {

/// The devices of a list: in one process, or of each rank.
enum class per_rank : short { in_one_process = -1, all_gpus = 0 };

constexpr per_rank devices_per_rank(place const& of) {
  if (!of.devices.is_over_ranks()) return per_rank::in_one_process;
  return of.devices.is_all_gpus() ? per_rank::all_gpus : per_rank(of.devices.size());
}

/// means: the rows of a result that has `each` for each replica: of max_devices in one process; over
///        ranks of the replicas of all ranks, which a constant plan does not know: dyn
template <per_rank List>
constexpr std::int64_t rows_for_replicas(std::int64_t each = 1) {
  if constexpr (List == per_rank::in_one_process)
    return max_devices * each;
  else {
    if (__builtin_is_constant_evaluated()) return dyn;
    rank_numbers const& all = runtime::this_rank;
    if constexpr (List != per_rank::all_gpus)
      return each * all.ranks * static_cast<std::int64_t>(List);
    else
      return each * (all.ranks > 1 ? all.all_gpus : max_devices);
  }
}

}  // namespace LOCUS_MODE
}  // namespace locus::algorithms
