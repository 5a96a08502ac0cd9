// SPDX-License-Identifier: Apache-2.0
// Losses and metrics as folds over a row in any order, for kernels of GPUs.
#pragma once
#include <locus/nn/losses/metric.hpp>  // the losses and metrics
#include <locus/work/reducer.hpp>      // below_all

namespace locus::nn::detail {
inline namespace LOCUS_MODE {

/// The operands of a loss or a metric for one row.
template <class T, class U>
struct scored_row {
  T const* p;
  U const* t;  // of a sparse loss: the number of the row's class
  std::int64_t n;
};

/// A fold of nothing. (Totals have no padding bytes: threads exchange them word by word.)
template <class T>
struct folded_nothing {
  T unused;
  LOCUS_HOST_DEVICE static folded_nothing combine(folded_nothing, folded_nothing) { return {T(0)}; }
};
/// the type of a number of elements, as large as T, for totals
template <class T>
using row_count = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;

/// Two folds over a row; the second reads the result of the first. Each is a type with its own
/// combine(); a fold of nothing adds nothing.
template <class T, class U, class First = folded_nothing<T>, class Second = folded_nothing<T>>
struct row_folds {
  using row = scored_row<T, U>;
  using none = folded_nothing<T>;
  using first = First;
  using second = Second;
  template <class Piece>
  LOCUS_HOST_DEVICE static none begin(Piece const&, row const&) {
    return {T(0)};
  }
  template <class Piece, class V>
  LOCUS_HOST_DEVICE static void add(Piece const&, none&, row const&, std::int32_t, T, V) {}
  LOCUS_HOST_DEVICE static first combine(first const& a, first const& b) {
    return First::combine(a, b);
  }
  template <class Piece>
  LOCUS_HOST_DEVICE static none begin_again(Piece const&, row const&, first const&) {
    return {T(0)};
  }
  template <class Piece, class V>
  LOCUS_HOST_DEVICE static void add_again(Piece const&, none&, row const&, first const&,
                                          std::int32_t, T, V) {}
  LOCUS_HOST_DEVICE static second combine_again(second const& a, second const& b) {
    return Second::combine(a, b);
  }
};

/// The folds of a loss or a metric over a row, and its value from them. A loss or metric of the
/// user has no folds: each thread reads the whole row.
///   first, begin(piece, row), add(piece, first&, row, j, prediction, target), combine(first, first)
///   second, begin_again(piece, row, first), add_again(piece, second&, ...), combine_again
///   value(piece, row, first, second)
///   losses: settle(piece, row, first, second), slope(piece, settled, row, j, prediction, target)
/// target: for a sparse loss, whether j is the class of the row
template <class Piece, class T, class U>
struct row_fold : row_folds<T, U> {
  using row = scored_row<T, U>;
  using none = folded_nothing<T>;
  LOCUS_HOST_DEVICE static auto settle(Piece const& loss, row const& r, none, none) {
    return loss.state(r.p, r.t, r.n);
  }
  template <class State, class V>
  LOCUS_HOST_DEVICE static T slope(Piece const& loss, State const& s, row const& r, std::int32_t j,
                                   T, V) {
    return loss.slope(s, r.p, r.t, r.n, j);
  }
  LOCUS_HOST_DEVICE static double value(Piece const& piece, row const& r, none, none) {
    return metric_of_row(piece, r.p, r.t, r.n);
  }
};

/// the largest number of a row; NaN, if one is NaN
template <class T>
struct top_fold {
  T top;
  LOCUS_HOST_DEVICE static top_fold begin() { return {kernel::below_all<T>}; }
  LOCUS_HOST_DEVICE void add(T z) { top = larger(top, z); }
  LOCUS_HOST_DEVICE static T larger(T a, T b) { return b > a || b != b ? b : a; }
  LOCUS_HOST_DEVICE static top_fold combine(top_fold a, top_fold b) {
    return {larger(a.top, b.top)};
  }
};
template <class T>
struct sum_fold {
  T sum;
  LOCUS_HOST_DEVICE static sum_fold combine(sum_fold a, sum_fold b) { return {a.sum + b.sum}; }
};

/// softmax_state with one division for each row: on a GPU a division takes as long as ten sums
template <class T>
struct softmax_scale {
  T top, scale;  // scale: 1 / the sum of exp(z - top)
  LOCUS_HOST_DEVICE T share(T z) const { return exp_of(z - top) * scale; }
};

/// the largest logit, then the sum of the exponentials
template <class T, class U>
struct row_fold<SparseCategoricalCrossentropy<from_logits_t>, T, U>
    : row_folds<T, U, top_fold<T>, sum_fold<T>> {
  using loss = SparseCategoricalCrossentropy<from_logits_t>;
  using row = scored_row<T, U>;
  using first = top_fold<T>;
  using second = sum_fold<T>;
  LOCUS_HOST_DEVICE static first begin(loss const&, row const&) { return first::begin(); }
  LOCUS_HOST_DEVICE static void add(loss const&, first& s, row const&, std::int32_t, T p, bool) {
    s.add(p);
  }
  LOCUS_HOST_DEVICE static second begin_again(loss const&, row const&, first) { return {T(0)}; }
  LOCUS_HOST_DEVICE static void add_again(loss const&, second& s, row const&, first f, std::int32_t,
                                          T p, bool) {
    s.sum += exp_of(p - f.top);
  }
  using settled = softmax_scale<T>;
  LOCUS_HOST_DEVICE static settled settle(loss const&, row const&, first f, second s) {
    return {f.top, T(1) / s.sum};
  }
  LOCUS_HOST_DEVICE static T slope(loss const& l, settled const& s, row const&, std::int32_t, T p,
                                   bool hit) {
    return l.slope_at(s, p, hit);
  }
  LOCUS_HOST_DEVICE static double value(loss const& l, row const& r, first f, second s) {
    return double(l.value(softmax_state<T>{f.top, s.sum}, r.p, r.t, r.n));
  }
};
template <class T, class U>
struct row_fold<SparseCategoricalCrossentropy<probabilities_t>, T, U>
    : row_folds<T, U, sum_fold<T>> {
  using loss = SparseCategoricalCrossentropy<probabilities_t>;
  using row = scored_row<T, U>;
  using none = folded_nothing<T>;
  using first = sum_fold<T>;
  LOCUS_HOST_DEVICE static first begin(loss const&, row const&) { return {T(0)}; }
  LOCUS_HOST_DEVICE static void add(loss const&, first& s, row const&, std::int32_t, T p, bool) {
    s.sum += held_probability(p);
  }
  LOCUS_HOST_DEVICE static first settle(loss const&, row const&, first s, none) { return s; }
  LOCUS_HOST_DEVICE static T slope(loss const& l, first s, row const&, std::int32_t, T p,
                                   bool hit) {
    return l.slope_at(s, p, hit);
  }
  LOCUS_HOST_DEVICE static double value(loss const& l, row const& r, first s, none) {
    return double(l.value(s, r.p, r.t, r.n));
  }
};

/// for probabilities: `top` is 0, and `sum` is their sum
template <class T>
struct target_fold {
  T top, sum, targets;
  LOCUS_HOST_DEVICE static target_fold combine(target_fold const& a, target_fold const& b) {
    return {top_fold<T>::larger(a.top, b.top), a.sum + b.sum, a.targets + b.targets};
  }
};
template <class T>
struct term_fold {
  T value, weighted, sum;
  LOCUS_HOST_DEVICE static term_fold combine(term_fold const& a, term_fold const& b) {
    return {a.value + b.value, a.weighted + b.weighted, a.sum + b.sum};
  }
};
template <class Reads, class T, class U>
struct row_fold<CategoricalCrossentropy<Reads>, T, U>
    : row_folds<T, U, target_fold<T>, term_fold<T>> {
  using loss = CategoricalCrossentropy<Reads>;
  using row = scored_row<T, U>;
  using first = target_fold<T>;
  using second = term_fold<T>;
  LOCUS_HOST_DEVICE static first begin(loss const&, row const&) {
    return {loss::reads_logits ? kernel::below_all<T> : T(0), T(0), T(0)};
  }
  LOCUS_HOST_DEVICE static void add(loss const& l, first& s, row const& r, std::int32_t, T p, U t) {
    if constexpr (loss::reads_logits)
      s.top = top_fold<T>::larger(s.top, p);
    else
      s.sum += p;
    s.targets += l.smoothed(T(t), r.n);
  }
  LOCUS_HOST_DEVICE static second begin_again(loss const&, row const&, first const&) {
    return {T(0), T(0), T(0)};
  }
  LOCUS_HOST_DEVICE static void add_again(loss const& l, second& to, row const& r, first const& s,
                                          std::int32_t, T p, U target) {
    T const t = l.smoothed(T(target), r.n);
    to.value += l.term(s.top, s.sum, T(0), p, t);  // value() adds the logarithm of the sum
    if constexpr (loss::reads_logits)
      to.sum += exp_of(p - s.top);
    else if (is_inside(p / s.sum))
      to.weighted += t;
  }
  struct settled_logits : softmax_scale<T> {
    T targets;
  };
  using settled =
      std::conditional_t<loss::reads_logits, settled_logits, typename loss::template row<T>>;
  LOCUS_HOST_DEVICE static settled settle(loss const&, row const&, first const& a,
                                          second const& b) {
    if constexpr (loss::reads_logits)
      return {{a.top, T(1) / b.sum}, a.targets};
    else
      return {a.top, a.sum, a.targets, b.weighted};
  }
  LOCUS_HOST_DEVICE static T slope(loss const& l, settled const& s, row const& r, std::int32_t, T p,
                                   U t) {
    return l.slope_at(s, p, l.smoothed(T(t), r.n));
  }
  LOCUS_HOST_DEVICE static double value(loss const&, row const&, first const& a, second const& b) {
    return double(loss::reads_logits ? b.value + a.targets * log_of(b.sum) : b.value);
  }
};

/// losses that are a mean over the elements of a row
template <class Loss, class T, class U>
  requires std::is_base_of_v<mean_of_row, Loss>
struct row_fold<Loss, T, U> : row_folds<T, U, sum_fold<T>> {
  using row = scored_row<T, U>;
  using none = folded_nothing<T>;
  using first = sum_fold<T>;
  LOCUS_HOST_DEVICE static first begin(Loss const&, row const&) { return {T(0)}; }
  LOCUS_HOST_DEVICE static void add(Loss const& l, first& s, row const&, std::int32_t, T p, U t) {
    s.sum += l.term(p, T(t));
  }
  LOCUS_HOST_DEVICE static none settle(Loss const&, row const&, first, none s) { return s; }
  LOCUS_HOST_DEVICE static T slope(Loss const& l, none, row const& r, std::int32_t, T p, U t) {
    return l.slope_at(p, T(t), r.n);
  }
  LOCUS_HOST_DEVICE static double value(Loss const&, row const& r, first s, none) {
    return double(s.sum / T(r.n));
  }
};

/// the place of the largest number, as place_of_largest
template <class V>
struct largest_fold {
  using value = std::conditional_t<is_integer_v<V>, std::int64_t,
                                   std::conditional_t<sizeof(V) == 8, double, float>>;
  using count = row_count<value>;
  value v;
  count place;  // -1: no element yet
  LOCUS_HOST_DEVICE static largest_fold begin() { return {value(0), -1}; }
  LOCUS_HOST_DEVICE static void add(largest_fold& to, std::int32_t j, V v) {
    value const w = static_cast<value>(v);  // of a later element
    bool const is_larger = (to.place < 0) | (w > to.v) | ((w != w) & (to.v == to.v));
    to.v = is_larger ? w : to.v;
    to.place = is_larger ? static_cast<count>(j) : to.place;
  }
  LOCUS_HOST_DEVICE static largest_fold combine(largest_fold const& a, largest_fold const& b) {
    bool const a_nan = a.v != a.v, b_nan = b.v != b.v, is_equal = (a.v == b.v) | (a_nan & b_nan);
    bool const is_larger = (b.v > a.v) | (b_nan & !a_nan) | (is_equal & (b.place < a.place));
    bool const takes_b = (b.place >= 0) & ((a.place < 0) | is_larger);
    return {takes_b ? b.v : a.v, takes_b ? b.place : a.place};
  }
};
/// for is_in_top: the number of predictions that are larger than the prediction of the class; a NaN
/// makes of_class NaN
template <class T, int K>
struct above_fold {
  T of_class;
  row_count<T> above;
  LOCUS_HOST_DEVICE static void add(above_fold& to, T p) {
    to.of_class = p != p ? p : to.of_class;
    to.above += p > to.of_class ? 1 : 0;
  }
  LOCUS_HOST_DEVICE static above_fold combine(above_fold const& a, above_fold const& b) {
    return {a.of_class != a.of_class ? a.of_class : b.of_class, a.above + b.above};
  }
  LOCUS_HOST_DEVICE double is_in() const {
    return of_class - of_class == T(0) && above < K ? 1 : 0;
  }
};

template <class T, class U>
struct row_fold<SparseCategoricalAccuracy, T, U> : row_folds<T, U, largest_fold<T>> {
  using metric = SparseCategoricalAccuracy;
  using row = scored_row<T, U>;
  using none = folded_nothing<T>;
  using first = largest_fold<T>;
  LOCUS_HOST_DEVICE static first begin(metric const&, row const&) { return first::begin(); }
  LOCUS_HOST_DEVICE static void add(metric const&, first& to, row const&, std::int32_t j, T p,
                                    bool) {
    largest_fold<T>::add(to, j, p);
  }
  LOCUS_HOST_DEVICE static double value(metric const&, row const& r, first const& best, none) {
    return std::int64_t(best.place) == std::int64_t(*r.t) ? 1 : 0;
  }
};
template <int K, class T, class U>
struct row_fold<SparseTopKCategoricalAccuracy<K>, T, U> : row_folds<T, U, above_fold<T, K>> {
  using metric = SparseTopKCategoricalAccuracy<K>;
  using row = scored_row<T, U>;
  using none = folded_nothing<T>;
  using first = above_fold<T, K>;
  LOCUS_HOST_DEVICE static first begin(metric const&, row const& r) { return {r.p[*r.t], 0}; }
  LOCUS_HOST_DEVICE static void add(metric const&, first& to, row const&, std::int32_t, T p, bool) {
    first::add(to, p);
  }
  LOCUS_HOST_DEVICE static double value(metric const&, row const&, first const& s, none) {
    return s.is_in();
  }
};
/// the class of dense targets, and a second fold that reads it
template <class T, class U, class Second = folded_nothing<T>>
struct class_folds : row_folds<T, U, largest_fold<U>, Second> {
  using row = scored_row<T, U>;
  using first = largest_fold<U>;
  template <class Piece>
  LOCUS_HOST_DEVICE static first begin(Piece const&, row const&) {
    return first::begin();
  }
  template <class Piece>
  LOCUS_HOST_DEVICE static void add(Piece const&, first& to, row const&, std::int32_t j, T, U t) {
    first::add(to, j, t);
  }
};
/// a piece that folds the class of dense targets alone: the row has the weight of its class
struct class_of_targets {};
template <class T, class U>
struct row_fold<class_of_targets, T, U> : class_folds<T, U> {};

/// the places of the largest prediction and of the largest target
template <class T, class U>
struct largest_pair {
  largest_fold<T> p;
  largest_fold<U> t;
  LOCUS_HOST_DEVICE static largest_pair combine(largest_pair const& a, largest_pair const& b) {
    return {largest_fold<T>::combine(a.p, b.p), largest_fold<U>::combine(a.t, b.t)};
  }
};
template <class T, class U>
struct row_fold<CategoricalAccuracy, T, U> : row_folds<T, U, largest_pair<T, U>> {
  using metric = CategoricalAccuracy;
  using row = scored_row<T, U>;
  using none = folded_nothing<T>;
  using first = largest_pair<T, U>;
  LOCUS_HOST_DEVICE static first begin(metric const&, row const&) {
    return {largest_fold<T>::begin(), largest_fold<U>::begin()};
  }
  LOCUS_HOST_DEVICE static void add(metric const&, first& to, row const&, std::int32_t j, T p,
                                    U t) {
    largest_fold<T>::add(to.p, j, p);
    largest_fold<U>::add(to.t, j, t);
  }
  LOCUS_HOST_DEVICE static double value(metric const&, row const&, first const& best, none) {
    return std::int64_t(best.p.place) == std::int64_t(best.t.place) ? 1 : 0;
  }
};
template <int K, class T, class U>
struct row_fold<TopKCategoricalAccuracy<K>, T, U> : class_folds<T, U, above_fold<T, K>> {
  using metric = TopKCategoricalAccuracy<K>;
  using row = scored_row<T, U>;
  using first = largest_fold<U>;
  using second = above_fold<T, K>;
  LOCUS_HOST_DEVICE static second begin_again(metric const&, row const& r, first const& best) {
    return {r.p[best.place], 0};
  }
  LOCUS_HOST_DEVICE static void add_again(metric const&, second& to, row const&, first const&,
                                          std::int32_t, T p, U) {
    second::add(to, p);
  }
  LOCUS_HOST_DEVICE static double value(metric const&, row const&, first const&, second const& s) {
    return s.is_in();
  }
};
template <class T, class U>
struct row_fold<BinaryAccuracy, T, U> : row_folds<T, U, sum_fold<row_count<T>>> {
  using metric = BinaryAccuracy;
  using row = scored_row<T, U>;
  using none = folded_nothing<T>;
  using first = sum_fold<row_count<T>>;
  LOCUS_HOST_DEVICE static first begin(metric const&, row const&) { return {0}; }
  LOCUS_HOST_DEVICE static void add(metric const& m, first& hits, row const&, std::int32_t, T p,
                                    U t) {
    hits.sum += m.is_hit(p, T(t)) ? 1 : 0;
  }
  LOCUS_HOST_DEVICE static double value(metric const&, row const& r, first hits, none) {
    return double(hits.sum) / double(r.n);
  }
};

}  // namespace LOCUS_MODE
}  // namespace locus::nn::detail
