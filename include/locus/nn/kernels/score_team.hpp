// SPDX-License-Identifier: Apache-2.0
// Losses and metrics as folds over a row: a team of threads of a GPU folds a row of predictions for all of them at
// once, then writes its slopes.
#pragma once
#include <locus/core/pack.hpp>       // pack, get
#include <locus/kernel/reducer.hpp>  // below_all
#include <locus/nn/metric.hpp>       // the losses and metrics

namespace locus::nn::detail {
inline namespace LOCUS_MODE {

/// What a loss or a metric reads of a row.
template <class T, class U>
struct scored_row {
  T const* p;
  U const* t;  // of a sparse one the number of its class
  std::int64_t n;
};

/// Nothing is folded. (Totals have no gaps: threads exchange them word by word.)
template <class T>
struct folded_nothing {
  T unused;
};
/// a number of elements of a row, in totals beside values of T
template <class T>
using row_count = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;

template <class T, class U>
struct no_row_folds {
  using row = scored_row<T, U>;
  using none = folded_nothing<T>;
  using first = none;
  using second = none;
  template <class Piece>
  LOCUS_HOST_DEVICE static none begin(Piece const&, row const&) {
    return {T(0)};
  }
  template <class Piece, class V>
  LOCUS_HOST_DEVICE static void add(Piece const&, none&, row const&, std::int64_t, T, V) {}
  LOCUS_HOST_DEVICE static none combine(none, none) { return {T(0)}; }
  template <class Piece, class First>
  LOCUS_HOST_DEVICE static none begin_again(Piece const&, row const&, First const&) {
    return {T(0)};
  }
  template <class Piece, class First, class V>
  LOCUS_HOST_DEVICE static void add_again(Piece const&, none&, row const&, First const&,
                                          std::int64_t, T, V) {}
  LOCUS_HOST_DEVICE static none combine_again(none, none) { return {T(0)}; }
};

/// What a loss or a metric folds over a row, and what it makes of that. Of one's own, which has no folds, each
/// thread goes over the row.
///   first, begin(piece, row), add(piece, first&, row, j, prediction, target), combine(first, first)
///   second, begin_again(piece, row, first), add_again(piece, second&, ...), combine_again
///   value(piece, row, first, second)
///   of losses: settle(piece, row, first, second), slope(piece, settled, row, j, prediction, target)
/// target: of a sparse one whether j is its class
template <class Piece, class T, class U>
struct row_fold : no_row_folds<T, U> {
  using row = scored_row<T, U>;
  using none = typename no_row_folds<T, U>::none;
  LOCUS_HOST_DEVICE static auto settle(Piece const& loss, row const& r, none, none) {
    return loss.state(r.p, r.t, r.n);
  }
  template <class State, class V>
  LOCUS_HOST_DEVICE static T slope(Piece const& loss, State const& s, row const& r, std::int64_t j,
                                   T, V) {
    return loss.slope(s, r.p, r.t, r.n, j);
  }
  LOCUS_HOST_DEVICE static double value(Piece const& piece, row const& r, none, none) {
    return metric_of_row(piece, r.p, r.t, r.n);
  }
};

/// A softmax's largest logit and sum of exponentials, of any part of a row. As softmax_state_of has it, a NaN
/// or an infinite largest logit makes what follows NaN.
template <class T>
struct softmax_fold {
  LOCUS_HOST_DEVICE static softmax_state<T> begin() { return {kernel::detail::below_all<T>, T(0)}; }
  LOCUS_HOST_DEVICE static void add(softmax_state<T>& s, T z) {
    T const e = power(s.top, z);
    s.sum = z > s.top ? s.sum * e + (T(1) + (z - z)) : s.sum + e;
    s.top = larger(s.top, z);
  }
  LOCUS_HOST_DEVICE static softmax_state<T> combine(softmax_state<T> const& a,
                                                    softmax_state<T> const& b) {
    T const e = power(a.top, b.top);
    return {larger(a.top, b.top), a.top == b.top  ? a.sum + b.sum
                                  : a.top > b.top ? a.sum + b.sum * e
                                                  : a.sum * e + b.sum};
  }

 private:
  LOCUS_HOST_DEVICE static T larger(T a, T b) { return b > a || b != b ? b : a; }
  /// exp of minus the distance
  LOCUS_HOST_DEVICE static T power(T a, T b) {
    return exp_of(a == b ? T(0) : a > b ? b - a : a - b);
  }
};

template <class Reads, class T, class U>
struct row_fold<SparseCategoricalCrossentropy<Reads>, T, U> : no_row_folds<T, U> {
  using loss = SparseCategoricalCrossentropy<Reads>;
  using row = scored_row<T, U>;
  using none = typename no_row_folds<T, U>::none;
  using first = std::conditional_t<loss::reads_logits, softmax_state<T>, sum_state<T>>;
  LOCUS_HOST_DEVICE static first begin(loss const&, row const&) {
    if constexpr (loss::reads_logits)
      return softmax_fold<T>::begin();
    else
      return {T(0)};
  }
  LOCUS_HOST_DEVICE static void add(loss const&, first& s, row const&, std::int64_t, T p, bool) {
    if constexpr (loss::reads_logits)
      softmax_fold<T>::add(s, p);
    else
      s.sum += held_probability(p);
  }
  LOCUS_HOST_DEVICE static first combine(first const& a, first const& b) {
    if constexpr (loss::reads_logits)
      return softmax_fold<T>::combine(a, b);
    else
      return {a.sum + b.sum};
  }
  LOCUS_HOST_DEVICE static first settle(loss const&, row const&, first const& s, none) { return s; }
  LOCUS_HOST_DEVICE static T slope(loss const& l, first const& s, row const&, std::int64_t, T p,
                                   bool hit) {
    return l.slope_at(s, p, hit);
  }
  LOCUS_HOST_DEVICE static double value(loss const& l, row const& r, first const& s, none) {
    return double(l.value(s, r.p, r.t, r.n));
  }
};

template <class Reads, class T, class U>
struct row_fold<CategoricalCrossentropy<Reads>, T, U> {
  using loss = CategoricalCrossentropy<Reads>;
  using row = scored_row<T, U>;
  struct first {
    softmax_state<T> of;  // of probabilities their sum alone
    T targets;
  };
  struct second {
    T value, weighted, log_sum;
  };
  LOCUS_HOST_DEVICE static first begin(loss const&, row const&) {
    return {softmax_fold<T>::begin(), T(0)};
  }
  LOCUS_HOST_DEVICE static void add(loss const& l, first& s, row const& r, std::int64_t, T p, U t) {
    if constexpr (loss::reads_logits)
      softmax_fold<T>::add(s.of, p);
    else
      s.of.sum += p;
    s.targets += l.smoothed(T(t), r.n);
  }
  LOCUS_HOST_DEVICE static first combine(first const& a, first const& b) {
    if constexpr (loss::reads_logits)
      return {softmax_fold<T>::combine(a.of, b.of), a.targets + b.targets};
    else
      return {{a.of.top, a.of.sum + b.of.sum}, a.targets + b.targets};
  }
  LOCUS_HOST_DEVICE static second begin_again(loss const&, row const&, first const& s) {
    return {T(0), T(0), loss::reads_logits ? log_of(s.of.sum) : T(0)};
  }
  LOCUS_HOST_DEVICE static void add_again(loss const& l, second& to, row const& r, first const& s,
                                          std::int64_t, T p, U target) {
    T const t = l.smoothed(T(target), r.n);
    to.value += l.term(s.of.top, s.of.sum, to.log_sum, p, t);
    if (!loss::reads_logits && is_inside(p / s.of.sum)) to.weighted += t;
  }
  LOCUS_HOST_DEVICE static second combine_again(second const& a, second const& b) {
    return {a.value + b.value, a.weighted + b.weighted, a.log_sum};
  }
  using settled = typename loss::template row<T>;
  LOCUS_HOST_DEVICE static settled settle(loss const&, row const&, first const& a,
                                          second const& b) {
    return {a.of.top, a.of.sum, a.targets, b.weighted};
  }
  LOCUS_HOST_DEVICE static T slope(loss const& l, settled const& s, row const& r, std::int64_t, T p,
                                   U t) {
    return l.slope_at(s, p, l.smoothed(T(t), r.n));
  }
  LOCUS_HOST_DEVICE static double value(loss const&, row const&, first const&, second const& s) {
    return double(s.value);
  }
};

/// losses that are a mean over the elements of a row
template <class Loss, class T, class U>
  requires std::is_base_of_v<mean_of_row, Loss>
struct row_fold<Loss, T, U> : no_row_folds<T, U> {
  using row = scored_row<T, U>;
  using none = typename no_row_folds<T, U>::none;
  using first = sum_state<T>;
  LOCUS_HOST_DEVICE static first begin(Loss const&, row const&) { return {T(0)}; }
  LOCUS_HOST_DEVICE static void add(Loss const& l, first& s, row const&, std::int64_t, T p, U t) {
    s.sum += l.term(p, T(t));
  }
  LOCUS_HOST_DEVICE static first combine(first a, first b) { return {a.sum + b.sum}; }
  LOCUS_HOST_DEVICE static none settle(Loss const&, row const&, first, none s) { return s; }
  LOCUS_HOST_DEVICE static T slope(Loss const& l, none, row const& r, std::int64_t, T p, U t) {
    return l.slope_at(p, T(t), r.n);
  }
  LOCUS_HOST_DEVICE static double value(Loss const&, row const& r, first s, none) {
    return double(s.sum / T(r.n));
  }
};

/// the place of the largest, as place_of_largest has it
template <class V>
struct largest_fold {
  using value = std::conditional_t<is_integer_v<V>, std::int64_t,
                                   std::conditional_t<sizeof(V) == 8, double, float>>;
  using count = row_count<value>;
  value v;
  count place;  // -1: of no elements
  LOCUS_HOST_DEVICE static largest_fold begin() { return {value(0), -1}; }
  LOCUS_HOST_DEVICE static void add(largest_fold& to, std::int64_t j, V v) {
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
/// is_in_top: how many are larger than that of the class, which a NaN makes NaN
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
struct row_fold<SparseCategoricalAccuracy, T, U> : no_row_folds<T, U> {
  using metric = SparseCategoricalAccuracy;
  using row = scored_row<T, U>;
  using none = typename no_row_folds<T, U>::none;
  using first = largest_fold<T>;
  LOCUS_HOST_DEVICE static first begin(metric const&, row const&) { return first::begin(); }
  LOCUS_HOST_DEVICE static void add(metric const&, first& to, row const&, std::int64_t j, T p,
                                    bool) {
    largest_fold<T>::add(to, j, p);
  }
  LOCUS_HOST_DEVICE static first combine(first const& a, first const& b) {
    return largest_fold<T>::combine(a, b);
  }
  LOCUS_HOST_DEVICE static double value(metric const&, row const& r, first const& best, none) {
    return std::int64_t(best.place) == std::int64_t(*r.t) ? 1 : 0;
  }
};
template <int K, class T, class U>
struct row_fold<SparseTopKCategoricalAccuracy<K>, T, U> : no_row_folds<T, U> {
  using metric = SparseTopKCategoricalAccuracy<K>;
  using row = scored_row<T, U>;
  using none = typename no_row_folds<T, U>::none;
  using first = above_fold<T, K>;
  LOCUS_HOST_DEVICE static first begin(metric const&, row const& r) { return {r.p[*r.t], 0}; }
  LOCUS_HOST_DEVICE static void add(metric const&, first& to, row const&, std::int64_t, T p, bool) {
    first::add(to, p);
  }
  LOCUS_HOST_DEVICE static first combine(first const& a, first const& b) {
    return first::combine(a, b);
  }
  LOCUS_HOST_DEVICE static double value(metric const&, row const&, first const& s, none) {
    return s.is_in();
  }
};
/// the class of dense targets, whose weight a row has
struct class_of_targets {};
template <class T, class U>
struct row_fold<class_of_targets, T, U> : no_row_folds<T, U> {
  using row = scored_row<T, U>;
  using first = largest_fold<U>;
  template <class Piece>
  LOCUS_HOST_DEVICE static first begin(Piece const&, row const&) {
    return first::begin();
  }
  template <class Piece>
  LOCUS_HOST_DEVICE static void add(Piece const&, first& to, row const&, std::int64_t j, T, U t) {
    largest_fold<U>::add(to, j, t);
  }
  LOCUS_HOST_DEVICE static first combine(first const& a, first const& b) {
    return largest_fold<U>::combine(a, b);
  }
};
template <class T, class U>
struct row_fold<CategoricalAccuracy, T, U> : no_row_folds<T, U> {
  using metric = CategoricalAccuracy;
  using row = scored_row<T, U>;
  using none = typename no_row_folds<T, U>::none;
  struct first {
    largest_fold<T> p;
    largest_fold<U> t;
  };
  LOCUS_HOST_DEVICE static first begin(metric const&, row const&) {
    return {largest_fold<T>::begin(), largest_fold<U>::begin()};
  }
  LOCUS_HOST_DEVICE static void add(metric const&, first& to, row const&, std::int64_t j, T p,
                                    U t) {
    largest_fold<T>::add(to.p, j, p);
    largest_fold<U>::add(to.t, j, t);
  }
  LOCUS_HOST_DEVICE static first combine(first const& a, first const& b) {
    return {largest_fold<T>::combine(a.p, b.p), largest_fold<U>::combine(a.t, b.t)};
  }
  LOCUS_HOST_DEVICE static double value(metric const&, row const&, first const& best, none) {
    return std::int64_t(best.p.place) == std::int64_t(best.t.place) ? 1 : 0;
  }
};
template <int K, class T, class U>
struct row_fold<TopKCategoricalAccuracy<K>, T, U> : row_fold<class_of_targets, T, U> {
  using metric = TopKCategoricalAccuracy<K>;
  using row = scored_row<T, U>;
  using first = largest_fold<U>;
  using second = above_fold<T, K>;
  LOCUS_HOST_DEVICE static second begin_again(metric const&, row const& r, first const& best) {
    return {r.p[best.place], 0};
  }
  LOCUS_HOST_DEVICE static void add_again(metric const&, second& to, row const&, first const&,
                                          std::int64_t, T p, U) {
    second::add(to, p);
  }
  LOCUS_HOST_DEVICE static second combine_again(second const& a, second const& b) {
    return second::combine(a, b);
  }
  LOCUS_HOST_DEVICE static double value(metric const&, row const&, first const&, second const& s) {
    return s.is_in();
  }
};
template <class T, class U>
struct row_fold<BinaryAccuracy, T, U> : no_row_folds<T, U> {
  using metric = BinaryAccuracy;
  using row = scored_row<T, U>;
  using none = typename no_row_folds<T, U>::none;
  struct first {
    row_count<T> hits;
  };
  LOCUS_HOST_DEVICE static first begin(metric const&, row const&) { return {0}; }
  LOCUS_HOST_DEVICE static void add(metric const& m, first& to, row const&, std::int64_t, T p,
                                    U t) {
    to.hits += m.is_hit(p, T(t)) ? 1 : 0;
  }
  LOCUS_HOST_DEVICE static first combine(first a, first b) { return {a.hits + b.hits}; }
  LOCUS_HOST_DEVICE static double value(metric const&, row const& r, first s, none) {
    return double(s.hits) / double(r.n);
  }
};

/// What a loss and metrics fold together. Weight: of each row (T or another number), or of each class.
template <class Loss, weights_of By, bool Apart, class T, class U, class Weight, class... Metrics>
struct score_team {
  // of dense targets with weights of classes the last piece is their class
  static constexpr bool finds_class = By == weights_of::classes && !Loss::sparse;
  static constexpr int columns = 1 + int(sizeof...(Metrics)), pieces = columns + finds_class;
  template <int K>
  using piece = at_t<K, type_list<Loss, Metrics..., class_of_targets>>;
  template <int K>
  using fold = row_fold<piece<K>, T, U>;

  template <class Each>
  struct folds_of;
  template <std::size_t... K>
  struct folds_of<std::index_sequence<K...>> {
    struct none {};
    using first = pack<typename fold<int(K)>::first...>;
    using second =
        std::conditional_t<(std::is_same_v<typename fold<int(K)>::second, folded_nothing<T>> &&
                            ...),
                           none, pack<typename fold<int(K)>::second...>>;
  };
  using each = std::make_index_sequence<std::size_t(pieces)>;
  using first = typename folds_of<each>::first;
  using second = typename folds_of<each>::second;
  struct line {
    scored_row<T, U> of_loss, of_metrics;
    std::int64_t row, label;  // of dense targets 0
    bool is_valid;            // the label is one of the classes
  };
  struct nothing {};
  struct element {
    T p;
    std::conditional_t<Apart, T, nothing> seen;
    std::conditional_t<Loss::sparse, nothing, U> t;
  };

  Loss loss;
  pack<Metrics...> metrics;
  T scale;
  std::int64_t rows, length, inner;  // inner: rows that have one weight
  T* d;
  double* values;
  T const* p;
  U const* targets;
  Weight const* weights;
  T const* seen;

  LOCUS_HOST_DEVICE line at(std::int64_t row) const {
    U const* const t = targets + (Loss::sparse ? row : row * length);
    std::int64_t label = 0;
    if constexpr (Loss::sparse) label = static_cast<std::int64_t>(*t);
    return {{p + row * length, t, length},
            {seen + row * length, t, length},
            row,
            label,
            label >= 0 && label < length};
  }
  LOCUS_HOST_DEVICE element load(line const& l, std::int64_t j) const {
    element e;
    e.p = l.of_loss.p[j];
    if constexpr (Apart) e.seen = l.of_metrics.p[j];
    if constexpr (!Loss::sparse) e.t = l.of_loss.t[j];
    return e;
  }
  LOCUS_HOST_DEVICE first begin(line const& l) const {
    return l.is_valid ? begin(l, each{}) : first();
  }
  LOCUS_HOST_DEVICE void add(first& to, line const& l, std::int64_t j, element const& e) const {
    add(to, l, j, e, each{});
  }
  LOCUS_HOST_DEVICE static first combine(first const& a, first const& b) {
    return combine(a, b, each{});
  }
  LOCUS_HOST_DEVICE second begin(line const& l, first const& one) const {
    return begin(l, one, each{});
  }
  LOCUS_HOST_DEVICE void add(second& to, line const& l, first const& one, std::int64_t j,
                             element const& e) const {
    add(to, l, one, j, e, each{});
  }
  LOCUS_HOST_DEVICE static second combine(second const& a, second const& b) {
    return combine(a, b, each{});
  }

  template <class State>
  struct settled_row {
    State state;
    T by;
  };
  LOCUS_HOST_DEVICE auto settle(line const& l, first const& one, second const& two) const {
    using state = decltype(fold<0>::settle(loss, l.of_loss, get<0>(one), part<0>(two)));
    if (!l.is_valid) return settled_row<state>{};
    return settled_row<state>{fold<0>::settle(loss, l.of_loss, get<0>(one), part<0>(two)),
                              scale * weight(l, one)};
  }
  template <class Settled>
  LOCUS_HOST_DEVICE void write(line const& l, Settled const& s, std::int64_t j,
                               element const& e) const {
    d[l.row * length + j] =
        l.is_valid ? fold<0>::slope(loss, s.state, l.of_loss, j, e.p, target<0>(l, j, e)) * s.by
                   : T(LOCUS_MATH(nan)(""));
  }
  LOCUS_HOST_DEVICE void finish(line const& l, first const& one, second const& two) const {
    finish(l, one, two, std::make_index_sequence<std::size_t(columns)>{});
  }

 private:
  template <int K>
  LOCUS_HOST_DEVICE auto const& at_piece() const {
    if constexpr (K == 0)
      return loss;
    else
      return get<std::size_t(K - 1)>(metrics);
  }
  template <int K>
  LOCUS_HOST_DEVICE piece<K> of() const {
    if constexpr (K < columns)
      return at_piece<K>();
    else
      return {};
  }
  template <int K>
  LOCUS_HOST_DEVICE static scored_row<T, U> const& row_of(line const& l) {
    return K == 0 ? l.of_loss : l.of_metrics;
  }
  template <int K>
  LOCUS_HOST_DEVICE static auto part(second const& s) {
    if constexpr (std::is_same_v<second, typename folds_of<each>::none>)
      return typename fold<K>::second{};
    else
      return get<std::size_t(K)>(s);
  }
  template <int K>
  LOCUS_HOST_DEVICE static T prediction(element const& e) {
    if constexpr (Apart && K > 0)
      return e.seen;
    else
      return e.p;
  }
  template <int>
  LOCUS_HOST_DEVICE static auto target(line const& l, std::int64_t j, element const& e) {
    if constexpr (Loss::sparse)
      return j == l.label;
    else
      return e.t;
  }
  LOCUS_HOST_DEVICE T weight(line const& l, [[maybe_unused]] first const& one) const {
    if constexpr (By == weights_of::rows)
      return T(weights[l.row / inner]);
    else if constexpr (finds_class)
      return T(weights[get<std::size_t(columns)>(one).place]);
    else if constexpr (By == weights_of::classes)
      return T(weights[l.label]);
    else
      return T(1);
  }

  template <std::size_t... K>
  LOCUS_HOST_DEVICE first begin(line const& l, std::index_sequence<K...>) const {
    return {{fold<int(K)>::begin(of<int(K)>(), row_of<int(K)>(l))}...};
  }
  template <std::size_t... K>
  LOCUS_HOST_DEVICE void add(first& to, line const& l, std::int64_t j, element const& e,
                             std::index_sequence<K...>) const {
    (fold<int(K)>::add(of<int(K)>(), get<K>(to), row_of<int(K)>(l), j, prediction<int(K)>(e),
                       target<int(K)>(l, j, e)),
     ...);
  }
  template <std::size_t... K>
  LOCUS_HOST_DEVICE static first combine(first const& a, first const& b,
                                         std::index_sequence<K...>) {
    return {{fold<int(K)>::combine(get<K>(a), get<K>(b))}...};
  }
  template <std::size_t... K>
  LOCUS_HOST_DEVICE second begin(line const& l, first const& one, std::index_sequence<K...>) const {
    return {{fold<int(K)>::begin_again(of<int(K)>(), row_of<int(K)>(l), get<K>(one))}...};
  }
  template <std::size_t... K>
  LOCUS_HOST_DEVICE void add(second& to, line const& l, first const& one, std::int64_t j,
                             element const& e, std::index_sequence<K...>) const {
    (fold<int(K)>::add_again(of<int(K)>(), get<K>(to), row_of<int(K)>(l), get<K>(one), j,
                             prediction<int(K)>(e), target<int(K)>(l, j, e)),
     ...);
  }
  template <std::size_t... K>
  LOCUS_HOST_DEVICE static second combine(second const& a, second const& b,
                                          std::index_sequence<K...>) {
    return {{fold<int(K)>::combine_again(get<K>(a), get<K>(b))}...};
  }
  template <std::size_t... K>
  LOCUS_HOST_DEVICE void finish(line const& l, first const& one, second const& two,
                                std::index_sequence<K...>) const {
    double* const to = values + l.row * columns;
    ((to[K] = l.is_valid ? fold<int(K)>::value(of<int(K)>(), row_of<int(K)>(l), get<K>(one),
                                               part<int(K)>(two)) *
                               (K == 0 ? double(weight(l, one)) : 1)
                         : double(LOCUS_MATH(nan)(""))),
     ...);
  }
};

}  // namespace LOCUS_MODE
}  // namespace locus::nn::detail
