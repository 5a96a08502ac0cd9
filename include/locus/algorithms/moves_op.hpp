// SPDX-License-Identifier: Apache-2.0
// Elements that change their places, as steps of a plan: roll, flip and pad along an axis, the
// diagonal of a matrix and its adjoint.
#pragma once
#include <locus/algorithms/around_axis.hpp>  // around_axis
#include <locus/algorithms/line_blocks.hpp>  // for_blocks_of_lines
#include <locus/core/macros.hpp>             // LOCUS_HOST_DEVICE
#include <locus/ops/call.hpp>                // call_rule, call_cut, tile
#include <locus/ops/views.hpp>               // slice_op
#include <locus/runtime/threads.hpp>         // threads_worth

namespace locus::algorithms {

/// means: r[a..., j, b...] = x[a..., (j - by) mod n, b...], or x[a..., n - 1 - j, b...] (Flips); n:
///        the extent of Axis, a: Axis axes
/// device: as x, which is whole, or in pieces along another axis
template <bool Flips, int Axis>
struct move_op {
  static constexpr call_rule rule{.name = Flips ? "flip" : "roll",
                                  .operands = {call_role::rows},
                                  .results = {call_role::rows},
                                  .tensorflow = Flips ? "ReverseV2" : "Roll",
                                  .fixed_bits = true};
  std::int64_t by = 0;

  static constexpr shape infer(int, shape x) { return x.rank > Axis ? x : no_shape; }
  static constexpr call_cut cut(call_axes const& found) {
    call_cut c{.fits = found[0] != Axis};
    c.operands[0] = c.axis = found[0];
    return c;
  }
  /// the element of a line of n from which element j comes
  LOCUS_HOST_DEVICE std::int64_t source(std::int64_t j, std::int64_t n) const {
    if constexpr (Flips) return n - 1 - j;
    std::int64_t const k = (j - by % n) % n;
    return k < 0 ? k + n : k;
  }
  template <int, class T>
  LOCUS_HOST_DEVICE T element(std::int64_t i, call_context const&, tile<T>, tile<T const> x) const {
    std::int64_t const n = x.extent[Axis];
    std::int64_t inner = 1;
    for (int a = Axis + 1; a < x.rank; ++a) inner *= x.extent[a];
    std::int64_t const j = i / inner % n;
    return x[i + (source(j, n) - j) * inner];
  }
  template <class T>
  void host(call_context const&, tile<T> r, tile<T const> x) const {
    around_axis const of(x, Axis);
    std::int64_t const n = of.n, inner = of.inner, rows = of.outer * n;
    if (rows == 0 || inner == 0) return;
    int const threads = threads_worth(static_cast<float>(rows * inner));
    host::for_blocks_of_lines(rows, inner, threads, [&](std::int64_t first, std::int64_t end) {
      while (first < end) {
        std::int64_t const j = first % n, from = first - j + source(j, n);
        if constexpr (Flips) {  // the rest of the line, backwards
          std::int64_t const run = n - j < end - first ? n - j : end - first;
          for (std::int64_t k = 0; k < run; ++k)
            for (std::int64_t c = 0; c < inner; ++c)
              r.data[(first + k) * inner + c] = x.data[(from - k) * inner + c];
          first += run;
        } else {  // rows that stay together
          std::int64_t const left = first - j + n - (from > first ? from : first),
                             run = left < end - first ? left : end - first;
          for (std::int64_t c = 0; c < run * inner; ++c)
            r.data[first * inner + c] = x.data[from * inner + c];
          first += run;
        }
      }
    });
  }
  template <class G, class Y, class X>
  constexpr auto pullback(G const& g, Y const&, X const&) const {
    return call(move_op{-by}, g);
  }
};

/// means: r[a..., j, b...] = x[a..., j - before, b...] for j - before of [0, n), value elsewhere; n:
///        the extent of Axis, which has before + after elements more in r; dyn: known when it runs
/// device: as x, which is whole, or in pieces along another axis
template <class T, int Axis, std::int64_t Before, std::int64_t After>
struct pad_op {
  static constexpr call_rule rule{.name = "pad",
                                  .operands = {call_role::rows},
                                  .results = {call_role::rows},
                                  .tensorflow = "PadV2",
                                  .fixed_bits = true};
  std::int64_t before = 0, after = 0;
  T value{};

  static constexpr shape padded(shape x, std::int64_t width) {
    if (x.rank <= Axis) return no_shape;
    if (x.extent[Axis] != dyn) x.extent[Axis] += width;
    return x;
  }
  static constexpr shape infer(int, shape x)
    requires(Before != dyn)
  {
    return padded(x, Before + After);
  }
  constexpr shape infer(int, shape x) const
    requires(Before == dyn)
  {
    return padded(x, before + after);
  }
  static constexpr call_cut cut(call_axes const& found) { return move_op<false, Axis>::cut(found); }
  template <int>
  LOCUS_HOST_DEVICE T element(std::int64_t i, call_context const&, tile<T> r,
                              tile<T const> x) const {
    std::int64_t inner = 1;
    for (int a = Axis + 1; a < r.rank; ++a) inner *= r.extent[a];
    std::int64_t const row = i / inner, line = row / r.extent[Axis],
                       j = row - line * r.extent[Axis] - before, n = x.extent[Axis];
    return j >= 0 && j < n ? x[(line * n + j) * inner + i - row * inner] : value;
  }
  void host(call_context const&, tile<T> r, tile<T const> x) const {
    around_axis const of(r, Axis);
    std::int64_t const inner = of.inner, n = x.extent[Axis], rows = of.outer * of.n;
    if (rows == 0 || inner == 0) return;
    int const threads = threads_worth(static_cast<float>(rows * inner));
    host::for_blocks_of_lines(rows, inner, threads, [&](std::int64_t first, std::int64_t end) {
      while (first < end) {  // the front margin, the rows of x, or the back margin of one line
        std::int64_t const line = first / of.n, j = first - line * of.n;
        std::int64_t const stop = j < before       ? before
                                  : j < before + n ? before + n
                                                   : of.n,
                           run = stop - j < end - first ? stop - j : end - first;
        T* const to = r.data + first * inner;
        if (j >= before && j < before + n) {
          T const* const from = x.data + (line * n + j - before) * inner;
          for (std::int64_t c = 0; c < run * inner; ++c) to[c] = from[c];
        } else
          for (std::int64_t c = 0; c < run * inner; ++c) to[c] = value;
        first += run;
      }
    });
  }
  template <class G, class Y, class X>
  constexpr auto pullback(G const& g, Y const&, X const&) const {
    slice_op<axis_set(1u << Axis)> op;
    op.ranges[Axis] = {before, after > 0 ? -after : range::to_end};
    return make_node(op, as_operand<void>(g));
  }
};

/// means: r[i] = x[i + lower, i + upper], where lower - upper is -Diagonal and one of them is 0
/// device: x whole
template <int Diagonal>
struct diagonal_op {
  static constexpr call_rule rule{.name = "diagonal",
                                  .operands = {call_role::whole},
                                  .results = {call_role::whole},
                                  .tensorflow = "MatrixDiagPart",
                                  .fixed_bits = true};
  static constexpr std::int64_t lower = Diagonal < 0 ? -Diagonal : 0,
                                upper = Diagonal > 0 ? Diagonal : 0;
  static constexpr std::int64_t length(std::int64_t n, std::int64_t m) {
    if (n == dyn || m == dyn) return dyn;
    std::int64_t const k = n - lower < m - upper ? n - lower : m - upper;
    return k > 0 ? k : 0;
  }
  static constexpr shape infer(int, shape x) {
    return x.rank == 2 ? shape{1, {length(x.extent[0], x.extent[1])}} : no_shape;
  }
  static constexpr call_cut cut(call_axes const&) { return {}; }
  template <int, class T>
  LOCUS_HOST_DEVICE T element(std::int64_t i, call_context const&, tile<T>, tile<T const> x) const {
    return x[(i + lower) * x.extent[1] + i + upper];
  }
  template <class G, class Y, class X>
  static constexpr auto pullback(G const& g, Y const&, X const& x);
};

/// means: r = 0 but on the diagonal, where r[i + lower, i + upper] = d[i]; x gives the extents alone
/// device: both whole
template <int Diagonal>
struct onto_diagonal_op {
  static constexpr call_rule rule{.name = "diagonal.gradient",
                                  .operands = {call_role::whole, call_role::whole},
                                  .results = {call_role::whole},
                                  .fixed_bits = true};
  using of = diagonal_op<Diagonal>;
  template <int, class T, class>
  using result = T;
  static constexpr shape infer(int, shape, shape x) { return x; }
  static constexpr call_cut cut(call_axes const&) { return {}; }
  template <int, class T, class X>
  LOCUS_HOST_DEVICE T element(std::int64_t i, call_context const&, tile<T>, tile<T const> d,
                              tile<X const> x) const {
    std::int64_t const row = i / x.extent[1] - of::lower, column = i % x.extent[1] - of::upper;
    return row == column && row >= 0 ? d[row] : T(0);
  }
};

template <int Diagonal>
template <class G, class Y, class X>
constexpr auto diagonal_op<Diagonal>::pullback(G const& g, Y const&, X const& x) {
  return call(onto_diagonal_op<Diagonal>{}, g, x);
}

}  // namespace locus::algorithms
