// SPDX-License-Identifier: Apache-2.0
// Counts of elements in bins as steps of a plan: the rule over replicas and the kernels of the host
// and of cards.
#pragma once
#include <locus/algorithms/bins.hpp>          // even_bins, id_bins, edge_bins
#include <locus/algorithms/id_place.hpp>      // first_place
#include <locus/algorithms/segments_op.hpp>   // refuse_segment
#include <locus/algorithms/sorted_place.hpp>  // places_in_sorted
#include <locus/algorithms/workspace.hpp>     // workspace
#include <locus/core/macros.hpp>              // LOCUS_MODE
#include <locus/ops/call.hpp>                 // call_rule, call_cut, tile
#include <locus/runtime/threads.hpp>          // parallel_for, threads_worth
#if LOCUS_CUDA_KERNELS
#include <locus/algorithms/histogram_card.hpp>  // cards::count_in_bins
#endif

namespace locus::algorithms {

namespace host {
inline namespace LOCUS_MODE {

inline constexpr std::int64_t most_numbers = 512;  // of bins, computed at once

/// means: numbers[k] = the bin of x[k], for k in [0, n), n at most most_numbers
template <class T, class Bins, class Number>
void find_bins(Bins const& bins, T const* x, Number n, std::int32_t* numbers) {
  for (std::int64_t k = 0; k < n; ++k) numbers[k] = bins(x[k]);
}
template <class T, class Number>
void find_bins(edge_bins<T> const& bins, T const* x, Number n, std::int32_t* numbers) {
  std::int64_t places[most_numbers];
  places_in_sorted<true>(sorted_elements<T>{bins.edges, bins.count + 1}, x, n, places);
  for (std::int64_t k = 0; k < n; ++k) numbers[k] = bins.number_at(places[k], x[k]);
}

/// means: r[b] = the number of elements of x in bin b; returns the number of those in no bin
/// shape: x (n), r (bins.count)     units: work: nanoseconds of an element on one thread
/// cost:  one pass on several threads, each with tables of its own, which are added at the end.
///        Numbers of bins are computed first, as vectors; few bins have four tables, so that equal
///        elements in turn do not wait for one another
template <class T, class Bins>
std::int64_t count_in_bins(T const* x, std::int64_t n, Bins const& bins, std::int64_t* r,
                           float work = 1.5f) {
  std::int64_t const stride = bins.count + 1, tables = stride <= 1024 ? 4 : 1,
                     most = 1 + n / (8 * stride);  // more threads would only add tables
  int const worth = threads_worth(static_cast<float>(n) * work),
            parts = worth < most ? worth : static_cast<int>(most);
  workspace<std::int64_t> const memory(parts * tables * stride);
  parallel_for(parts, parts, [&](int part) {
    std::int64_t* const own = memory.data() + part * tables * stride;
    std::int64_t const apart = tables > 1 ? stride : 0;
    for (std::int64_t b = 0; b < tables * stride; ++b) own[b] = 0;
    std::int64_t *const second = own + apart, *const third = second + apart,
                        *const fourth = third + apart;
    std::int32_t numbers[most_numbers];
    std::int64_t i = n / parts * part;
    std::int64_t const end = part + 1 < parts ? n / parts * (part + 1) : n;
    for (; i + most_numbers <= end; i += most_numbers) {
      find_bins(bins, x + i, std::integral_constant<std::int64_t, most_numbers>{}, numbers);
      for (std::int64_t k = 0; k < most_numbers; k += 4) {
        ++own[numbers[k]];
        ++second[numbers[k + 1]];
        ++third[numbers[k + 2]];
        ++fourth[numbers[k + 3]];
      }
    }
    find_bins(bins, x + i, end - i, numbers);
    for (std::int64_t k = 0; k < end - i; ++k) ++own[numbers[k]];
  });
  std::int64_t outside = 0;
  for (std::int64_t b = 0; b < stride; ++b) {
    std::int64_t total = 0;
    for (std::int64_t t = 0; t < parts * tables; ++t) total += memory.data()[t * stride + b];
    (b < bins.count ? r[b] : outside) = total;
  }
  return outside;
}

}  // namespace LOCUS_MODE
}  // namespace host

/// means: r[b] = the number of elements of x in bin b
/// device: x in pieces along any axis: each replica has a term
/// after: NumPy's histogram and bincount, TensorFlow's histogram_fixed_width
template <class Bins>
struct count_rule {
  static constexpr call_rule rule{.name = Bins::name,
                                  .operands = {call_role::rows},
                                  .results = {call_role::terms},
                                  .tensorflow = Bins::tensorflow,
                                  .fixed_bits = true};
  Bins bins;

  template <int, class T>
  using result = std::int64_t;
  static constexpr std::int64_t operations(shape, shape x) { return 4 * x.size(); }
  static constexpr call_cut cut(call_axes const& found) {
    call_cut c{.fits = true, .terms = reduction::sum};
    c.operands[0] = found[0];
    if (found[0] == 0) c.batch = 0;
    return c;
  }
  /// fails: shape_error, for the first id outside of all bins
  template <class T>
  void host(call_context const& here, tile<std::int64_t> r, tile<T const> x) const {
    std::int64_t const n = x.size(), outside = host::count_in_bins(x.data, n, bins, r.data);
    if constexpr (std::is_same_v<Bins, id_bins>) {
      if (outside == 0) return;
      std::int64_t i = 0;
      while (bins(x[i]) != bins.count) ++i;
      std::int64_t const each = x.rank > 0 ? n / x.extent[0] : 0;
      refuse_segment(Bins::name, x[i], first_place(here, false, each).behind(i), bins.count);
    }
  }
  /// means: as host(), but an id outside of all bins is no error: it is not counted
  template <class T>
  void card(card_context& here, tile<std::int64_t> r, tile<T const> x) const;
};
/// The number of bins: part of the type, or known when the program runs.
template <class Bins, std::int64_t Count>
struct count_op : count_rule<Bins> {
  static constexpr shape infer(int, shape) { return {1, {Count}}; }
};
template <class Bins>
struct count_op<Bins, dyn> : count_rule<Bins> {
  constexpr shape infer(int, shape) const { return {1, {this->bins.count}}; }
};

/// means: r[b] = the number of elements of x in [edges[b], edges[b + 1])
/// device: x in pieces along any axis: each replica has a term; pieces of edges are gathered
/// fails: on the host, and on simulated GPUs, shape_error for the first edge behind a greater one
struct count_between_op {
  static constexpr call_rule rule{.name = "histogram",
                                  .operands = {call_role::rows, call_role::whole},
                                  .results = {call_role::terms},
                                  .fixed_bits = true};
  template <int, class T, class>
  using result = std::int64_t;
  static constexpr shape infer(int, shape, shape edges) {
    if (edges.rank != 1 || edges.extent[0] == 0) return no_shape;
    return {1, {edges.extent[0] == dyn ? dyn : edges.extent[0] - 1}};
  }
  static constexpr std::int64_t operations(shape, shape x, shape) { return 16 * x.size(); }
  static constexpr call_cut cut(call_axes const& found) {
    call_cut c{.fits = true};
    c.operands[0] = found[0], c.operands[1] = call_cut::whole;
    if (found[0] != call_cut::whole) c.terms = reduction::sum;
    return c;
  }
  template <class T>
  void host(call_context const&, tile<std::int64_t> r, tile<T const> x, tile<T const> edges) const {
    using number = compute_t<T>;
    std::int64_t const bins = edges.size() - 1;
    if (bins > most_bins) refuse_bins(rule.name, bins);
    for (std::int64_t i = 0; i < bins; ++i) {
      auto const edge = static_cast<number>(edges[i]), next = static_cast<number>(edges[i + 1]);
      if (!(edge <= next)) refuse_edges(i, static_cast<double>(edge), static_cast<double>(next));
    }
    host::count_in_bins(x.data, x.size(), edge_bins<T>{edges.data, bins}, r.data, 10);
  }
  /// means: as host(), but for edges without order no error: counts then have no meaning
  template <class T>
  void card(card_context& here, tile<std::int64_t> r, tile<T const> x, tile<T const> edges) const;
};

#if LOCUS_CUDA_KERNELS
template <class Bins>
template <class T>
void count_rule<Bins>::card(card_context& here, tile<std::int64_t> r, tile<T const> x) const {
  cards::count_in_bins(here, x.data, x.size(), bins, r.data);
}
template <class T>
void count_between_op::card(card_context& here, tile<std::int64_t> r, tile<T const> x,
                            tile<T const> edges) const {
  cards::count_in_bins(here, x.data, x.size(), edge_bins<T>{edges.data, edges.size() - 1}, r.data);
}
#endif

}  // namespace locus::algorithms
