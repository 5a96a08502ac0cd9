// SPDX-License-Identifier: Apache-2.0
// nonzero as a step of a plan: the kernels of the host and of cards.
#pragma once
#include <locus/algorithms/kept.hpp>       // keep, clear_behind
#include <locus/algorithms/places.hpp>     // is_not_zero, unravel_into
#include <locus/algorithms/room.hpp>       // with_room, with_count
#include <locus/algorithms/workspace.hpp>  // workspace
#include <locus/core/macros.hpp>           // LOCUS_MODE
#include <locus/ops/call.hpp>              // call_rule, call_cut, tile
#include <locus/runtime/threads.hpp>       // parallel_for, threads_worth
#if LOCUS_CUDA_KERNELS
#include <locus/algorithms/nonzero_card.hpp>  // cards::find_places
#endif

namespace locus::algorithms {

namespace host {
inline namespace LOCUS_MODE {

/// means: row k of r: the indices of the k-th element of x that is not 0; zeros behind them; returns
///        their number
/// shape: r (room, rank of x); null: the elements are counted alone
template <class T>
std::int64_t find_places(T const* x, shape const& extents, std::int64_t* r, std::int64_t room) {
  std::int64_t const n = extents.size(), rank = extents.rank;
  auto const flag = [&](std::int64_t j) { return is_not_zero(x[j]); };
  auto const number = [](std::int64_t j) { return j; };
  if (!r || rank == 1) {
    std::int64_t const found = keep(n, r, flag, number);
    if (r) clear_behind(r, found, room);
    return found;
  }
  workspace<std::int64_t> const numbers(room);
  std::int64_t const found = keep(n, numbers.data(), flag, number), block = 1024;
  parallel_for(static_cast<int>((found + block - 1) / block),
               threads_worth(static_cast<float>(found * rank) * 4), [&](int task) {
                 std::int64_t k = task * block;
                 std::int64_t const end = k + block < found ? k + block : found;
                 for (; k < end; ++k) unravel_into(r + k * rank, numbers.data()[k], extents);
               });
  clear_behind(r, found * rank, room * rank);
  return found;
}

}  // namespace LOCUS_MODE
}  // namespace host

/// means: result 0: the places of the elements of x that are not 0, in row order, then zeros;
///        result 1: their number
/// device: whole operands
struct nonzero_rule {
  static constexpr call_rule rule{.name = "nonzero",
                                  .operands = {call_role::whole},
                                  .results = {call_role::whole, call_role::whole},
                                  .tensorflow = "Where",
                                  .fixed_bits = true};
  template <int, class T>
  using result = std::int64_t;
  static constexpr shape infer_for(std::int64_t room, int r, shape x) {
    if (r != 0) return {};
    std::int64_t const rows = room != dyn ? room : x.is_static() ? x.size() : dyn;
    return x.rank == 1 ? shape{1, {rows}} : shape{2, {rows, x.rank}};
  }
  static constexpr std::int64_t operations(shape, shape x) { return 4 * x.size(); }
  static constexpr call_cut cut(call_axes const&) { return {}; }
  template <class T>
  void host(call_context const&, tile<std::int64_t> r, tile<std::int64_t> count,
            tile<T const> x) const {
    std::int64_t const found = host::find_places(x.data, x.extents(), r.data, r.extent[0]);
    if (count.data) *count.data = found;
  }
  /// means: as host()
  template <class T>
  void card(card_context& here, tile<std::int64_t> r, tile<std::int64_t> count,
            tile<T const> x) const;
};

struct nonzero_op : with_room<nonzero_rule> {
  using counted = with_count<nonzero_rule>;
};

#if LOCUS_CUDA_KERNELS
template <class T>
void nonzero_rule::card(card_context& here, tile<std::int64_t> r, tile<std::int64_t> count,
                        tile<T const> x) const {
  cards::find_places(here, x.data, x.extents(), r.data, count.data, r.extent[0]);
}
#endif

}  // namespace locus::algorithms
