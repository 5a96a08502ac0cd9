// SPDX-License-Identifier: Apache-2.0
// Runs of equal elements as a step of a plan: the kernels of the host and of cards.
#pragma once
#include <type_traits>  // conditional

#include <locus/algorithms/kept.hpp>       // keep, clear_behind
#include <locus/algorithms/places.hpp>     // are_equal
#include <locus/algorithms/room.hpp>       // with_room, with_count
#include <locus/algorithms/workspace.hpp>  // workspace
#include <locus/core/macros.hpp>           // LOCUS_MODE
#include <locus/ops/call.hpp>              // call_rule, call_cut, tile
#include <locus/runtime/threads.hpp>       // parallel_for, threads_worth
#if LOCUS_CUDA_KERNELS
#include <locus/algorithms/runs_card.hpp>  // cards::find_runs
#endif

namespace locus::algorithms {

namespace host {
inline namespace LOCUS_MODE {

/// means: values[k], lengths[k]: the first element of the k-th run of x, and the length of the run;
///        zeros behind the last; returns their number
/// shape: x (n); values, lengths: (room), or null: not stored
template <class T>
std::int64_t find_runs(T const* x, std::int64_t n, T* values, std::int64_t* lengths,
                       std::int64_t room) {
  if (n == 0) {
    if (lengths) clear_behind(lengths, 0, room);
    if (values) clear_behind(values, 0, room);
    return 0;
  }
  // element 0 begins a run; element j + 1 does where it differs from the one in front
  auto const begins = [&](std::int64_t j) { return !are_equal(x[j], x[j + 1]); };
  std::int64_t found = 0;
  if (values || !lengths) {
    if (values) values[0] = x[0];
    found = 1 + keep(n - 1, values ? values + 1 : nullptr, begins, x + 1);
  }
  if (lengths) {  // first where each run begins
    lengths[0] = 0;
    found = 1 + keep(n - 1, lengths + 1, begins, [](std::int64_t j) { return j + 1; });
    for (std::int64_t k = 0; k < found; ++k)
      lengths[k] = (k + 1 < found ? lengths[k + 1] : n) - lengths[k];
    clear_behind(lengths, found, room);
  }
  if (values) clear_behind(values, found, room);
  return found;
}

}  // namespace LOCUS_MODE
}  // namespace host

/// means: result 0: the first element of each run of equal elements, then zeros; result 1: the
///        lengths of the runs, then zeros; result 2: their number
/// device: whole operands
struct runs_rule {
  static constexpr call_rule rule{.name = "run_lengths",
                                  .operands = {call_role::whole},
                                  .results = {call_role::whole, call_role::whole, call_role::whole},
                                  .tensorflow = "UniqueWithCounts",
                                  .fixed_bits = true};
  template <int Result, class T>
  using result = std::conditional_t<Result == 0, T, std::int64_t>;
  static constexpr shape infer_for(std::int64_t room, int r, shape x) {
    if (x.rank != 1) return no_shape;
    if (r == 2) return {};
    if (room != dyn) x.extent[0] = room;
    return x;
  }
  static constexpr std::int64_t operations(shape, shape x) { return 4 * x.size(); }
  static constexpr call_cut cut(call_axes const&) { return {}; }
  template <class T>
  void host(call_context const&, tile<T> values, tile<std::int64_t> lengths,
            tile<std::int64_t> count, tile<T const> x) const {
    std::int64_t const found =
        host::find_runs(x.data, x.size(), values.data, lengths.data, values.extent[0]);
    if (count.data) *count.data = found;
  }
  /// means: as host(), bit for bit
  template <class T>
  void card(card_context& here, tile<T> values, tile<std::int64_t> lengths,
            tile<std::int64_t> count, tile<T const> x) const;
};

struct runs_op : with_room<runs_rule> {
  using counted = with_count<runs_rule>;
};

#if LOCUS_CUDA_KERNELS
template <class T>
void runs_rule::card(card_context& here, tile<T> values, tile<std::int64_t> lengths,
                     tile<std::int64_t> count, tile<T const> x) const {
  cards::find_runs(here, x.data, x.size(), values.data, lengths.data, count.data, values.extent[0]);
}
#endif

}  // namespace locus::algorithms
