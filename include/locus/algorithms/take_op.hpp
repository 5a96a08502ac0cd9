// SPDX-License-Identifier: Apache-2.0
// take as a step of a plan: the rule over replicas and the kernels of the host and of cards.
#pragma once
#include <locus/algorithms/around_axis.hpp>  // around_axis
#include <locus/algorithms/id_place.hpp>     // id_number, id_place, first_place
#include <locus/core/error.hpp>              // shape_error
#include <locus/core/macros.hpp>             // LOCUS_MODE, LOCUS_COLD_BEGIN
#include <locus/ops/call.hpp>                // call_rule, call_cut, tile
#include <locus/runtime/threads.hpp>         // parallel_for, threads_worth
#if LOCUS_CUDA_KERNELS
#include <locus/algorithms/take_card.hpp>  // cards::take_rows
#endif

namespace locus::algorithms {

LOCUS_COLD_BEGIN
/// fails: shape_error, for an index without a row
[[noreturn]] inline void refuse_index(id_number index, id_place const& place, int axis,
                                      std::int64_t extent) {
  message text;
  text << "locus: take reads row ";
  index.write(text);
  text << " of " << extent << " along axis " << axis;
  place.write(text, "indices");
  text << "; ";
  if (extent > 0)
    text << "indices are 0 to " << extent - 1;
  else
    text << "an empty axis has no rows: give it an empty list of indices";
  throw shape_error(text);
}
LOCUS_COLD_END

/// The rows that this piece of the operand has, among all rows along the axis.
struct rows_here {
  std::int64_t all, first, own;
  bool in_pieces;
};

namespace host {
inline namespace LOCUS_MODE {

/// means: r[k] = x[i[k]] for k below n, if all indices are below `extent`; false: one is not, and
///        nothing is written
/// cost:  the indices are checked first: loads of x then wait for no branch
template <class T, class Index>
bool take_elements(T const* x, Index const* i, T* r, std::int64_t n, std::int64_t extent) {
  bool outside = false;
  for (std::int64_t k = 0; k < n; ++k)
    outside |= static_cast<std::uint64_t>(i[k]) >= static_cast<std::uint64_t>(extent);
  if (outside) return false;
  LOCUS_IVDEP
  for (std::int64_t k = 0; k < n; ++k) r[k] = x[static_cast<std::int64_t>(i[k])];
  return true;
}

/// means: r[o, j, c] = x[o, i[j] - first, c]; a row of 0 where another piece has row i[j]
/// fails: shape_error, for the first index of a block that is outside of all rows
/// shape: x (outer, rows.own, inner), i (n), r (outer, n, inner); `place`: that of i[0]
/// cost:  blocks of rows on several threads; an element is read and written once
template <class T, class Index>
void take_rows(T const* x, Index const* i, T* r, std::int64_t outer, std::int64_t n,
               std::int64_t inner, rows_here const& rows, int axis, id_place const& place) {
  std::int64_t const all = outer * n, block = inner < 1024 ? 4096 / (inner > 4 ? inner / 4 : 1) : 4,
                     blocks = (all + block - 1) / block;
  auto const bytes = sizeof(T) * static_cast<std::size_t>(inner);
  int const threads =
      threads_worth(static_cast<float>(all) * (static_cast<float>(bytes) * 0.1f + 2));
  parallel_for(static_cast<int>(blocks), threads, [&](int task) {
    std::int64_t k = task * block, o = k / n, j = k % n;
    std::int64_t const end = k + block < all ? k + block : all;
    if (inner == 1 && rows.own == rows.all && rows.first == 0)
      while (k < end) {
        std::int64_t const some = n - j < end - k ? n - j : end - k;
        if (!take_elements(x + o * rows.all, i + j, r + k, some, rows.all)) break;
        k += some, j = 0, ++o;
      }
    for (; k < end; ++k) {
      auto const index = static_cast<std::int64_t>(i[j]);
      if (index < 0 || index >= rows.all) refuse_index(i[j], place.behind(j), axis, rows.all);
      std::int64_t const row = index - rows.first;
      bool const is_here = row >= 0 && row < rows.own;
      T const* const from = x + (is_here ? (o * rows.own + row) * inner : 0);
      T* const to = r + k * inner;
      if (inner == 1)
        *to = is_here ? *from : T(0);
      else if (is_here)
        __builtin_memcpy(static_cast<void*>(to), from, bytes);
      else
        for (std::int64_t c = 0; c < inner; ++c) to[c] = T(0);
      if (++j == n) j = 0, ++o;
    }
  });
}

}  // namespace LOCUS_MODE
}  // namespace host

/// means: r[a..., j..., b...] = x[a..., i[j...], b...], a: Axis axes; j: IndexRank axes
/// device: x whole: as i. x in pieces along Axis: each replica has its own rows and 0 elsewhere,
///         and the sum of these terms is the result. x in pieces along another axis: as x
/// fails: on the host, and on simulated GPUs, shape_error that names index, place and extent
/// after: NumPy's take, TensorFlow's gather
template <int Axis, int IndexRank>
struct take_op {
  static constexpr call_rule rule{.name = "take",
                                  .operands = {call_role::whole, call_role::rows},
                                  .results = {call_role::rows},
                                  .tensorflow = "GatherV2",
                                  .fixed_bits = true};

  template <int, class T, class>
  using result = T;
  static constexpr shape infer(int, shape x, shape i) {
    shape r;
    if (x.rank <= Axis || i.rank != IndexRank || x.rank - 1 + IndexRank > max_rank) return no_shape;
    r.rank = x.rank - 1 + IndexRank;
    for (int a = 0; a < r.rank; ++a)
      r.extent[a] = a < Axis               ? x.extent[a]
                    : a < Axis + IndexRank ? i.extent[a - Axis]
                                           : x.extent[a - IndexRank + 1];
    return r;
  }
  /// means: indices in pieces along axis 0 give such rows, if x is whole; they are gathered
  ///        where x is in pieces
  static constexpr call_cut cut(call_axes const& found) {
    call_cut c{.fits = true};
    c.operands[0] = found[0], c.operands[1] = call_cut::whole;
    if (found[0] == Axis)
      c.terms = reduction::sum, c.batch = 0;
    else if (found[0] != call_cut::whole)
      c.axis = static_cast<signed char>(found[0] < Axis ? found[0] : found[0] + IndexRank - 1);
    else if (found[1] == 0)
      c.operands[1] = 0, c.axis = Axis;
    else
      c.fits = false;
    return c;
  }

  template <class T, class Index>
  void host(call_context const& here, tile<T> r, tile<T const> x, tile<Index const> i) const {
    around_axis const of(x, Axis);
    rows_here const rows = rows_of(here, of.n);
    bool const whole = IndexRank == 0 || rows.in_pieces;
    host::take_rows(x.data, i.data, r.data, of.outer, i.size(), of.inner, rows, Axis,
                    first_place(here, whole, 0));
  }
  /// means: as host(), but an index outside of all rows is no error: its row is NaN, which the
  ///        readers of r show, or 0 where T has no NaN; nothing beyond x is read
  template <class T, class Index>
  void card(card_context& here, tile<T> r, tile<T const> x, tile<Index const> i) const;

  /// the adjoint of x: the sum of the rows of g that came from one row of x
  template <class G, class Y, class X, class Rows>
  static constexpr auto pullback(G const& g, Y const& y, X const& x, Rows const& i);

 private:
  static rows_here rows_of(call_context const& here, std::int64_t own) {
    return here.rows > 0 ? rows_here{here.rows, here.first_row, own, true}
                         : rows_here{own, 0, own, false};
  }
};

#if LOCUS_CUDA_KERNELS
template <int Axis, int IndexRank>
template <class T, class Index>
void take_op<Axis, IndexRank>::card(card_context& here, tile<T> r, tile<T const> x,
                                    tile<Index const> i) const {
  around_axis const of(x, Axis);
  rows_here const rows = rows_of(here, of.n);
  cards::take_rows(here, x.data, i.data, r.data, of.outer, i.size(), of.inner, rows.all, rows.first,
                   rows.own);
}
#endif

}  // namespace locus::algorithms
