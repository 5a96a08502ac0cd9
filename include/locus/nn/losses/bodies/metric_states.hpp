// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that nn/losses/metric_states.hpp declares.
#pragma once
#include <algorithm>  // lower_bound, sort
#include <cmath>      // log

#include <locus/core/is_finite.hpp>           // is_finite, is_nan
#include <locus/core/macros.hpp>              // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/nn/losses/metric_states.hpp>  // the declarations
#include <locus/runtime/ranks.hpp>            // this_rank, lies_on_ranks

LOCUS_COLD_BEGIN

namespace locus::nn::metrics::detail {

LOCUS_FUNCTION factors::factors(host_values const& weights, host_values const& v)
    : weights_(weights) {
  std::int64_t const n = weights.size();
  if (n == 1)
    each_ = v.size() + 1;
  else if (n == v.rows() && n > 0)
    each_ = v.size() / n;
  else if (n != v.size()) {
    message text;
    throw shape_error(text << "locus: a metric gets values " << v.extents << " and weights "
                           << weights.extents
                           << "; give one number for each value, or for each row");
  }
}

LOCUS_FUNCTION void require_fit(host_values const& y_true, host_values const& y_pred) {
  if (y_true.size() == y_pred.size() && y_true.rows() == y_pred.rows()) return;
  message text;
  throw shape_error(text << "locus: a metric gets targets " << y_true.extents << " and predictions "
                         << y_pred.extents << "; give one target for each prediction");
}

LOCUS_FUNCTION void require_labels(host_values const& y_true, std::int64_t rows,
                                   std::int64_t classes) {
  message text;
  if (y_true.size() != rows)
    throw shape_error(text << "locus: a metric gets " << y_true.size() << " labels for " << rows
                           << " rows of predictions; give one for each row");
  for (double const label : y_true.of)
    if (locus::internal::is_nan(label) || !(label >= 0 && label < double(classes)))
      throw shape_error(text << "locus: a label of a metric is outside [0, " << classes
                             << "), the classes of the predictions; drop the record");
}

LOCUS_FUNCTION std::int64_t rows_of(host_values const& y_pred) {
  if (y_pred.extents.rank < 2) {
    message text;
    throw shape_error(text << "locus: a metric over rows gets predictions " << y_pred.extents
                           << "; give them rows and classes, as in reshape(p, {n, 1})");
  }
  std::int64_t const n = y_pred.extents.extent[y_pred.extents.rank - 1];
  return n > 0 ? y_pred.size() / n : 0;
}

LOCUS_FUNCTION std::vector<double> sums_of(std::vector<std::vector<double>> const& parts,
                                           device_list const& over, std::size_t size) {
  std::vector<double> each, all(size, 0.);
  bool const counts_outside = !runtime::lies_on_ranks(over) || runtime::this_rank.rank == 0;
  for (std::size_t k = counts_outside ? 0 : 1; k < parts.size(); ++k)
    each.insert(each.end(), parts[k].begin(), parts[k].end());
  each = locus::internal::numbers_of_all(std::move(each), over, "a metric");
  for (std::size_t k = 0; k < each.size(); ++k) all[k % size] += each[k];
  return all;
}

}  // namespace locus::nn::metrics::detail

namespace locus::nn::metrics {

LOCUS_FUNCTION void Mean::add(std::vector<double>& sums, detail::host_values const& values) const {
  add(sums, values, {{1}, {}});
}
LOCUS_FUNCTION void Mean::add(std::vector<double>& sums, detail::host_values const& values,
                              detail::host_values const& weights) const {
  detail::factors const w(weights, values);
  std::int64_t const width = values.rows() > 0 ? values.size() / values.rows() : 1;
  double const row = double(width);
  for (std::int64_t i = 0; i < values.size(); ++i)
    sums[0] += w.of(i) * values.of[std::size_t(i)] / row, sums[1] += w.of(i) / row;
}
LOCUS_FUNCTION double Mean::result() const {
  auto const s = sums();
  return detail::ratio(s[0], s[1]);
}

LOCUS_FUNCTION void Sum::add(std::vector<double>& sums, detail::host_values const& values) const {
  add(sums, values, {{1}, {}});
}
LOCUS_FUNCTION void Sum::add(std::vector<double>& sums, detail::host_values const& values,
                             detail::host_values const& weights) const {
  detail::factors const w(weights, values);
  for (std::int64_t i = 0; i < values.size(); ++i) sums[0] += w.of(i) * values.of[std::size_t(i)];
}

LOCUS_FUNCTION confusion_counts::confusion_counts(std::vector<double> thresholds)
    : thresholds_(std::move(thresholds)) {
  if (thresholds_.empty())
    throw configuration_error("locus: a metric has no thresholds; write at least one, as 0.5");
  for (double const t : thresholds_)
    if (!locus::internal::is_finite(t))
      throw configuration_error("locus: a threshold of a metric is no finite number; write one "
                                "between 0 and 1");
  std::sort(thresholds_.begin(), thresholds_.end());
}
LOCUS_FUNCTION void confusion_counts::add(std::vector<double>& sums,
                                          detail::host_values const& y_true,
                                          detail::host_values const& y_pred,
                                          detail::host_values const& weights) const {
  detail::require_fit(y_true, y_pred);
  detail::factors const w(weights, y_pred);
  std::size_t const n = thresholds_.size();
  std::vector<double> thresholds = thresholds_;
  if (y_pred.rounded)  // 0.2f, a little more than 0.2, is not above a threshold of 0.2
    for (double& t : thresholds) t = y_pred.rounded(t);
  // first in buckets: bucket k has the predictions above exactly k thresholds
  std::vector<double> buckets(2 * (n + 1), 0.);
  for (std::int64_t i = 0; i < y_pred.size(); ++i) {
    double const p = y_pred.of[std::size_t(i)], by = w.of(i);
    bool const positive = y_true.of[std::size_t(i)] != 0;
    std::size_t const above =
        !locus::internal::is_nan(p)
            ? std::size_t(std::lower_bound(thresholds.begin(), thresholds.end(), p) -
                          thresholds.begin())
            : 0;
    buckets[2 * above + (positive ? 0 : 1)] += by;
    sums[2 * n + (positive ? 0 : 1)] += by;
  }
  double positives = 0, negatives = 0;
  for (std::size_t k = n; k-- > 0;) {
    positives += buckets[2 * (k + 1)], negatives += buckets[2 * (k + 1) + 1];
    sums[k] += positives, sums[n + k] += negatives;
  }
}
LOCUS_FUNCTION confusion_counts::counts confusion_counts::counts_of(
    std::vector<double> const& sums) const {
  auto const n = static_cast<std::ptrdiff_t>(thresholds_.size());
  return {{sums.begin(), sums.begin() + n},
          {sums.begin() + n, sums.begin() + 2 * n},
          sums[std::size_t(2 * n)],
          sums[std::size_t(2 * n) + 1]};
}

namespace detail {
LOCUS_FUNCTION std::vector<double> within_one(std::vector<double> thresholds) {
  for (double const t : thresholds)
    if (locus::internal::is_nan(t) || !(t >= 0 && t <= 1))
      throw configuration_error(
          "locus: a threshold of a metric is outside [0, 1], where probabilities are; write one "
          "between 0 and 1");
  return thresholds;
}
LOCUS_FUNCTION std::vector<double> thresholds_of(AUC::options const& o) {
  if (o.thresholds.empty() && o.num_thresholds < 2) {
    message text;
    throw configuration_error(text << "locus: AUC has " << o.num_thresholds
                                   << " thresholds; write at least 2");
  }
  std::vector<double> all = within_one(o.thresholds);
  if (all.empty())
    for (int k = 1; k + 1 < o.num_thresholds; ++k)
      all.push_back(double(k) / double(o.num_thresholds - 1));
  all.push_back(-1e-7), all.push_back(1 + 1e-7);  // Keras' epsilon: 0 and 1 lie between them
  return all;
}
/// means: the area between two neighbours of a curve of precision over recall, k and k + 1
/// p: predicted positives
inline double area_of_precision(double true_before, double true_behind, double p_before,
                                double p_behind, double positives) {
  double const slope =
                   p_before > p_behind ? (true_before - true_behind) / (p_before - p_behind) : 0,
               intercept = true_behind - slope * p_behind,
               safe = p_before > 0 && p_behind > 0 ? p_before / p_behind : 1;
  return ratio(slope * (true_before - true_behind + intercept * std::log(safe)),
               positives > 0 ? positives : 0);
}
}  // namespace detail

LOCUS_FUNCTION Precision::Precision(std::vector<double> thresholds)
    : confusion_counts(detail::within_one(std::move(thresholds))) {}
LOCUS_FUNCTION std::vector<double> Precision::results() const {
  counts const c = counts_of(sums());
  std::vector<double> all;
  all.reserve(c.true_positives.size());
  for (std::size_t k = 0; k < c.true_positives.size(); ++k)
    all.push_back(detail::ratio(c.true_positives[k], c.true_positives[k] + c.false_positives[k]));
  return all;
}
LOCUS_FUNCTION Recall::Recall(std::vector<double> thresholds)
    : confusion_counts(detail::within_one(std::move(thresholds))) {}
LOCUS_FUNCTION std::vector<double> Recall::results() const {
  counts const c = counts_of(sums());
  std::vector<double> all;
  all.reserve(c.true_positives.size());
  for (double const t : c.true_positives) all.push_back(detail::ratio(t, c.positives));
  return all;
}

LOCUS_FUNCTION AUC::AUC(options o) : confusion_counts(detail::thresholds_of(o)), o_(std::move(o)) {}
LOCUS_FUNCTION double AUC::result() const {
  counts const c = counts_of(sums());
  auto const& t = c.true_positives;
  auto const& f = c.false_positives;
  bool const of_precision = o_.curve == curve::PR;
  auto const x = [&](std::size_t k) {
    return of_precision ? detail::ratio(t[k], c.positives) : detail::ratio(f[k], c.negatives);
  };
  auto const y = [&](std::size_t k) {
    return of_precision ? detail::ratio(t[k], t[k] + f[k]) : detail::ratio(t[k], c.positives);
  };
  double area = 0;
  for (std::size_t k = 0; k + 1 < t.size(); ++k) {
    if (of_precision && o_.summation_method == summation::interpolation) {
      area +=
          detail::area_of_precision(t[k], t[k + 1], t[k] + f[k], t[k + 1] + f[k + 1], c.positives);
      continue;
    }
    double const a = y(k), b = y(k + 1);
    double const height = o_.summation_method == summation::interpolation ? (a + b) / 2
                          : o_.summation_method == summation::minoring    ? (a < b ? a : b)
                                                                          : (a < b ? b : a);
    area += (x(k) - x(k + 1)) * height;
  }
  return area;
}

}  // namespace locus::nn::metrics

LOCUS_COLD_END
