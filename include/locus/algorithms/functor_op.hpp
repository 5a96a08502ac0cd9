// SPDX-License-Identifier: Apache-2.0
// Scans and folds of lines by a functor of the program, as steps of a plan.
#pragma once
#include <cstdint>  // int64_t

#include <locus/algorithms/scan_op.hpp>  // host::scan_lines, host::fold_chunks, cards::scan_lines
#include <locus/core/macros.hpp>         // LOCUS_HOST_DEVICE
#include <locus/expr/operation.hpp>      // operation_of
#include <locus/ops/call.hpp>            // call_rule, call_cut, tile

namespace locus::algorithms {

/// means: folds by f. A total may be of no element: chunks of a line then need no neutral element of f
template <class F, class T>
struct functor_fold {
  struct total {
    compute_t<T> value;
    bool any;
  };
  using result = T;
  F f;

  LOCUS_HOST_DEVICE static constexpr total identity() { return {compute_t<T>(0), false}; }
  LOCUS_HOST_DEVICE static constexpr total widen(T v) {
    return {static_cast<compute_t<T>>(v), true};
  }
  LOCUS_EXEC_CHECK_DISABLE
  LOCUS_HOST_DEVICE constexpr total combine(total a, total b) const {
    if (!a.any) return b;
    if (!b.any) return a;
    return {static_cast<compute_t<T>>(f(a.value, b.value)), true};
  }
  LOCUS_HOST_DEVICE static constexpr T finish(total t) { return static_cast<T>(t.value); }
};
/// Each line begins with the same number, or with its first element.
template <class Total>
struct same_start {
  Total start;
  template <class Fold, bool Backwards>
  LOCUS_HOST_DEVICE constexpr Total of(std::int64_t, std::int64_t, std::int64_t) const {
    return start;
  }
};

/// The fold of line i is number i of the results.
template <class Fold, class T>
struct put_result {
  T* r;
  LOCUS_HOST_DEVICE void operator()(std::int64_t i, typename Fold::total t) const {
    r[i] = Fold::finish(t);
  }
};

namespace host {
inline namespace LOCUS_MODE {

/// means: put(i, the fold of start and x[o, 0 ... n - 1, c]), i = o inner + c, in chunks, as scans have
///        them
/// shape: x (outer, n, inner)
template <class Fold, class T, class Put>
void reduce_lines(T const* x, std::int64_t outer, std::int64_t n, std::int64_t inner,
                  typename Fold::total start, Fold const& fold, Put const& put) {
  using total = typename Fold::total;
  std::int64_t const chunk = scan_chunk(n), chunks = (n + chunk - 1) / chunk;
  workspace<total> const memory(outer * chunks * inner);
  total* const totals = memory.data();
  fold_chunks(x, totals, outer, n, inner, fold);
  for (std::int64_t i = 0; i < outer * inner; ++i) {
    total t = start;
    for (std::int64_t k = 0; k < chunks; ++k)
      t = fold.combine(t, totals[(i / inner * chunks + k) * inner + i % inner]);
    put(i, t);
  }
}

}  // namespace LOCUS_MODE
}  // namespace host

/// means: f has a kernel for GPUs
template <class F>
inline constexpr bool folds_on_cards = !(operation_of<F>().gpu == no_elements);

/// The rule, the cut and the functor of both operations. HasInitial: lines begin with `initial`.
template <int Axis, class F, class T, bool HasInitial>
struct functor_rule {
  template <int, class, class...>
  using result = T;
  using fold = functor_fold<F, T>;
  F f;
  compute_t<T> initial;

  static constexpr std::int64_t operations(shape, shape x) { return 2 * x.size(); }
  auto start() const {
    using total = typename fold::total;
    return same_start<total>{total{initial, HasInitial}};
  }
};

/// means: r[a..., j, b...] = f(... f(initial, x[a..., 0, b...]) ..., x[a..., j, b...]); Exclusive:
///        without element j
/// device: as x, which is whole, or in pieces along another axis; GPUs where f has a kernel for them
template <int Axis, class F, class T, bool Exclusive, bool HasInitial>
struct scan_by_op : functor_rule<Axis, F, T, HasInitial> {
  using base = functor_rule<Axis, F, T, HasInitial>;
  static constexpr call_rule rule{.name = "scan",
                                  .operands = {call_role::rows},
                                  .results = {call_role::rows},
                                  .fixed_bits = true};
  static constexpr shape infer(int, shape x) { return x.rank > Axis ? x : no_shape; }
  static constexpr call_cut cut(call_axes const& found) {
    call_cut c{.fits = found[0] != Axis};
    c.operands[0] = c.axis = found[0];
    return c;
  }
  void host(call_context const&, tile<T> r, tile<T const> x) const {
    around_axis const of(x, Axis);
    host::scan_lines<typename base::fold, Exclusive, false>(x.data, r.data, of.outer, of.n,
                                                            of.inner, this->start(), {this->f});
  }
  void card(card_context& here, tile<T> r, tile<T const> x) const
    requires folds_on_cards<F>;
};

/// means: r[a..., b...] = f(... f(initial, x[a..., 0, b...]) ..., x[a..., n - 1, b...])
/// device: as scan_by_op
template <int Axis, class F, class T>
struct reduce_by_op : functor_rule<Axis, F, T, true> {
  using base = functor_rule<Axis, F, T, true>;
  static constexpr call_rule rule{.name = "reduce",
                                  .operands = {call_role::rows},
                                  .results = {call_role::rows},
                                  .fixed_bits = true};
  static constexpr shape infer(int, shape x) {
    return x.rank > Axis ? reduced(x, static_cast<axis_set>(1u << Axis), false) : no_shape;
  }
  static constexpr call_cut cut(call_axes const& found) {
    call_cut c{.fits = found[0] != Axis};
    c.operands[0] = found[0];
    c.axis = found[0] > Axis ? found[0] - 1 : found[0];
    return c;
  }
  using put = put_result<typename base::fold, T>;
  void host(call_context const&, tile<T> r, tile<T const> x) const {
    around_axis const of(x, Axis);
    host::reduce_lines<typename base::fold>(x.data, of.outer, of.n, of.inner, this->start().start,
                                            {this->f}, put{r.data});
  }
  void card(card_context& here, tile<T> r, tile<T const> x) const
    requires folds_on_cards<F>;
};

#if LOCUS_CUDA_KERNELS
namespace cards {
inline namespace LOCUS_MODE {

/// Number i of (outer, inner): the fold of start and of the chunks of a line.
template <class Fold, class Put>
struct line_ends {
  std::int64_t chunks, inner;
  typename Fold::total start;
  typename Fold::total const* totals;
  Fold fold;
  Put put;
  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    auto t = start;
    for (std::int64_t k = 0; k < chunks; ++k)
      t = fold.combine(t, totals[(i / inner * chunks + k) * inner + i % inner]);
    put(i, t);
  }
};
/// means: as host::reduce_lines, bit for bit
template <class Fold, class T, class Put>
void reduce_lines(card_context& here, T const* x, std::int64_t outer, std::int64_t n,
                  std::int64_t inner, typename Fold::total start, Fold const& fold,
                  Put const& put) {
  std::int64_t const chunk = scan_chunk(n), chunks = (n + chunk - 1) / chunk;
  auto* const totals = here.take<typename Fold::total>(outer * chunks * inner);
  fold_chunks<Fold, false>(here, x, totals, outer, n, inner, fold);
  here.each(outer * inner, line_ends<Fold, Put>{chunks, inner, start, totals, fold, put});
}

}  // namespace LOCUS_MODE
}  // namespace cards

template <int Axis, class F, class T, bool Exclusive, bool HasInitial>
void scan_by_op<Axis, F, T, Exclusive, HasInitial>::card(card_context& here, tile<T> r,
                                                         tile<T const> x) const
  requires folds_on_cards<F>
{
  around_axis const of(x, Axis);
  cards::scan_lines<typename base::fold, Exclusive, false>(here, x.data, r.data, of.outer, of.n,
                                                           of.inner, this->start(), {this->f});
}
template <int Axis, class F, class T>
void reduce_by_op<Axis, F, T>::card(card_context& here, tile<T> r, tile<T const> x) const
  requires folds_on_cards<F>
{
  around_axis const of(x, Axis);
  cards::reduce_lines<typename base::fold>(here, x.data, of.outer, of.n, of.inner,
                                           this->start().start, {this->f}, put{r.data});
}
#endif

}  // namespace locus::algorithms
