// SPDX-License-Identifier: Apache-2.0
// Losses, with Keras' names, formulas and defaults. The type of a loss says whether it reads logits
// (nn::from_logits) or probabilities, so that a model that ends in softmax is refused at compile
// time with a loss of logits.
//     nn::SparseCategoricalCrossentropy{nn::from_logits}      nn::MeanSquaredError{}
#pragma once
#include <type_traits>  // is_same

#include <locus/core/macros.hpp>        // LOCUS_HOST_DEVICE, LOCUS_MATH
#include <locus/ops/math_functors.hpp>  // exp_fn, log_fn
#include <locus/shape/element.hpp>      // is_integer_v

namespace locus::nn {
inline namespace LOCUS_MODE {

struct probabilities_t {};
struct from_logits_t {};
/// argument of a loss: its predictions are logits, the values before a softmax or a sigmoid
inline constexpr from_logits_t from_logits{};

// A loss has
//   name, reads_logits, sparse     sparse: the target of a row is a class index
//   value(p, target, n)            the loss of a row of n predictions
//   slope(p, target, n, j)         its derivative by p[j]
// and, so that a kernel passes over a row once,
//   state(p, target, n)            values that value and slope share; value(state, ...), slope(state, ...)

}  // namespace LOCUS_MODE

namespace detail {
inline namespace LOCUS_MODE {

/// Keras' epsilon: probabilities are clipped to [epsilon, 1 - epsilon]
template <class T>
inline constexpr T least_probability = T(1e-7);
template <class T>
LOCUS_HOST_DEVICE constexpr T held_probability(T p) {
  T const low = least_probability<T>, high = T(1) - low;
  return p < low ? low : p > high ? high : p;
}
/// true: p is within these bounds, where the derivative of clipping is 1
template <class T>
LOCUS_HOST_DEVICE constexpr bool is_inside(T p) {
  return !(p < least_probability<T>) && !(p > T(1) - least_probability<T>);
}
template <class T>
LOCUS_HOST_DEVICE constexpr T log_of(T x) {
  return log_fn{}(x);
}
template <class T>
LOCUS_HOST_DEVICE constexpr T exp_of(T x) {
  return exp_fn{}(x);
}

/// The factors of row losses: none, one for each row, or one for the class of a row.
enum class weights_of : unsigned char { none, rows, classes, rows_and_classes };
constexpr bool of_rows(weights_of by) {
  return by == weights_of::rows || by == weights_of::rows_and_classes;
}
constexpr bool of_classes(weights_of by) {
  return by == weights_of::classes || by == weights_of::rows_and_classes;
}

/// means: the number of classes that have weights: of one prediction, the target is the class 0 or 1
constexpr std::int64_t classes_of(std::int64_t predictions, bool sparse) {
  return predictions == 1 && !sparse ? 2 : predictions;
}
/// means: the class of a single target: 1 for the label 1, 0 for the label 0
template <class T>
LOCUS_HOST_DEVICE constexpr int class_of_label(T label) {
  return label >= T(1);
}

/// of a row of logits z: the largest, and the sum of exp(z[j] - largest)
template <class T>
struct softmax_state {
  T top, sum;
  LOCUS_HOST_DEVICE T share(T z) const { return exp_of(z - top) / sum; }
};
template <class T>
LOCUS_HOST_DEVICE softmax_state<T> softmax_state_of(T const* z, std::int64_t n) {
  softmax_state<T> s{z[0], T(0)};
  for (std::int64_t j = 1; j < n; ++j) s.top = z[j] > s.top || z[j] != z[j] ? z[j] : s.top;
  for (std::int64_t j = 0; j < n; ++j) s.sum += exp_of(z[j] - s.top);
  return s;
}
template <class T>
struct sum_state {
  T sum;
};
/// base of losses that are means over the elements of a row
struct mean_of_row {
  static constexpr bool sparse = false;
  struct nothing {};
  template <class T, class U>
  LOCUS_HOST_DEVICE nothing state(T const*, U const*, std::int64_t) const {
    return {};
  }
};

}  // namespace LOCUS_MODE
}  // namespace detail

inline namespace LOCUS_MODE {

/// means: -log of the probability of the target class
/// after: Keras on TensorFlow: clips probabilities to [1e-7, 1 - 1e-7], then divides them by their
///        sum
template <class Reads = probabilities_t>
struct SparseCategoricalCrossentropy {
  static constexpr bool reads_logits = std::is_same_v<Reads, from_logits_t>, sparse = true;
  static constexpr char const* name = "sparse_categorical_crossentropy";
  constexpr SparseCategoricalCrossentropy() = default;
  constexpr explicit SparseCategoricalCrossentropy(Reads) {}

  template <class T, class U>
  LOCUS_HOST_DEVICE auto state(T const* p, U const*, std::int64_t n) const {
    if constexpr (reads_logits)
      return detail::softmax_state_of(p, n);
    else {
      detail::sum_state<T> s{T(0)};
      for (std::int64_t j = 0; j < n; ++j) s.sum += detail::held_probability(p[j]);
      return s;
    }
  }
  template <class T, class U, class State>
  LOCUS_HOST_DEVICE T value(State const& s, T const* p, U const* target, std::int64_t) const {
    if constexpr (reads_logits)
      return (s.top - p[*target]) + detail::log_of(s.sum);
    else
      return detail::log_of(s.sum) - detail::log_of(detail::held_probability(p[*target]));
  }
  template <class T, class U, class State>
  LOCUS_HOST_DEVICE T slope(State const& s, T const* p, U const* target, std::int64_t,
                            std::int64_t j) const {
    return slope_at(s, p[j], j == std::int64_t(*target));
  }
  /// hit: this is the prediction of the target class
  template <class T, class State>
  LOCUS_HOST_DEVICE T slope_at(State const& s, T p, bool hit) const {
    if constexpr (reads_logits)
      return s.share(p) - T(hit);
    else
      return detail::is_inside(p) ? T(1) / s.sum - (hit ? T(1) / p : T(0)) : T(0);
  }
};
SparseCategoricalCrossentropy() -> SparseCategoricalCrossentropy<probabilities_t>;
SparseCategoricalCrossentropy(from_logits_t) -> SparseCategoricalCrossentropy<from_logits_t>;

/// means: -sum of target[j] log p[j]; with label_smoothing s, targets are target (1 - s) + s /
///        classes
/// after: Keras: divides probabilities by their sum, then clips them to [1e-7, 1 - 1e-7]
template <class Reads = probabilities_t>
struct CategoricalCrossentropy {
  static constexpr bool reads_logits = std::is_same_v<Reads, from_logits_t>, sparse = false;
  static constexpr char const* name = "categorical_crossentropy";
  double label_smoothing = 0;
  constexpr explicit CategoricalCrossentropy(double smoothing = 0) : label_smoothing(smoothing) {}
  constexpr explicit CategoricalCrossentropy(Reads, double smoothing = 0)
      : label_smoothing(smoothing) {}

  template <class T>
  struct row {
    T top, sum;           // of logits; or sum: of probabilities
    T targets, weighted;  // sum of targets; of those with p[j] within bounds
    LOCUS_HOST_DEVICE T share(T z) const { return detail::softmax_state<T>{top, sum}.share(z); }
  };
  template <class T, class U>
  LOCUS_HOST_DEVICE T smooth(U const* target, std::int64_t n, std::int64_t j) const {
    return smoothed(T(target[j]), n);
  }
  template <class T>
  LOCUS_HOST_DEVICE T smoothed(T target, std::int64_t n) const {
    return target * T(1 - label_smoothing) + T(label_smoothing / double(n));
  }
  template <class T, class U>
  LOCUS_HOST_DEVICE row<T> state(T const* p, U const* target, std::int64_t n) const {
    row<T> s{T(0), T(0), T(0), T(0)};
    if constexpr (reads_logits) {
      auto const z = detail::softmax_state_of(p, n);
      s.top = z.top, s.sum = z.sum;
    } else
      for (std::int64_t j = 0; j < n; ++j) s.sum += p[j];
    for (std::int64_t j = 0; j < n; ++j) {
      T const t = smooth<T>(target, n, j);
      s.targets += t;
      if (!reads_logits && detail::is_inside(p[j] / s.sum)) s.weighted += t;
    }
    return s;
  }
  template <class T, class U>
  LOCUS_HOST_DEVICE T value(row<T> const& s, T const* p, U const* target, std::int64_t n) const {
    T sum = T(0);
    T const log_sum = reads_logits ? detail::log_of(s.sum) : T(0);
    for (std::int64_t j = 0; j < n; ++j)
      sum += term(s.top, s.sum, log_sum, p[j], smooth<T>(target, n, j));
    return sum;
  }
  /// means: the summand of one prediction; t: its smoothed target
  template <class T>
  LOCUS_HOST_DEVICE T term(T top, [[maybe_unused]] T sum, T log_sum, T p, T t) const {
    if constexpr (reads_logits)
      return t * ((top - p) + log_sum);
    else
      return -(t * detail::log_of(detail::held_probability(p / sum)));
  }
  template <class T, class U>
  LOCUS_HOST_DEVICE T slope(row<T> const& s, T const* p, U const* target, std::int64_t n,
                            std::int64_t j) const {
    return slope_at(s, p[j], smooth<T>(target, n, j));
  }
  template <class T, class State>
  LOCUS_HOST_DEVICE T slope_at(State const& s, T p, T t) const {
    if constexpr (reads_logits)
      return s.targets * s.share(p) - t;
    else
      return s.weighted / s.sum - (detail::is_inside(p / s.sum) ? t / p : T(0));
  }
};
CategoricalCrossentropy() -> CategoricalCrossentropy<probabilities_t>;
CategoricalCrossentropy(double) -> CategoricalCrossentropy<probabilities_t>;
CategoricalCrossentropy(from_logits_t, double = 0) -> CategoricalCrossentropy<from_logits_t>;

/// means: mean of -(t log p + (1 - t) log(1 - p)); with label_smoothing s, t becomes t (1 - s) + s
///        / 2
template <class Reads = probabilities_t>
struct BinaryCrossentropy : detail::mean_of_row {
  static constexpr bool reads_logits = std::is_same_v<Reads, from_logits_t>;
  static constexpr char const* name = "binary_crossentropy";
  double label_smoothing = 0;
  bool behind_sigmoid = false;  // set by a trainer: p are logits of the last sigmoid
  constexpr explicit BinaryCrossentropy(double smoothing = 0) : label_smoothing(smoothing) {}
  constexpr explicit BinaryCrossentropy(Reads, double smoothing = 0) : label_smoothing(smoothing) {}

  template <class T, class U>
  LOCUS_HOST_DEVICE T value(nothing, T const* p, U const* target, std::int64_t n) const {
    T sum = T(0);
    for (std::int64_t j = 0; j < n; ++j) sum += term(p[j], T(target[j]));
    return sum / T(n);
  }
  /// means: the summand of one prediction in n * value
  template <class T>
  LOCUS_HOST_DEVICE T term(T p, T target) const {
    T const t = smoothed(target);
    if (reads_logits || behind_sigmoid) {  // max(z, 0) - z t + log(1 + exp(-|z|))
      T const size = p < T(0) ? -p : p;
      return (p > T(0) ? p : T(0)) - p * t + log1p_fn{}(detail::exp_of(-size));
    } else {
      T const q = detail::held_probability(p);
      return -(t * detail::log_of(q) + (T(1) - t) * detail::log_of(T(1) - q));
    }
  }
  template <class T, class U>
  LOCUS_HOST_DEVICE T slope(nothing, T const* p, U const* target, std::int64_t n,
                            std::int64_t j) const {
    return slope_at(p[j], T(target[j]), n);
  }
  template <class T>
  LOCUS_HOST_DEVICE T slope_at(T q, T target, std::int64_t n) const {
    T const t = smoothed(target);
    if (reads_logits || behind_sigmoid) {
      T const e = detail::exp_of(q < T(0) ? q : -q), s = T(1) / (T(1) + e);
      return ((q < T(0) ? e * s : s) - t) / T(n);
    } else
      return detail::is_inside(q) ? ((T(1) - t) / (T(1) - q) - t / q) / T(n) : T(0);
  }

 private:
  template <class T>
  LOCUS_HOST_DEVICE T smoothed(T target) const {
    return target * T(1 - label_smoothing) + T(label_smoothing / 2);
  }
};
BinaryCrossentropy() -> BinaryCrossentropy<probabilities_t>;
BinaryCrossentropy(double) -> BinaryCrossentropy<probabilities_t>;
BinaryCrossentropy(from_logits_t, double = 0) -> BinaryCrossentropy<from_logits_t>;

/// means: the loss of logits that equals this loss of their softmax
/// after: Keras 3, which uses the logits before a model's last softmax
constexpr auto of_logits(SparseCategoricalCrossentropy<probabilities_t> const&) {
  return SparseCategoricalCrossentropy<from_logits_t>{from_logits};
}
constexpr auto of_logits(CategoricalCrossentropy<probabilities_t> const& l) {
  return CategoricalCrossentropy<from_logits_t>{from_logits, l.label_smoothing};
}

/// means: mean of (p - t)^2
struct MeanSquaredError : detail::mean_of_row {
  static constexpr bool reads_logits = false;
  static constexpr char const* name = "mean_squared_error";
  template <class T, class U>
  LOCUS_HOST_DEVICE T value(nothing, T const* p, U const* target, std::int64_t n) const {
    T sum = T(0);
    for (std::int64_t j = 0; j < n; ++j) sum += term(p[j], T(target[j]));
    return sum / T(n);
  }
  template <class T>
  LOCUS_HOST_DEVICE T term(T p, T target) const {
    return (p - target) * (p - target);
  }
  template <class T, class U>
  LOCUS_HOST_DEVICE T slope(nothing, T const* p, U const* target, std::int64_t n,
                            std::int64_t j) const {
    return slope_at(p[j], T(target[j]), n);
  }
  template <class T>
  LOCUS_HOST_DEVICE T slope_at(T p, T target, std::int64_t n) const {
    return T(2) * (p - target) / T(n);
  }
};

/// means: mean of |p - t|; its slope at p = t is 0
struct MeanAbsoluteError : detail::mean_of_row {
  static constexpr bool reads_logits = false;
  static constexpr char const* name = "mean_absolute_error";
  template <class T, class U>
  LOCUS_HOST_DEVICE T value(nothing, T const* p, U const* target, std::int64_t n) const {
    T sum = T(0);
    for (std::int64_t j = 0; j < n; ++j) sum += term(p[j], T(target[j]));
    return sum / T(n);
  }
  template <class T>
  LOCUS_HOST_DEVICE T term(T p, T target) const {
    T const d = p - target;
    return d < T(0) ? -d : d;
  }
  template <class T, class U>
  LOCUS_HOST_DEVICE T slope(nothing, T const* p, U const* target, std::int64_t n,
                            std::int64_t j) const {
    return slope_at(p[j], T(target[j]), n);
  }
  template <class T>
  LOCUS_HOST_DEVICE T slope_at(T p, T target, std::int64_t n) const {
    T const d = p - target;
    return (d > T(0) ? T(1) : d < T(0) ? T(-1) : d) / T(n);
  }
};

}  // namespace LOCUS_MODE
}  // namespace locus::nn
