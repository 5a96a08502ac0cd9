// SPDX-License-Identifier: Apache-2.0
// Sorts of lines as steps of a plan: the rule over replicas and the kernels of the host and of
// cards.
#pragma once
#include <locus/algorithms/around_axis.hpp>  // around_axis
#include <locus/algorithms/line_blocks.hpp>  // for_blocks_of_lines
#include <locus/algorithms/radix.hpp>        // sort_by_digits, sort_in_parts, keyed
#include <locus/algorithms/workspace.hpp>    // workspace
#include <locus/core/macros.hpp>             // LOCUS_MODE
#include <locus/engine/gpu/key_order.hpp>    // key_order
#include <locus/ops/call.hpp>                // call_rule, call_cut, tile
#include <locus/runtime/threads.hpp>         // parallel_for, threads_worth
#if LOCUS_CUDA_KERNELS
#include <locus/algorithms/sort_card.hpp>  // cards::sort_lines
#endif

namespace locus::algorithms {

enum class sort_result : unsigned char { values, places };

namespace host {
inline namespace LOCUS_MODE {

/// means: for each line of (outer, n, inner): load(at, j) for its elements, at: their place, j: that
///        in the line; a stable sort by keys; store(at, item) in that order
/// cost:  whole lines on several threads where they are enough; else each line
template <class Item, class Load, class Store>
void sort_lines(std::int64_t outer, std::int64_t n, std::int64_t inner, Load const& load,
                Store const& store) {
  std::int64_t const lines = outer * inner;
  int const threads = threads_worth(static_cast<float>(lines * n) * 8);
  auto const sort_line = [&](Item* items, std::int64_t line, int own_threads) {
    std::int64_t const first = line / inner * n * inner + line % inner;
    auto const each = [&](auto const& f) {
      if (inner == 1)
        for (std::int64_t j = 0; j < n; ++j) f(first + j, j);
      else
        for (std::int64_t j = 0; j < n; ++j) f(first + j * inner, j);
    };
    each([&](std::int64_t at, std::int64_t j) { items[j] = load(at, j); });
    if (own_threads > 1)
      sort_in_parts(items, items + n, n, own_threads);
    else
      sort_by_digits(items, items + n, n);
    each([&](std::int64_t at, std::int64_t j) { store(at, items[j]); });
  };
  if (lines >= threads || n < 4096) {
    for_blocks_of_lines(lines, n, threads, [&](std::int64_t first, std::int64_t end) {
      workspace<Item> const memory(2 * n);
      for (std::int64_t line = first; line < end; ++line) sort_line(memory.data(), line, 1);
    });
    return;
  }
  workspace<Item> const memory(2 * n);
  for (std::int64_t line = 0; line < lines; ++line) sort_line(memory.data(), line, threads);
}

/// means: r[o, ., c] = the elements of x[o, ., c] in rising order, or their places; equal elements
///        keep their order
/// shape: x, r (outer, n, inner)
template <sort_result Result, class T, class R>
void sort_lines(T const* x, R* r, std::int64_t outer, std::int64_t n, std::int64_t inner) {
  using order = cuda_side::key_order<T>;
  using bits = typename order::bits;
  if constexpr (Result == sort_result::values)
    sort_lines<bits>(
        outer, n, inner, [&](std::int64_t at, std::int64_t) { return order::of(x[at]); },
        [&](std::int64_t at, bits b) { r[at] = order::key(b); });
  else {
    using item = keyed<bits, std::int64_t>;
    sort_lines<item>(
        outer, n, inner, [&](std::int64_t at, std::int64_t j) { return item{order::of(x[at]), j}; },
        [&](std::int64_t at, item const& place) { r[at] = place.value; });
  }
}

}  // namespace LOCUS_MODE
}  // namespace host

/// means: r[a..., ., b...] = the elements of x[a..., ., b...] in rising order, or their places;
///        a: Axis axes; -0.0 before 0.0, every NaN last and one quiet NaN; stable
/// device: as x, which is whole, or in pieces along another axis
template <sort_result Result, int Axis>
struct sort_op {
  static constexpr bool values = Result == sort_result::values;
  static constexpr call_rule rule{.name = values ? "sort" : "argsort",
                                  .operands = {call_role::rows},
                                  .results = {call_role::rows},
                                  .tensorflow = "TopKV2",
                                  .fixed_bits = true};
  template <int, class T>
  using result = std::conditional_t<values, T, std::int64_t>;
  static constexpr shape infer(int, shape x) { return x.rank > Axis ? x : no_shape; }
  static constexpr std::int64_t operations(shape, shape x) { return 16 * x.size(); }
  static constexpr call_cut cut(call_axes const& found) {
    call_cut c{.fits = found[0] != Axis};
    c.operands[0] = c.axis = found[0];
    return c;
  }
  template <class R, class T>
  void host(call_context const&, tile<R> r, tile<T const> x) const {
    around_axis const of(x, Axis);
    host::sort_lines<Result>(x.data, r.data, of.outer, of.n, of.inner);
  }
  /// means: as host(), bit for bit
  template <class R, class T>
  void card(card_context& here, tile<R> r, tile<T const> x) const;

  /// the adjoint of an element is that of the place to which the sort moves the element
  template <class G, class Y, class X>
    requires(Result == sort_result::values)
  static constexpr auto pullback(G const& g, Y const& y, X const& x);
};

/// means: r[a..., places[a..., j, b...], b...] = x[a..., j, b...]: the inverse of a permutation of
///        each line
/// device: x and places alike, in pieces along another axis; other pieces are gathered
template <int Axis>
struct put_back_op {
  static constexpr call_rule rule{.name = "sort.gradient",
                                  .operands = {call_role::rows, call_role::rows},
                                  .results = {call_role::rows},
                                  .fixed_bits = true};
  template <int, class T, class>
  using result = T;
  static constexpr shape infer(int, shape x, shape places) {
    if (x.rank != places.rank) return no_shape;
    for (int a = 0; a < x.rank; ++a)
      if (x.extent[a] != places.extent[a]) {
        if (x.extent[a] != dyn && places.extent[a] != dyn) return no_shape;
        x.extent[a] = dyn;
      }
    return x;
  }
  static constexpr call_cut cut(call_axes const& found) {
    call_cut c{.fits = true};
    bool const alike = found[0] == found[1] && found[0] != Axis;
    c.operands[0] = c.operands[1] = c.axis = alike ? found[0] : call_cut::whole;
    return c;
  }
  template <class T, class Place>
  void host(call_context const&, tile<T> r, tile<T const> x, tile<Place const> places) const {
    around_axis const of(x, Axis);
    std::int64_t const size = of.outer * of.n * of.inner, block = 4096;
    parallel_for(static_cast<int>((size + block - 1) / block),
                 threads_worth(static_cast<float>(size) * 2), [&](int task) {
                   std::int64_t i = task * block;
                   for (std::int64_t const end = i + block < size ? i + block : size; i < end; ++i)
                     r.data[target(i, places.data[i], of.n, of.inner)] = x.data[i];
                 });
  }
  template <class T, class Place>
  void card(card_context& here, tile<T> r, tile<T const> x, tile<Place const> places) const;

  LOCUS_HOST_DEVICE static std::int64_t target(std::int64_t i, std::int64_t place, std::int64_t n,
                                               std::int64_t inner) {
    return (i / inner / n * n + place) * inner + i % inner;
  }
};

#if LOCUS_CUDA_KERNELS
template <sort_result Result, int Axis>
template <class R, class T>
void sort_op<Result, Axis>::card(card_context& here, tile<R> r, tile<T const> x) const {
  around_axis const of(x, Axis);
  cards::sort_lines<values>(here, x.data, r.data, of.outer, of.n, of.inner);
}
template <int Axis>
template <class T, class Place>
void put_back_op<Axis>::card(card_context& here, tile<T> r, tile<T const> x,
                             tile<Place const> places) const {
  around_axis const of(x, Axis);
  here.each(of.outer * of.n * of.inner,
            cards::put_back<put_back_op, T, Place>{of.n, of.inner, x.data, places.data, r.data});
}
#endif

}  // namespace locus::algorithms
