// SPDX-License-Identifier: Apache-2.0
// Metrics, with Keras' names and definitions: the mean of a value of each row over the rows of an
// epoch. A loss is a metric too: nn::MeanSquaredError{}.
#pragma once
#include <locus/core/macros.hpp>     // LOCUS_HOST_DEVICE
#include <locus/nn/losses/loss.hpp>  // the losses

namespace locus::nn {

// A metric has
//   name, sparse                  sparse: the target of a row is a class index
//   of_row(p, target, n)          its value for a row of n predictions, never of logits

namespace detail {
inline namespace LOCUS_MODE {
/// means: index of the first NaN, or else of the first largest value
template <class T>
LOCUS_HOST_DEVICE std::int64_t place_of_largest(T const* p, std::int64_t n) {
  std::int64_t at = 0;
  for (std::int64_t j = 1; j < n; ++j)
    if (p[j] > p[at] || (p[j] != p[j] && p[at] == p[at])) at = j;
  return at;
}
/// means: fewer than k predictions are larger than that of `label`, which is finite; false if there
///        is a NaN
template <class T>
LOCUS_HOST_DEVICE bool is_in_top(T const* p, std::int64_t n, std::int64_t label, int k) {
  if (!(p[label] - p[label] == T(0))) return false;
  int above = 0;
  for (std::int64_t j = 0; j < n; ++j) {
    if (p[j] != p[j]) return false;
    above += p[j] > p[label];
  }
  return above < k;
}
}  // namespace LOCUS_MODE
}  // namespace detail

inline namespace LOCUS_MODE {

/// means: 1 if the largest prediction is that of the target class
struct SparseCategoricalAccuracy {
  static constexpr bool sparse = true;
  static constexpr int least_classes = 1;
  static constexpr char const* name = "sparse_categorical_accuracy";
  template <class T, class U>
  LOCUS_HOST_DEVICE double of_row(T const* p, U const* target, std::int64_t n) const {
    return detail::place_of_largest(p, n) == std::int64_t(*target) ? 1 : 0;
  }
};
/// means: 1 if fewer than K predictions are larger than that of the target class
/// after: tf.math.in_top_k: a tie with the K-th counts as in; a row with NaN counts as out
template <int K = 5>
struct SparseTopKCategoricalAccuracy {
  static_assert(K > 0, "locus: the first K classes of a row are counted; write a K of at least 1");
  static constexpr bool sparse = true;
  static constexpr int least_classes = K;
  static constexpr char const* name = "sparse_top_k_categorical_accuracy";
  template <class T, class U>
  LOCUS_HOST_DEVICE double of_row(T const* p, U const* target, std::int64_t n) const {
    return detail::is_in_top(p, n, std::int64_t(*target), K) ? 1 : 0;
  }
};
/// means: 1 if the largest prediction and the largest target are of the same class
struct CategoricalAccuracy {
  static constexpr bool sparse = false;
  static constexpr int least_classes = 1;
  static constexpr char const* name = "categorical_accuracy";
  template <class T, class U>
  LOCUS_HOST_DEVICE double of_row(T const* p, U const* target, std::int64_t n) const {
    return detail::place_of_largest(p, n) == detail::place_of_largest(target, n) ? 1 : 0;
  }
};
template <int K = 5>
struct TopKCategoricalAccuracy {
  static_assert(K > 0, "locus: the first K classes of a row are counted; write a K of at least 1");
  static constexpr bool sparse = false;
  static constexpr int least_classes = K;
  static constexpr char const* name = "top_k_categorical_accuracy";
  template <class T, class U>
  LOCUS_HOST_DEVICE double of_row(T const* p, U const* target, std::int64_t n) const {
    return detail::is_in_top(p, n, detail::place_of_largest(target, n), K) ? 1 : 0;
  }
};
/// means: the fraction of predictions that are above `threshold` exactly where the target is above
///        0.5
struct BinaryAccuracy {
  static constexpr bool sparse = false;
  static constexpr int least_classes = 1;
  static constexpr char const* name = "binary_accuracy";
  double threshold = 0.5;
  template <class T, class U>
  LOCUS_HOST_DEVICE double of_row(T const* p, U const* target, std::int64_t n) const {
    std::int64_t hits = 0;
    for (std::int64_t j = 0; j < n; ++j) hits += is_hit(p[j], T(target[j]));
    return double(hits) / double(n);
  }
  template <class T>
  LOCUS_HOST_DEVICE bool is_hit(T p, T target) const {
    return (p > T(threshold)) == (target > T(0.5));
  }
};

}  // namespace LOCUS_MODE

namespace detail {
inline namespace LOCUS_MODE {
template <class Metric, class T, class U>
LOCUS_HOST_DEVICE double metric_of_row(Metric const& m, T const* p, U const* target,
                                       std::int64_t n) {
  if constexpr (requires { m.of_row(p, target, n); })
    return m.of_row(p, target, n);
  else
    return double(m.value(m.state(p, target, n), p, target, n));
}
template <class Metric>
constexpr int least_classes_of() {
  if constexpr (requires { Metric::least_classes; })
    return Metric::least_classes;
  else
    return 1;
}
}  // namespace LOCUS_MODE
}  // namespace detail

}  // namespace locus::nn
