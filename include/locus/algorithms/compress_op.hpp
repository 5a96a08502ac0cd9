// SPDX-License-Identifier: Apache-2.0
// compress as a step of a plan: the rule over replicas and the kernels of the host and of cards.
#pragma once
#include <type_traits>  // conditional

#include <locus/algorithms/around_axis.hpp>  // around_axis
#include <locus/algorithms/kept.hpp>         // keep, clear_behind
#include <locus/algorithms/room.hpp>         // with_room, with_count
#include <locus/algorithms/workspace.hpp>    // workspace
#include <locus/core/macros.hpp>             // LOCUS_MODE
#include <locus/ops/call.hpp>                // call_rule, call_cut, tile
#include <locus/runtime/threads.hpp>         // parallel_for, threads_worth
#if LOCUS_CUDA_KERNELS
#include <locus/algorithms/compress_card.hpp>  // cards::compress_rows
#endif

namespace locus::algorithms {

namespace host {
inline namespace LOCUS_MODE {

/// means: r[o, k, c] = x[o, j, c] for the k-th j with mask[j], 0 behind them; returns their number
/// shape: mask (n), x (outer, n, inner), r (outer, room, inner); null: the rows are counted alone
template <class T>
std::int64_t compress_rows(T const* x, bool const* mask, T* r, std::int64_t outer, std::int64_t n,
                           std::int64_t inner, std::int64_t room) {
  if (!r || (outer == 1 && inner == 1)) {
    std::int64_t const found = keep(n, r, mask, x);
    if (r) clear_behind(r, found, room);
    return found;
  }
  workspace<std::int64_t> const memory(n);
  std::int64_t* const rows = memory.data();
  std::int64_t const found = keep(n, rows, mask, [](std::int64_t j) { return j; });
  std::int64_t const all = outer * room,
                     block = inner < 1024 ? 4096 / (inner > 4 ? inner / 4 : 1) : 4,
                     blocks = (all + block - 1) / block;
  auto const bytes = sizeof(T) * static_cast<std::size_t>(inner);
  int const threads =
      threads_worth(static_cast<float>(all) * (static_cast<float>(bytes) * 0.1f + 2));
  parallel_for(static_cast<int>(blocks), threads, [&](int task) {
    std::int64_t k = task * block, o = k / room, j = k % room;
    for (std::int64_t const end = k + block < all ? k + block : all; k < end; ++k) {
      T* const to = r + k * inner;
      T const* const from = x + (o * n + (j < found ? rows[j] : 0)) * inner;
      if (j >= found)
        clear_behind(to, 0, inner);
      else if (inner == 1)
        *to = *from;
      else
        __builtin_memcpy(static_cast<void*>(to), from, bytes);
      if (++j == room) j = 0, ++o;
    }
  });
  return found;
}

}  // namespace LOCUS_MODE
}  // namespace host

/// means: result 0: the rows of x along Axis whose element of the mask is true, in their order, then
///        zeros; result 1: their number
/// device: x whole, or in pieces along another axis, each with the same number of rows; pieces of
///         the mask are gathered
template <int Axis>
struct compress_rule {
  static constexpr call_rule rule{.name = "compress",
                                  .operands = {call_role::whole, call_role::rows},
                                  .results = {call_role::rows, call_role::whole},
                                  .tensorflow = "BooleanMask",
                                  .fixed_bits = true};
  template <int Result, class Mask, class T>
  using result = std::conditional_t<Result == 0, T, std::int64_t>;
  static constexpr shape infer_for(std::int64_t room, int r, shape mask, shape x) {
    if (mask.rank != 1 || x.rank <= Axis) return no_shape;
    std::int64_t& n = x.extent[Axis];
    if (n != mask.extent[0] && n != dyn && mask.extent[0] != dyn) return no_shape;
    if (r != 0) return {};
    n = room != dyn ? room : n != dyn ? n : mask.extent[0];
    return x;
  }
  static constexpr std::int64_t operations(shape, shape mask, shape x) {
    return x.size() + 2 * mask.size();
  }
  static constexpr call_cut cut(call_axes const& found) {
    call_cut c{.fits = found[1] != Axis};
    c.operands[0] = call_cut::whole, c.operands[1] = c.axis = found[1];
    return c;
  }
  template <class T>
  void host(call_context const&, tile<T> r, tile<std::int64_t> count, tile<bool const> mask,
            tile<T const> x) const {
    around_axis const of(x, Axis);
    std::int64_t const found =
        host::compress_rows(x.data, mask.data, r.data, of.outer, of.n, of.inner, r.extent[Axis]);
    if (count.data) *count.data = found;
  }
  /// means: as host(), bit for bit
  template <class T>
  void card(card_context& here, tile<T> r, tile<std::int64_t> count, tile<bool const> mask,
            tile<T const> x) const;

  /// the adjoint of a row that is kept is that of its place; 0 for the other rows
  template <class G, class Y, class Mask, class X>
  static constexpr auto pullback(G const& g, Y const& y, Mask const& mask, X const& x);
};

template <int Axis>
struct compress_op : with_room<compress_rule<Axis>> {
  using counted = with_count<compress_rule<Axis>>;
};

#if LOCUS_CUDA_KERNELS
template <int Axis>
template <class T>
void compress_rule<Axis>::card(card_context& here, tile<T> r, tile<std::int64_t> count,
                               tile<bool const> mask, tile<T const> x) const {
  around_axis const of(x, Axis);
  cards::compress_rows(here, x.data, mask.data, r.data, count.data, of.outer, of.n, of.inner,
                       r.extent[Axis]);
}
#endif

}  // namespace locus::algorithms
