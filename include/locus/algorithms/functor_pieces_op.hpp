// SPDX-License-Identifier: Apache-2.0
// Scans and folds by a functor of the program along a cut: each replica folds its pieces of the lines, the totals travel,
// and each replica goes on from the totals of the pieces in front.
#pragma once
#include <cstdint>  // int64_t

#include <locus/algorithms/functor_op.hpp>  // functor_rule, reduce_lines
#include <locus/core/macros.hpp>            // LOCUS_HOST_DEVICE
#include <locus/ops/call.hpp>               // call_rule, call_cut, tile
#include <locus/shape/element.hpp>          // total_t

namespace locus::algorithms {

// The totals of pieces have a row for the total of each replica's piece of a line, and behind these rows
// one that says whether the piece has an element. Totals travel as total_t: an all-reduce adds zeros to them.

/// The total of line i of one replica is put into its rows; the other rows are 0.
template <class Fold, class Travelling>
struct put_total {
  Travelling* r;
  std::int64_t replica, replicas, inner;
  LOCUS_HOST_DEVICE void operator()(std::int64_t i, typename Fold::total t) const {
    for (std::int64_t k = 0; k < 2 * replicas; ++k)
      r[(i / inner * 2 * replicas + k) * inner + i % inner] =
          k == replica              ? static_cast<Travelling>(t.value)
          : k == replica + replicas ? Travelling(t.any ? 1 : 0)
                                    : Travelling(0);
  }
};
/// A line begins with `start` and the totals of the first `pieces` replicas.
template <class Fold, class Travelling>
struct start_behind_pieces {
  using total = typename Fold::total;
  Travelling const* totals;
  std::int64_t replicas, pieces;
  total start;
  Fold fold;
  template <class = Fold, bool Backwards = false>
  LOCUS_HOST_DEVICE constexpr total of(std::int64_t o, std::int64_t c, std::int64_t inner) const {
    total t = start;
    for (std::int64_t k = 0; k < pieces; ++k) {
      Travelling const* const row = totals + (o * 2 * replicas + k) * inner + c;
      if (row[replicas * inner] != Travelling(0))
        t = fold.combine(t, total{static_cast<decltype(t.value)>(*row), true});
    }
    return t;
  }
};

/// means: of each line the fold of each replica's piece, and whether the piece has an element
/// device: x in pieces along Axis over List; a partial sum: each replica has its own rows
template <int Axis, class F, class T, per_rank List>
struct totals_by_op : functor_rule<Axis, F, T, false> {
  using base = functor_rule<Axis, F, T, false>;
  static constexpr call_rule rule{.name = "scan.totals",
                                  .operands = {call_role::rows},
                                  .results = {call_role::terms},
                                  .fixed_bits = true};
  template <int, class...>
  using result = total_t<T>;
  static constexpr shape infer(int, shape x) {
    if (x.rank <= Axis) return no_shape;
    x.extent[Axis] = rows_for_replicas<List>(2);
    return x;
  }
  static constexpr call_cut cut(call_axes const& found) { return cut_of_totals<Axis>(found); }
  using put = put_total<typename base::fold, total_t<T>>;
  static put put_into(call_context const& here, tile<total_t<T>> r, std::int64_t inner) {
    return {r.data, here.replica, r.extent[Axis] / 2, inner};
  }
  void host(call_context const& here, tile<total_t<T>> r, tile<T const> x) const {
    around_axis const of(x, Axis);
    host::reduce_lines<typename base::fold>(x.data, of.outer, of.n, of.inner, this->start().start,
                                            {this->f}, put_into(here, r, of.inner));
  }
  void card(card_context& here, tile<total_t<T>> r, tile<T const> x) const
    requires folds_on_cards<F>;
};

/// means: scan_by_op along the cut of x, from the totals of the pieces in front
template <int Axis, class F, class T, bool Exclusive, bool HasInitial>
struct scan_of_pieces_by_op : functor_rule<Axis, F, T, HasInitial> {
  using base = functor_rule<Axis, F, T, HasInitial>;
  static constexpr call_rule rule{.name = "scan",
                                  .operands = {call_role::rows, call_role::whole},
                                  .results = {call_role::rows},
                                  .fixed_bits = true};
  static constexpr shape infer(int, shape x, shape) { return x; }
  static constexpr std::int64_t operations(shape, shape x, shape) { return 2 * x.size(); }
  static constexpr call_cut cut(call_axes const& found) { return cut_behind_totals<Axis>(found); }
  auto start_of(call_context const& here, tile<total_t<T> const> totals) const {
    return start_behind_pieces<typename base::fold, total_t<T>>{
        totals.data, totals.extent[Axis] / 2, here.replica, this->start().start, {this->f}};
  }
  void host(call_context const& here, tile<T> r, tile<T const> x,
            tile<total_t<T> const> totals) const {
    around_axis const of(x, Axis);
    host::scan_lines<typename base::fold, Exclusive, false>(
        x.data, r.data, of.outer, of.n, of.inner, start_of(here, totals), {this->f});
  }
  void card(card_context& here, tile<T> r, tile<T const> x, tile<total_t<T> const> totals) const
    requires folds_on_cards<F>;
};

/// means: reduce_by_op along a cut, from the totals of all pieces     device: whole
template <int Axis, class F, class T>
struct fold_of_totals_by_op : functor_rule<Axis, F, T, true> {
  using base = functor_rule<Axis, F, T, true>;
  static constexpr call_rule rule{.name = "reduce",
                                  .operands = {call_role::whole},
                                  .results = {call_role::whole},
                                  .fixed_bits = true};
  static constexpr shape infer(int, shape totals) {
    return reduced(totals, static_cast<axis_set>(1u << Axis), false);
  }
  /// Number i of (outer, inner).
  struct line {
    start_behind_pieces<typename base::fold, total_t<T>> totals;
    std::int64_t inner;
    T* r;
    LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
      r[i] = base::fold::finish(totals.of(i / inner, i % inner, inner));
    }
  };
  line line_of(tile<T> r, tile<total_t<T> const> totals) const {
    std::int64_t const replicas = totals.extent[Axis] / 2;
    return {{totals.data, replicas, replicas, this->start().start, {this->f}},
            around_axis(totals, Axis).inner,
            r.data};
  }
  void host(call_context const&, tile<T> r, tile<total_t<T> const> totals) const {
    line const each = line_of(r, totals);
    for (std::int64_t i = 0; i < r.size(); ++i) each(i);
  }
  void card(card_context& here, tile<T> r, tile<total_t<T> const> totals) const
    requires folds_on_cards<F>;
};

#if LOCUS_CUDA_KERNELS
template <int Axis, class F, class T, per_rank List>
void totals_by_op<Axis, F, T, List>::card(card_context& here, tile<total_t<T>> r,
                                          tile<T const> x) const
  requires folds_on_cards<F>
{
  around_axis const of(x, Axis);
  cards::reduce_lines<typename base::fold>(here, x.data, of.outer, of.n, of.inner,
                                           this->start().start, {this->f},
                                           put_into(here, r, of.inner));
}
template <int Axis, class F, class T, bool Exclusive, bool HasInitial>
void scan_of_pieces_by_op<Axis, F, T, Exclusive, HasInitial>::card(
    card_context& here, tile<T> r, tile<T const> x, tile<total_t<T> const> totals) const
  requires folds_on_cards<F>
{
  around_axis const of(x, Axis);
  cards::scan_lines<typename base::fold, Exclusive, false>(
      here, x.data, r.data, of.outer, of.n, of.inner, start_of(here, totals), {this->f});
}
template <int Axis, class F, class T>
void fold_of_totals_by_op<Axis, F, T>::card(card_context& here, tile<T> r,
                                            tile<total_t<T> const> totals) const
  requires folds_on_cards<F>
{
  here.each(r.size(), line_of(r, totals));
}
#endif

}  // namespace locus::algorithms
