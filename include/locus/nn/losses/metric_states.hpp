// SPDX-License-Identifier: Apache-2.0
// Metrics outside of a trainer, with Keras' names: update_state, result, reset_state; also inside of replicas,
// each of which adds to sums of its own.
#pragma once
#include <vector>  // vector

#include <locus/core/macros.hpp>            // LOCUS_FUNCTION, LOCUS_HAS_TRAINING_BODIES
#include <locus/nn/losses/metric.hpp>       // metric_of_row
#include <locus/strategy/write_copies.hpp>  // replica_context, require_all_replicas

LOCUS_COLD_BEGIN

namespace locus::nn::metrics {

namespace detail {

/// means: v, rounded to T
template <class T>
double rounded_to(double v) {
  return static_cast<double>(static_cast<T>(v));
}
/// An operand of a metric on the host.
struct host_values {
  std::vector<double> of;
  shape extents;
  double (*rounded)(double) = nullptr;  // to their type, if they are floating
  std::int64_t size() const { return std::int64_t(of.size()); }
  /// units: rows along the first axis; 1 for a number
  std::int64_t rows() const { return extents.rank ? extents.extent[0] : 1; }
};
template <class T>
consteval bool require_real() {
  constexpr bool real = is_floating_v<T> || is_integer_v<T> || std::is_same_v<T, bool>;
  static_assert(real,
                "locus: a metric counts real numbers and booleans; give it real(z) or abs(z)");
  return real;
}
template <class T>
constexpr auto rounding_of() -> double (*)(double) {
  if constexpr (is_floating_v<T>)
    return rounded_to<T>;
  else
    return nullptr;
}
template <class X>
host_values on_host(X const& x) {
  if constexpr (number<X>)
    return {{double(x)}, {}, rounding_of<X>()};
  else if constexpr (locus::internal::is_any_tensor<X>)
    return on_host(x.template to<CpuDevice>().template as<CpuDevice>());
  else {
    using T = typename X::value_type;
    host_values v;
    if constexpr (require_real<T>()) {
      v.rounded = rounding_of<T>();
      auto const host = to<CpuDevice>(x);
      v.extents = host.extents().as_shape();
      for (std::int64_t i = 0; i < host.size(); ++i)
        v.of.push_back(static_cast<double>(host.data()[i]));
    }
    return v;
  }
}
template <class Device, class X>
host_values on_host(replica_context<Device> const& c, X const& x) {
  if constexpr (expression<X>)
    return on_host(eval(on<Device>(x, bound_device<Device>(c.device()))));
  else
    return on_host(x);
}

/// means: a factor for each of v's numbers: one for each number, or one for each row
/// fails: shape_error for another number of weights
class factors {
 public:
  factors(host_values const& weights, host_values const& v);
  double of(std::int64_t i) const { return weights_.of[std::size_t(i / each_)]; }

 private:
  host_values const& weights_;
  std::int64_t each_ = 1;
};
LOCUS_FUNCTION void require_fit(host_values const& y_true, host_values const& y_pred);
/// means: sums of the replicas of all ranks, in their order; parts[0], from outside of replicas, is equal on all
///        ranks, and that of rank 0 counts
LOCUS_FUNCTION std::vector<double> sums_of(std::vector<std::vector<double>> const& parts,
                                           device_list const& over, std::size_t size);
LOCUS_FUNCTION void require_labels(host_values const& y_true, std::int64_t rows,
                                   std::int64_t classes);
/// means: rows of predictions; fails: shape_error for fewer than two axes
LOCUS_FUNCTION std::int64_t rows_of(host_values const& y_pred);
/// means: a / b; 0 where b is 0
inline double ratio(double a, double b) { return b == 0 ? 0 : a / b; }

}  // namespace detail

/// means: a metric with sums that grow with each update
/// device: operands on any device are copied to the host. Inside of a replica give its context first; then each
///        replica has sums of its own, and result adds them; over ranks all ranks call it
/// cost:  each update waits for the device
/// fails: shape_error for operands that do not fit; placement_error, where a replica gives no context, and for
///        result and reset_state inside of one. NaN stays NaN in means and sums
template <class Derived>
class metric_state {
  friend Derived;
  metric_state() = default;

 public:
  template <class... X>
  void update_state(X const&... x) {
    locus::internal::require_all_replicas("update_state");
    add_to(outside, detail::on_host(x)...);
  }
  template <class Device, class... X>
  void update_state(replica_context<Device>& c, X const&... x) {
    if (c.index() == 0) over_ = c.devices();
    add_to(1 + c.index(), detail::on_host(c, x)...);
  }
  void reset_state() {
    locus::internal::require_all_replicas("reset_state");
    for (auto& p : parts_) p.clear();
    over_ = {};
  }

 protected:
  /// means: the sums over all replicas, added in their order
  std::vector<double> sums() const {
    locus::internal::require_all_replicas("result");
    return detail::sums_of(parts_, over_, static_cast<Derived const&>(*this).count_of_sums());
  }

 private:
  template <class... Values>
  void add_to(int part, Values const&... v) {
    auto const& self = static_cast<Derived const&>(*this);
    std::vector<double>& mine = parts_[std::size_t(part)];
    mine.resize(self.count_of_sums());
    self.add(mine, v...);
  }
  static constexpr int outside = 0;  // of replicas
  std::vector<std::vector<double>> parts_{
      std::size_t(1 + max_devices)};  // [1 + replica of this rank]
  device_list over_{};                // of the replicas
};

/// means: the mean of all numbers: update_state(values), or update_state(values, weights) with a weight for each
///        number or for each row; 0 before the first update
class Mean : public metric_state<Mean> {
 public:
  double result() const;
  std::size_t count_of_sums() const { return 2; }
  void add(std::vector<double>& sums, detail::host_values const& values) const;
  void add(std::vector<double>& sums, detail::host_values const& values,
           detail::host_values const& weights) const;
};
/// means: the sum of all numbers, with the same weights
class Sum : public metric_state<Sum> {
 public:
  double result() const { return sums()[0]; }
  std::size_t count_of_sums() const { return 1; }
  void add(std::vector<double>& sums, detail::host_values const& values) const;
  void add(std::vector<double>& sums, detail::host_values const& values,
           detail::host_values const& weights) const;
};

/// means: the mean of a metric or a loss over rows: MeanOf{nn::SparseCategoricalAccuracy{}};
///        update_state(y_true, y_pred), or with a weight for each row
/// shape: y_pred (rows, classes) or with axes between; y_true a label for each row, or as y_pred
/// fails: shape_error for labels outside of the classes
/// after: keras.metrics.MeanMetricWrapper
template <class Metric>
class MeanOf : public metric_state<MeanOf<Metric>> {
 public:
  explicit MeanOf(Metric m = {}) : metric_(m) {}
  double result() const {
    auto const s = this->sums();
    return detail::ratio(s[0], s[1]);
  }
  std::size_t count_of_sums() const { return 2; }
  void add(std::vector<double>& sums, detail::host_values const& y_true,
           detail::host_values const& y_pred) const {
    for_each_row(y_true, y_pred, [&](std::int64_t, double v) { sums[0] += v, sums[1] += 1; });
  }
  void add(std::vector<double>& sums, detail::host_values const& y_true,
           detail::host_values const& y_pred, detail::host_values const& weights) const {
    detail::host_values rows{{}, y_pred.extents};
    rows.extents.rank -= 1;
    rows.of.resize(std::size_t(detail::rows_of(y_pred)));
    detail::factors const w(weights, rows);
    for_each_row(y_true, y_pred,
                 [&](std::int64_t r, double v) { sums[0] += w.of(r) * v, sums[1] += w.of(r); });
  }

 private:
  template <class F>
  void for_each_row(detail::host_values const& y_true, detail::host_values const& y_pred,
                    F const& f) const {
    std::int64_t const rows = detail::rows_of(y_pred), n = rows > 0 ? y_pred.size() / rows : 1;
    if constexpr (Metric::sparse) {
      detail::require_labels(y_true, rows, n);
      for (std::int64_t r = 0; r < rows; ++r) {
        auto const label = static_cast<std::int64_t>(y_true.of[std::size_t(r)]);
        f(r, nn::detail::metric_of_row(metric_, y_pred.of.data() + r * n, &label, n));
      }
    } else {
      detail::require_fit(y_true, y_pred);
      for (std::int64_t r = 0; r < rows; ++r)
        f(r, nn::detail::metric_of_row(metric_, y_pred.of.data() + r * n, y_true.of.data() + r * n,
                                       n));
    }
  }
  Metric metric_;
};

/// Weighted counts of predictions above thresholds: y_pred > threshold, in the type of y_pred.
class confusion_counts {
 public:
  /// fails: configuration_error for no thresholds, or one that is no number
  explicit confusion_counts(std::vector<double> thresholds);
  std::size_t count_of_sums() const { return 2 * thresholds_.size() + 2; }
  /// y_true: 0 is negative, any other number positive; a NaN in y_pred is above no threshold
  void add(std::vector<double>& sums, detail::host_values const& y_true,
           detail::host_values const& y_pred) const {
    add(sums, y_true, y_pred, {{1}, {}});
  }
  void add(std::vector<double>& sums, detail::host_values const& y_true,
           detail::host_values const& y_pred, detail::host_values const& weights) const;
  std::vector<double> const& thresholds() const { return thresholds_; }

 protected:
  /// true and false positives for each threshold, then all positives and all negatives
  struct counts {
    std::vector<double> true_positives, false_positives;
    double positives, negatives;
  };
  counts counts_of(std::vector<double> const& sums) const;

 private:
  std::vector<double> thresholds_;
};

/// means: true positives / predicted positives; 0 if none were predicted. With several thresholds
///        results() has one number for each, in rising order
/// after: keras.metrics.Precision: thresholds in [0, 1]
class Precision : public metric_state<Precision>, public confusion_counts {
 public:
  explicit Precision(double threshold = 0.5) : Precision(std::vector<double>{threshold}) {}
  explicit Precision(std::vector<double> thresholds);
  double result() const { return results()[0]; }
  std::vector<double> results() const;
};
/// means: true positives / positives; 0 without positives     after: keras.metrics.Recall
class Recall : public metric_state<Recall>, public confusion_counts {
 public:
  explicit Recall(double threshold = 0.5) : Recall(std::vector<double>{threshold}) {}
  explicit Recall(std::vector<double> thresholds);
  double result() const { return results()[0]; }
  std::vector<double> results() const;
};

/// The curve below which AUC computes the area, and how it fills the space between two thresholds.
enum class curve : unsigned char { ROC, PR };
enum class summation : unsigned char { interpolation, minoring, majoring };

/// means: the area below the curve of true positives over false positives, or of precision over recall, at
///        num_thresholds thresholds from 0 to 1 at equal distances
/// cost:  for each prediction, a search among the thresholds
/// fails: configuration_error for fewer than 2 thresholds
/// after: keras.metrics.AUC; interpolation between points of precision and recall after Davis and Goadrich,
///        ICML 2006
class AUC : public metric_state<AUC>, public confusion_counts {
 public:
  struct options {
    int num_thresholds = 200;
    metrics::curve curve = metrics::curve::ROC;
    summation summation_method = summation::interpolation;
    std::vector<double> thresholds{};  // between 0 and 1, instead of equal distances
  };
  AUC() : AUC(options{}) {}
  explicit AUC(options o);
  double result() const;

 private:
  options o_;
};

}  // namespace locus::nn::metrics

LOCUS_COLD_END

#if LOCUS_HAS_TRAINING_BODIES
#include <locus/nn/losses/bodies/metric_states.hpp>  // bodies of the functions above
#endif
