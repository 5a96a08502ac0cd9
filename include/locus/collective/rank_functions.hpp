// SPDX-License-Identifier: Apache-2.0
// What a run calls for values over ranks: a table, so that a program without a carrier compiles
// none of these functions.
#pragma once
#include <locus/core/hooks.hpp>                   // over_ranks
#include <locus/runtime/collective_settings.hpp>  // reduction_order

namespace locus {
struct replica_terms;
struct transfer;
namespace detail {
struct run_state;
}
namespace internal {
struct reduction_job;
struct collective_name;
}  // namespace internal
}  // namespace locus

namespace locus::runtime {

struct rank_functions {
  /// means: the collectives that follow on this thread belong to that run
  void (*begin)(locus::detail::run_state const& run);
  /// means: terms.outs[0] = the fold of the terms of all ranks. These terms, of this rank, are in
  ///        host memory
  void (*fold)(internal::reduction_job const& j, replica_terms const& terms, reduction_order order,
               internal::collective_name const& name);
  /// means: counts the memory of a transfer between ranks
  void (*foresee)(locus::detail::run_state& run, transfer const& what);
  /// means: carries out a transfer between ranks
  void (*move)(locus::detail::run_state& run, transfer const& what);
  /// means: all ranks say true
  bool (*agree)(locus::detail::run_state const& run, transfer const& what, bool mine);
};

}  // namespace locus::runtime
