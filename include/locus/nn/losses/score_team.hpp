// SPDX-License-Identifier: Apache-2.0
// A loss and metrics for a row of predictions: a team of threads of a GPU folds the row for all of
// them in one pass, then writes the slopes of the loss.
#pragma once
#include <locus/core/pack.hpp>            // pack, get
#include <locus/engine/gpu/vectors.hpp>   // vector_of
#include <locus/nn/losses/row_folds.hpp>  // row_fold

namespace locus::nn::detail {
inline namespace LOCUS_MODE {

/// The common fold of a loss and metrics. RowWeight, ClassWeight: numbers, or nullptr_t where By has none.
template <class Loss, weights_of By, bool Apart, class T, class U, class RowWeight,
          class ClassWeight, class... Metrics>
struct score_team {
  static constexpr bool by_row = of_rows(By), by_class = of_classes(By);
  // for dense targets with weights of classes, the last piece finds the class of a row
  static constexpr bool finds_class = by_class && !Loss::sparse;
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
    std::int64_t row, label;  // label: 0 for dense targets
    bool is_valid;            // the label is one of the classes
  };
  struct nothing {};
  static constexpr int vector = cuda_side::vector_elements<T>;
  static constexpr unsigned least_blocks =
      4;  // 9 % sooner than three: bench/results/2026-11-26-gpu.md
  template <class V>
  using vector_of = cuda_side::vector_of<V, vector>;
  /// the bytes of neighbouring elements of a row (sizeof would count empty members, too)
  static constexpr int bytes =
      (1 + int(Apart)) * int(sizeof(vector_of<T>)) + (Loss::sparse ? 0 : int(sizeof(vector_of<U>)));
  struct elements {
    vector_of<T> p;
    std::conditional_t<Apart, vector_of<T>, nothing> seen;
    std::conditional_t<Loss::sparse, nothing, vector_of<U>> t;
  };
  struct element {
    T p;
    std::conditional_t<Apart, T, nothing> seen;
    std::conditional_t<Loss::sparse, nothing, U> t;
  };

  Loss loss;
  pack<Metrics...> metrics;
  T scale;
  std::int64_t rows;
  std::int32_t length;
  std::int64_t inner;  // the number of rows that share one weight
  T* d;
  double* values;
  T const* p;
  U const* targets;
  RowWeight const* row_weights;
  ClassWeight const* class_weights;
  T const* seen;
  bool has_vectors = false;

  /// means: sets has_vectors: every row begins at the address of a vector and has whole vectors;
  ///        call it before a launch
  void look_at_addresses() {
    auto const is_vector = []<class V>(V const* x) {
      return reinterpret_cast<std::uintptr_t>(x) % sizeof(vector_of<V>) == 0;
    };
    has_vectors = length % vector == 0 && is_vector(p) && is_vector(d) &&
                  (!Apart || is_vector(seen)) && (Loss::sparse || is_vector(targets));
  }
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
  /// means: to = a vector of elements from j on; behind the end of a row, its last element
  LOCUS_HOST_DEVICE void load(elements& to, line const& l, std::int32_t j) const {
    if (has_vectors) {
      to.p = vector_at(l.of_loss.p + j);
      if constexpr (Apart) to.seen = vector_at(l.of_metrics.p + j);
      if constexpr (!Loss::sparse) to.t = vector_at(l.of_loss.t + j);
    } else
      for (int e = 0; e < vector; ++e) {
        std::int32_t const k = j + e < length ? j + e : length - 1;
        to.p.element[e] = l.of_loss.p[k];
        if constexpr (Apart) to.seen.element[e] = l.of_metrics.p[k];
        if constexpr (!Loss::sparse) to.t.element[e] = l.of_loss.t[k];
      }
  }
  LOCUS_HOST_DEVICE static element one_of(elements const& of, int e) {
    element one;
    one.p = of.p.element[e];
    if constexpr (Apart) one.seen = of.seen.element[e];
    if constexpr (!Loss::sparse) one.t = of.t.element[e];
    return one;
  }
  LOCUS_HOST_DEVICE first begin(line const& l) const {
    return l.is_valid ? begin(l, each{}) : first();
  }
  LOCUS_HOST_DEVICE void add(first& to, line const& l, std::int32_t j, element const& e) const {
    add(to, l, j, e, each{});
  }
  LOCUS_HOST_DEVICE static first combine(first const& a, first const& b) {
    return combine(a, b, each{});
  }
  LOCUS_HOST_DEVICE second begin(line const& l, first const& one) const {
    return begin(l, one, each{});
  }
  LOCUS_HOST_DEVICE void add(second& to, line const& l, first const& one, std::int32_t j,
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
  /// means: writes the slopes of a vector of elements from j on
  template <class Settled>
  LOCUS_HOST_DEVICE void write(line const& l, Settled const& s, std::int32_t j,
                               elements const& of) const {
    vector_of<T> v;
    for (int e = 0; e < vector; ++e) {
      element const one = one_of(of, e);
      v.element[e] = l.is_valid ? fold<0>::slope(loss, s.state, l.of_loss, j + e, one.p,
                                                 target<0>(l, j + e, one)) *
                                      s.by
                                : T(LOCUS_MATH(nan)(""));
    }
    T* const to = d + l.row * length;
    if (has_vectors)
      cuda_side::store_whole(to + j, v);
    else
      for (int e = 0; e < vector && j + e < length; ++e) to[j + e] = v.element[e];
  }
  LOCUS_HOST_DEVICE void finish(line const& l, first const& one, second const& two) const {
    finish(l, one, two, std::make_index_sequence<std::size_t(columns)>{});
  }

 private:
  template <class V>
  LOCUS_HOST_DEVICE static vector_of<V> vector_at(V const* x) {
    return *reinterpret_cast<vector_of<V> const*>(x);
  }
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
  LOCUS_HOST_DEVICE static auto target(line const& l, std::int32_t j, element const& e) {
    if constexpr (Loss::sparse)
      return j == l.label;
    else
      return e.t;
  }
  LOCUS_HOST_DEVICE T weight(line const& l, [[maybe_unused]] first const& one) const {
    T w(1);
    if constexpr (by_row) w = T(row_weights[l.row / inner]);
    if constexpr (finds_class) {
      auto const& largest = get<std::size_t(columns)>(one);  // of a single target: that target
      w *= T(class_weights[length == 1 ? class_of_label(largest.v) : largest.place]);
    } else if constexpr (by_class)
      w *= T(class_weights[l.label]);
    return w;
  }

  template <std::size_t... K>
  LOCUS_HOST_DEVICE first begin(line const& l, std::index_sequence<K...>) const {
    return {{fold<int(K)>::begin(of<int(K)>(), row_of<int(K)>(l))}...};
  }
  template <std::size_t... K>
  LOCUS_HOST_DEVICE void add(first& to, line const& l, std::int32_t j, element const& e,
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
  LOCUS_HOST_DEVICE void add(second& to, line const& l, first const& one, std::int32_t j,
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
