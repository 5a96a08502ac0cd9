// SPDX-License-Identifier: Apache-2.0
// The functions that a run calls for values over ranks, as a table: a program without a carrier
// compiles none of them.
#pragma once
#include <locus/core/hooks.hpp>                   // over_ranks
#include <locus/runtime/collective_settings.hpp>  // reduction_order
#include <locus/runtime/device_table.hpp>         // stamp

namespace locus {
struct transfer;
namespace detail {
struct run_state;
}
namespace internal {
struct host_reduction;
struct collective_name;
}  // namespace internal
}  // namespace locus

namespace locus::runtime {

struct bytes_of_ranks;  // runtime/bytes_of_ranks.hpp

struct rank_functions {
  /// means: the collectives that follow on this thread belong to that run
  void (*begin)(locus::detail::run_state const& run);
  /// means: they belong to no run
  void (*end)();
  /// means: the fold of the terms of all ranks, of each value of a bucket; small ones travel as one
  ///        array. The terms of this rank, and the results, are in host memory
  void (*fold)(internal::host_reduction const* bucket, int n, reduction_order order,
               internal::collective_name const& name);
  /// means: a thread is ready to carry folds of so many bytes; false: they run in the call
  bool (*prepare_beside)(std::int64_t bytes);
  /// means: as fold, on that thread, in the order of the calls     returns: the end of the fold
  stamp (*start)(internal::host_reduction const* bucket, int n, reduction_order order,
                 internal::collective_name const& name);
  /// means: counts the memory of a transfer between ranks
  void (*foresee)(locus::detail::run_state& run, transfer const& what);
  /// means: carries out a transfer between ranks
  void (*move)(locus::detail::run_state& run, transfer const& what);
  /// means: brings rows of other ranks into the margins of a tensor, unless they are valid on all
  ///        ranks     returns: they are
  bool (*exchange)(locus::detail::run_state& run, transfer const& what, bool valid);
  /// means: each rank tells a number: before = the sum of those of the ranks before this one
  ///        returns: the sum of all
  std::int64_t (*tell)(std::string_view operation, std::int64_t mine, std::int64_t& before);
  /// means: every rank gets the bytes of all ranks, each of which has its own number
  void (*gather)(std::string_view operation, void const* mine, std::int64_t bytes,
                 bytes_of_ranks& all);
  /// means: all ranks begin a collective that another library carries
  void (*meet)(std::string_view operation, std::int64_t bytes);
  /// means: such a collective has failed: later collectives between ranks fail, with this text
  void (*give_up)(std::string_view text);
  /// means: data = the bytes of rank `root`
  void (*share)(std::string_view operation, void* data, std::int64_t bytes, int root);
};

}  // namespace locus::runtime

namespace locus::internal {

/// means: `mine` is true on some rank
/// fails: collective_error
inline bool some_rank_says(bool mine, std::string_view what = "a vote") {
  if (!runtime::over_ranks) return mine;
  std::int64_t before = 0;
  return runtime::over_ranks->tell(what, mine, before) > 0;
}
/// means: `mine` is true on all ranks
inline bool all_ranks_say(bool mine) { return !some_rank_says(!mine); }
/// means: every rank gets the bytes of rank 0; each calls with the same number of bytes
inline void share_from_first(std::string_view what, void* data, std::int64_t bytes) {
  if (runtime::over_ranks) runtime::over_ranks->share(what, data, bytes, 0);
}

}  // namespace locus::internal
