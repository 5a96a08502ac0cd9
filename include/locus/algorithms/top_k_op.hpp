// SPDX-License-Identifier: Apache-2.0
// top_k as a step of a plan, or as two along a cut: the rules over replicas and the kernels of the
// host and of cards.
#pragma once
#include <locus/algorithms/around_axis.hpp>        // around_axis
#include <locus/algorithms/line_blocks.hpp>        // for_blocks_of_lines
#include <locus/algorithms/rows_for_replicas.hpp>  // rows_for_replicas, per_rank
#include <locus/algorithms/top_k_host.hpp>         // top_of_lines
#include <locus/algorithms/top_k_order.hpp>        // top_rows, merge_of_lists
#include <locus/algorithms/workspace.hpp>          // workspace
#include <locus/core/macros.hpp>                   // LOCUS_MODE
#include <locus/ops/call.hpp>                      // call_rule, call_cut, tile
#include <locus/runtime/threads.hpp>               // threads_worth
#if LOCUS_CUDA_KERNELS
#include <locus/algorithms/top_k_card.hpp>  // cards::top_of_lines
#endif

namespace locus::algorithms {

/// means: result 0: r[a..., j, b...] = element j of x[a..., ., b...] in the order of merit, j < K,
///        a: Axis axes; result 1: its place along Axis
/// device: as x, which is whole, or in pieces along another axis
template <bool Smallest, int Axis, std::int64_t K>
struct top_k_op {
  static constexpr call_rule rule{.name = "top_k",
                                  .operands = {call_role::rows},
                                  .results = {call_role::rows, call_role::rows},
                                  .tensorflow = "TopKV2",
                                  .fixed_bits = true};
  template <int Result, class T>
  using result = std::conditional_t<Result == 0, T, std::int64_t>;
  static constexpr shape infer(int, shape x) {
    if (x.rank <= Axis || (x.extent[Axis] != dyn && x.extent[Axis] < K)) return no_shape;
    x.extent[Axis] = K;
    return x;
  }
  static constexpr std::int64_t operations(shape, shape x) { return 2 * x.size(); }
  static constexpr call_cut cut(call_axes const& found) {
    call_cut c{.fits = found[0] != Axis};
    c.operands[0] = c.axis = found[0];
    return c;
  }
  template <class T>
  void host(call_context const&, tile<T> values, tile<std::int64_t> places, tile<T const> x) const {
    around_axis const of(x, Axis);
    host::top_of_lines<Smallest, K>(x.data, values.data, places.data, of.outer, of.n, of.inner,
                                    top_rows{.rows = K});
  }
  /// means: as host(), bit for bit
  template <class T>
  void card(card_context& here, tile<T> values, tile<std::int64_t> places, tile<T const> x) const;

  /// the adjoint of an element that is among the first is that of its place in the result
  template <class G, class Y, class X>
  static constexpr auto pullback(G const& g, Y const& y, X const& x);
};

/// means: the first K elements of each replica's piece of a line, and their places in the whole line
///        + 1: rows k K ... k K + K - 1 are those of replica k; rows without an element are 0
/// device: x in pieces along Axis over List; a partial sum: each replica has its own rows
template <bool Smallest, int Axis, std::int64_t K, per_rank List>
struct top_of_pieces_op {
  static constexpr call_rule rule{.name = "top_k.pieces",
                                  .operands = {call_role::rows},
                                  .results = {call_role::terms, call_role::terms},
                                  .fixed_bits = true};
  template <int Result, class T>
  using result = std::conditional_t<Result == 0, T, std::int64_t>;
  static constexpr shape infer(int, shape x) {
    if (x.rank <= Axis || (x.extent[Axis] != dyn && x.extent[Axis] < K)) return no_shape;
    x.extent[Axis] = rows_for_replicas<List>(K);
    return x;
  }
  static constexpr std::int64_t operations(shape, shape x) { return 2 * x.size(); }
  static constexpr call_cut cut(call_axes const& found) {
    call_cut c{.fits = found[0] == Axis, .terms = reduction::sum};
    c.operands[0] = Axis;
    return c;
  }
  static top_rows rows_of(call_context const& here, std::int64_t rows) {
    return {.rows = rows, .first = here.replica * K, .base = here.first_row + 1};
  }
  template <class T>
  void host(call_context const& here, tile<T> values, tile<std::int64_t> places,
            tile<T const> x) const {
    around_axis const of(x, Axis);
    host::top_of_lines<Smallest, K>(x.data, values.data, places.data, of.outer, of.n, of.inner,
                                    rows_of(here, values.extent[Axis]));
  }
  /// means: as host(), bit for bit
  template <class T>
  void card(card_context& here, tile<T> values, tile<std::int64_t> places, tile<T const> x) const;
};

/// means: the results of top_k_op, given those of top_of_pieces_op; x is read by the derivative alone
/// device: x in pieces along Axis; each replica has the whole result
template <bool Smallest, int Axis, std::int64_t K>
struct top_of_tops_op {
  static constexpr call_rule rule{.name = "top_k",
                                  .operands = {call_role::rows, call_role::whole, call_role::whole},
                                  .results = {call_role::whole, call_role::whole},
                                  .tensorflow = "TopKV2",
                                  .fixed_bits = true};
  template <int Result, class T, class, class>
  using result = std::conditional_t<Result == 0, T, std::int64_t>;
  static constexpr shape infer(int, shape x, shape, shape) {
    x.extent[Axis] = K;
    return x;
  }
  static constexpr std::int64_t operations(shape, shape, shape values, shape) {
    return 2 * values.size();
  }
  static constexpr call_cut cut(call_axes const& found) {
    call_cut c{.fits = found[0] == Axis};
    c.operands[0] = Axis, c.operands[1] = c.operands[2] = call_cut::whole;
    return c;
  }
  /// taken: a number for each list of each line
  template <class T>
  static merge_of_lists<Smallest, T> merge(tile<T> r, tile<std::int64_t> r_places,
                                           tile<T const> values, tile<std::int64_t const> places,
                                           std::int64_t* taken) {
    around_axis const of(values, Axis);
    return {K, of.n / K, of.inner, values.data, places.data, r.data, r_places.data, taken};
  }
  template <class T>
  void host(call_context const&, tile<T> r, tile<std::int64_t> r_places, tile<T const>,
            tile<T const> values, tile<std::int64_t const> places) const {
    around_axis const of(values, Axis);
    host::workspace<std::int64_t> const taken(of.outer * of.inner * (of.n / K));
    auto const merge_line = merge(r, r_places, values, places, taken.data());
    int const threads = threads_worth(static_cast<float>(values.size()) * 8);
    host::for_blocks_of_lines(of.outer * of.inner, of.n, threads,
                              [&](std::int64_t first, std::int64_t end) {
                                for (std::int64_t i = first; i < end; ++i) merge_line(i);
                              });
  }
  /// means: as host(), bit for bit
  template <class T>
  void card(card_context& here, tile<T> r, tile<std::int64_t> r_places, tile<T const> x,
            tile<T const> values, tile<std::int64_t const> places) const;

  template <class G, class Y, class X, class Values, class Places>
  constexpr auto pullback(G const& g, Y const& y, X const& x, Values const& values,
                          Places const& places) const;
};

/// means: r[a..., places[a..., j, b...], b...] = x[a..., j, b...], 0 elsewhere
/// shape: that of x with `Extent` along Axis, or, for dyn, `extent`; places of a line differ
/// device: x and places alike, in pieces along another axis; other pieces are gathered
template <int Axis>
struct put_at_rule {
  static constexpr call_rule rule{.name = "top_k.gradient",
                                  .operands = {call_role::rows, call_role::rows},
                                  .results = {call_role::rows},
                                  .fixed_bits = true};
  template <int, class T, class>
  using result = T;
  static constexpr shape infer_for(std::int64_t extent, shape x, shape places) {
    if (x.rank != places.rank) return no_shape;
    x.extent[Axis] = extent;
    return x;
  }
  static constexpr call_cut cut(call_axes const& found) {
    call_cut c{.fits = true};
    bool const alike = found[0] == found[1] && found[0] != Axis;
    c.operands[0] = c.operands[1] = c.axis = alike ? found[0] : call_cut::whole;
    return c;
  }
  LOCUS_HOST_DEVICE static std::int64_t target(std::int64_t i, std::int64_t place, std::int64_t k,
                                               std::int64_t n, std::int64_t inner) {
    return (i / inner / k * n + place) * inner + i % inner;
  }
  template <class T>
  void host(call_context const&, tile<T> r, tile<T const> x,
            tile<std::int64_t const> places) const {
    around_axis const from(x, Axis), to(r, Axis);
    for (std::int64_t i = 0; i < r.size(); ++i) r[i] = T(0);
    for (std::int64_t i = 0; i < x.size(); ++i)
      r[target(i, places[i], from.n, to.n, to.inner)] = x[i];
  }
  template <class T>
  void card(card_context& here, tile<T> r, tile<T const> x, tile<std::int64_t const> places) const;
};
template <int Axis, std::int64_t Extent>
struct put_at_op : put_at_rule<Axis> {
  static constexpr shape infer(int, shape x, shape places) {
    return put_at_rule<Axis>::infer_for(Extent, x, places);
  }
};
template <int Axis>
struct put_at_op<Axis, dyn> : put_at_rule<Axis> {
  std::int64_t extent = dyn;
  constexpr shape infer(int, shape x, shape places) const {
    return put_at_rule<Axis>::infer_for(extent, x, places);
  }
};

#if LOCUS_CUDA_KERNELS
template <bool Smallest, int Axis, std::int64_t K>
template <class T>
void top_k_op<Smallest, Axis, K>::card(card_context& here, tile<T> values,
                                       tile<std::int64_t> places, tile<T const> x) const {
  around_axis const of(x, Axis);
  cards::top_of_lines<Smallest, K>(here, x.data, values.data, places.data, of.outer, of.n, of.inner,
                                   top_rows{.rows = K});
}
template <bool Smallest, int Axis, std::int64_t K, per_rank List>
template <class T>
void top_of_pieces_op<Smallest, Axis, K, List>::card(card_context& here, tile<T> values,
                                                     tile<std::int64_t> places,
                                                     tile<T const> x) const {
  around_axis const of(x, Axis);
  cards::top_of_lines<Smallest, K>(here, x.data, values.data, places.data, of.outer, of.n, of.inner,
                                   rows_of(here, values.extent[Axis]));
}
template <bool Smallest, int Axis, std::int64_t K>
template <class T>
void top_of_tops_op<Smallest, Axis, K>::card(card_context& here, tile<T> r,
                                             tile<std::int64_t> r_places, tile<T const>,
                                             tile<T const> values,
                                             tile<std::int64_t const> places) const {
  around_axis const of(values, Axis);
  auto* const taken = here.take<std::int64_t>(of.outer * of.inner * (of.n / K));
  here.each(of.outer * of.inner, merge(r, r_places, values, places, taken));
}
template <int Axis>
template <class T>
void put_at_rule<Axis>::card(card_context& here, tile<T> r, tile<T const> x,
                             tile<std::int64_t const> places) const {
  around_axis const from(x, Axis), to(r, Axis);
  here.each(r.size(), cards::zeros_at<T>{r.data});
  here.each(x.size(),
            cards::put_at<put_at_rule, T>{from.n, to.n, to.inner, x.data, places.data, r.data});
}
#endif

}  // namespace locus::algorithms
