// SPDX-License-Identifier: Apache-2.0
// BatchNorm: each channel with mean 0 and variance 1 over the rows of a batch, then gamma and beta.
#pragma once
#include <type_traits>  // type_identity

#include <locus/nn/kernels/batch_norm.hpp>    // moments, normalise
#include <locus/nn/layers/conv2d_ops.hpp>     // has_bounds, upper_bound_of
#include <locus/nn/layers/layer.hpp>          // parameter, batch_of
#include <locus/nn/layers/sum_over_rows.hpp>  // sum_over_rows
#include <locus/ops/math.hpp>                 // rsqrt
#include <locus/ops/reduce.hpp>               // sum
#include <locus/tensor/eval.hpp>              // run
#if LOCUS_CUDA_KERNELS
#include <locus/nn/kernels/batch_norm_card.hpp>  // cards::normalise, cards::normalise_gradient
#include <locus/nn/kernels/batch_norm_team.hpp>  // moments_team, sums_team
#endif

namespace locus::nn {

namespace detail {

/// A channel of y = (x - mean) * gamma / deviation + beta.
template <class T>
struct normal_channel {
  T mean, factor, beta;  // factor: gamma / deviation
  LOCUS_HOST_DEVICE constexpr T operator()(T x) const { return (x - mean) * factor + beta; }
};
/// A channel of dx.
template <class T>
struct channel_slope {
  normal_channel<T> centred;  // with gamma 1 and beta 0
  T gamma, beta, factor;
  T plain, weighted;  // means of dy and of dy * normalised x
  template <class Settings>
  LOCUS_HOST_DEVICE constexpr T operator()(Settings const& settings, T x, T dy) const {
    T const v = centred(x), d = settings.passes(gamma * v + beta) ? dy : T(0);
    return factor * (d - plain - v * weighted);
  }
};

/// the settings of all operations of a batch normalisation
struct batch_norm_settings {
  double epsilon = 1e-3, momentum = 0.99;
  activation how = activation::linear;  // linear, relu, relu6
  /// means: the gradient passes through y = bounds(v)
  template <class T>
  LOCUS_HOST_DEVICE constexpr bool passes(T v) const {
    return how == activation::linear || (v > T(0) && v < upper_bound_of<T>(how));
  }
  template <class T>
  LOCUS_HOST_DEVICE constexpr T bounded(T v) const {
    return detail::bounded(how, v);
  }
  template <class T>
  LOCUS_HOST_DEVICE normal_channel<T> channel(T mean, T variance, T gamma, T beta) const {
    return {mean, gamma / deviation(variance), beta};
  }
  /// sums: of dy and of dy * normalised x over `count` rows
  template <class T>
  LOCUS_HOST_DEVICE channel_slope<T> slope(T mean, T variance, T gamma, T beta, T sum,
                                           T weighted_sum, T count) const {
    return {channel(mean, variance, T(1), T(0)), gamma,       beta,
            gamma / deviation(variance),         sum / count, weighted_sum / count};
  }

 private:
  template <class T>
  LOCUS_HOST_DEVICE T deviation(T variance) const {
    return sqrt_fn{}(static_cast<T>(variance + static_cast<T>(epsilon)));
  }
};
template <class T>
host::channel_rows rows_of(tile<T> const& x) {
  std::int64_t const channels = x.extent[x.rank - 1];
  return {channels > 0 ? x.size() / channels : 0, channels};
}
template <class T>
host::normalisation<T> normalisation_of(batch_norm_settings const& s, T const* gamma, T const* beta,
                                        T const* mean, T const* variance, std::int64_t channels) {
  host::normalisation<T> n(gamma, beta, mean, variance, s.epsilon, channels);
  n.clamp = s.how != activation::linear, n.high = upper_bound_of<T>(s.how);
  return n;
}
constexpr shape statistics_shape(shape const& x) {
  std::int64_t const channels = x.extent[x.rank - 1];
  return {2, {x.extent[0], channels == dyn ? dyn : 2 * channels}};
}
/// means: row 0 of `to` = first, then second; all other rows = 0
template <class T>
void store_pair(tile<T> const& to, std::vector<double> const& first,
                std::vector<double> const& second) {
  if (!to.data) return;
  __builtin_memset(static_cast<void*>(to.data), 0, sizeof(T) * std::size_t(to.size()));
  for (std::size_t c = 0; c < first.size(); ++c) {
    to.data[c] = static_cast<T>(first[c]);
    to.data[first.size() + c] = static_cast<T>(second[c]);
  }
}
/// means: each array has one number for each channel of x
template <class... Channels>
constexpr bool channels_fit(shape const& x, Channels const&... of) {
  if (x.rank < 2 || !((of.rank == 1) && ...)) return false;
  std::int64_t const n = x.extent[x.rank - 1];
  return n == dyn || ((of.extent[0] == dyn || of.extent[0] == n) && ...);
}

}  // namespace detail

/// means: result 0: mean and variance of each channel over this replica's rows, in the first row of
///        its piece; results 1 and 2: this replica's share of the change of the moving mean and
///        variance
/// shape: (rows, ..., C), (C), (C) -> (rows, 2 C), (C), (C)
struct batch_moments_op {
  using enum call_role;
  static constexpr call_rule rule{.name = "batch_moments",
                                  .operands = {rows, whole, whole},
                                  .results = {rows, terms, terms},
                                  .tensorflow = "FusedBatchNormV3",
                                  .by_teams = true};
  detail::batch_norm_settings settings;

  static constexpr shape infer(int result, shape x, shape mean, shape variance) {
    if (!detail::channels_fit(x, mean, variance)) return no_shape;
    return result == 0 ? detail::statistics_shape(x) : shape{1, {x.extent[x.rank - 1]}};
  }
  static constexpr std::int64_t operations(shape, shape x, shape, shape) { return 4 * x.size(); }
  template <class T>
  void host(call_context const& here, tile<T> statistics, tile<T> mean_change,
            tile<T> variance_change, tile<T const> x, tile<T const> moving_mean,
            tile<T const> moving_variance) const {
    host::channel_rows const s = detail::rows_of(x);
    std::vector<double> mean(std::size_t(s.channels)), variance(mean);
    LOCUS_CHOSEN(nn::host, moments<T>)(mean.data(), variance.data(), x.data, s);
    double const step = s.rows == 0 ? 0 : (1 - settings.momentum) / here.replicas;
    for (std::int64_t c = 0; c < s.channels; ++c) {
      double const m = mean[std::size_t(c)], v = variance[std::size_t(c)];
      if (mean_change.data) mean_change[c] = static_cast<T>(step * (m - double(moving_mean[c])));
      if (variance_change.data)
        variance_change[c] = static_cast<T>(step * (v - double(moving_variance[c])));
    }
    detail::store_pair<T>(statistics, mean, variance);
  }
  /// neighbouring threads have neighbouring channels
  template <class T>
  auto team(call_context const& here, tile<T> statistics, tile<T> mean_change,
            tile<T> variance_change, tile<T const> x, tile<T const> moving_mean,
            tile<T const> moving_variance) const;
};

/// means: y = bounds(normalised x), with the statistics of this replica
struct batch_norm_op {
  using enum call_role;
  static constexpr call_rule rule{.name = "batch_norm",
                                  .operands = {rows, rows, whole, whole},
                                  .results = {rows},
                                  .tensorflow = "FusedBatchNormV3"};
  detail::batch_norm_settings settings;

  static constexpr shape infer(int, shape x, shape statistics, shape gamma, shape beta) {
    return statistics.rank == 2 && detail::channels_fit(x, gamma, beta) ? x : no_shape;
  }
  template <class T>
  void host(call_context const&, tile<T> y, tile<T const> x, tile<T const> statistics,
            tile<T const> gamma, tile<T const> beta) const {
    host::channel_rows const s = detail::rows_of(x);
    LOCUS_CHOSEN(nn::host, normalise<T>)(
        y.data, x.data, s,
        detail::normalisation_of<T>(settings, gamma.data, beta.data, statistics.data,
                                    statistics.data + s.channels, s.channels));
  }
  template <class T>
  void card(card_context& here, tile<T> y, tile<T const> x, tile<T const> statistics,
            tile<T const> gamma, tile<T const> beta) const;
  template <int Result, class T>
  LOCUS_HOST_DEVICE T element(std::int64_t i, call_context const&, tile<T>, tile<T const> x,
                              tile<T const> statistics, tile<T const> gamma,
                              tile<T const> beta) const {
    std::int64_t const channels = x.extent[x.rank - 1], c = i % channels;
    return settings.bounded(
        settings.channel(statistics[c], statistics[channels + c], gamma[c], beta[c])(x[i]));
  }
};

/// means: result 0: the sums of dy and of dy * normalised x over this replica's rows, in the first row
///        of its piece; results 1 and 2: its terms of the gradients of gamma and beta
struct batch_norm_sums_op {
  using enum call_role;
  static constexpr call_rule rule{.name = "batch_norm_sums",
                                  .operands = {rows, rows, rows, whole, whole},
                                  .results = {rows, terms, terms},
                                  .tensorflow = "FusedBatchNormGradV3",
                                  .by_teams = true};
  detail::batch_norm_settings settings;

  static constexpr shape infer(int result, shape x, shape dy, shape statistics, shape gamma,
                               shape beta) {
    if (x.rank != dy.rank || statistics.rank != 2 || !detail::channels_fit(x, gamma, beta))
      return no_shape;
    return result == 0 ? detail::statistics_shape(x) : shape{1, {x.extent[x.rank - 1]}};
  }
  static constexpr std::int64_t operations(shape, shape x, shape, shape, shape, shape) {
    return 6 * x.size();
  }
  template <class T>
  void host(call_context const&, tile<T> sums, tile<T> dgamma, tile<T> dbeta, tile<T const> x,
            tile<T const> dy, tile<T const> statistics, tile<T const> gamma,
            tile<T const> beta) const {
    host::channel_rows const s = detail::rows_of(x);
    std::vector<double> plain(std::size_t(s.channels)), weighted(plain);
    LOCUS_CHOSEN(nn::host, normalise_sums<T>)(
        plain.data(), weighted.data(), x.data, dy.data, s,
        detail::normalisation_of<T>(settings, gamma.data, beta.data, statistics.data,
                                    statistics.data + s.channels, s.channels));
    for (std::int64_t c = 0; c < s.channels; ++c) {
      if (dgamma.data) dgamma[c] = static_cast<T>(weighted[std::size_t(c)]);
      if (dbeta.data) dbeta[c] = static_cast<T>(plain[std::size_t(c)]);
    }
    detail::store_pair<T>(sums, plain, weighted);
  }
  template <class T>
  auto team(call_context const&, tile<T> sums, tile<T> dgamma, tile<T> dbeta, tile<T const> x,
            tile<T const> dy, tile<T const> statistics, tile<T const> gamma,
            tile<T const> beta) const;
};

/// means: dx, from the statistics and sums of this replica
struct batch_norm_gradient_op {
  using enum call_role;
  static constexpr call_rule rule{.name = "batch_norm_gradient",
                                  .operands = {rows, rows, rows, rows, whole, whole},
                                  .results = {rows},
                                  .tensorflow = "FusedBatchNormGradV3"};
  detail::batch_norm_settings settings;

  static constexpr shape infer(int, shape x, shape dy, shape statistics, shape sums, shape gamma,
                               shape beta) {
    bool const fits = x.rank == dy.rank && statistics.rank == 2 && sums.rank == 2;
    return fits && detail::channels_fit(x, gamma, beta) ? x : no_shape;
  }
  static constexpr std::int64_t operations(shape x, shape, shape, shape, shape, shape, shape) {
    return 8 * x.size();
  }
  template <class T>
  void host(call_context const&, tile<T> dx, tile<T const> x, tile<T const> dy,
            tile<T const> statistics, tile<T const> sums, tile<T const> gamma,
            tile<T const> beta) const {
    host::channel_rows const s = detail::rows_of(x);
    LOCUS_CHOSEN(nn::host, normalise_gradient<T>)(
        dx.data, x.data, dy.data, s,
        detail::normalisation_of<T>(settings, gamma.data, beta.data, statistics.data,
                                    statistics.data + s.channels, s.channels),
        sums.data, sums.data + s.channels, double(s.rows));
  }
  template <class T>
  void card(card_context& here, tile<T> dx, tile<T const> x, tile<T const> dy,
            tile<T const> statistics, tile<T const> sums, tile<T const> gamma,
            tile<T const> beta) const;
  template <int Result, class T>
  LOCUS_HOST_DEVICE T element(std::int64_t i, call_context const&, tile<T>, tile<T const> x,
                              tile<T const> dy, tile<T const> statistics, tile<T const> sums,
                              tile<T const> gamma, tile<T const> beta) const {
    std::int64_t const channels = x.extent[x.rank - 1], c = i % channels;
    return settings.slope(statistics[c], statistics[channels + c], gamma[c], beta[c], sums[c],
                          sums[channels + c],
                          static_cast<T>(x.size() / channels))(settings, x[i], dy[i]);
  }
};

#if LOCUS_CUDA_KERNELS
template <class T>
auto batch_moments_op::team(call_context const& here, tile<T> statistics, tile<T> mean_change,
                            tile<T> variance_change, tile<T const> x, tile<T const> moving_mean,
                            tile<T const> moving_variance) const {
  host::channel_rows const s = detail::rows_of(x);
  detail::channel_columns<T> const all{s.rows, s.channels, statistics};
  double const step = all.rows == 0 ? 0 : (1 - settings.momentum) / here.replicas;
  return detail::moments_team<T>{all,
                                 x.data,
                                 all.has_vectors(x.data),
                                 step,
                                 mean_change.data,
                                 variance_change.data,
                                 moving_mean.data,
                                 moving_variance.data};
}

template <class T>
auto batch_norm_sums_op::team(call_context const&, tile<T> sums, tile<T> dgamma, tile<T> dbeta,
                              tile<T const> x, tile<T const> dy, tile<T const> statistics,
                              tile<T const> gamma, tile<T const> beta) const {
  host::channel_rows const s = detail::rows_of(x);
  detail::channel_columns<T> const all{s.rows, s.channels, sums};
  return detail::sums_team<T, detail::batch_norm_settings>{
      all,
      settings,
      x.data,
      dy.data,
      all.has_vectors(x.data) && all.has_vectors(dy.data),
      all.has_vectors(statistics.data) && all.has_vectors(gamma.data) && all.has_vectors(beta.data),
      statistics.data,
      gamma.data,
      beta.data,
      dgamma.data,
      dbeta.data};
}
#endif

/// means: y = bounds((x - mean) * gamma / sqrt(variance + epsilon) + beta), with given statistics
struct normalise_op {
  using enum call_role;
  static constexpr call_rule rule{.name = "normalise",
                                  .operands = {rows, whole, whole, whole, whole},
                                  .results = {rows},
                                  .tensorflow = "FusedBatchNormV3"};
  detail::batch_norm_settings settings;

  static constexpr shape infer(int, shape x, shape gamma, shape beta, shape mean, shape variance) {
    return detail::channels_fit(x, gamma, beta, mean, variance) ? x : no_shape;
  }
  template <class T>
  void host(call_context const&, tile<T> y, tile<T const> x, tile<T const> gamma,
            tile<T const> beta, tile<T const> mean, tile<T const> variance) const {
    host::channel_rows const s = detail::rows_of(x);
    LOCUS_CHOSEN(nn::host,
                 normalise<T>)(y.data, x.data, s,
                               detail::normalisation_of<T>(settings, gamma.data, beta.data,
                                                           mean.data, variance.data, s.channels));
  }
  template <class T>
  void card(card_context& here, tile<T> y, tile<T const> x, tile<T const> gamma, tile<T const> beta,
            tile<T const> mean, tile<T const> variance) const;
  template <int Result, class T>
  LOCUS_HOST_DEVICE T element(std::int64_t i, call_context const&, tile<T>, tile<T const> x,
                              tile<T const> gamma, tile<T const> beta, tile<T const> mean,
                              tile<T const> variance) const {
    std::int64_t const c = i % x.extent[x.rank - 1];
    return settings.bounded(settings.channel(mean[c], variance[c], gamma[c], beta[c])(x[i]));
  }
};

#if LOCUS_CUDA_KERNELS
template <class T>
void batch_norm_op::card(card_context& here, tile<T> y, tile<T const> x, tile<T const> statistics,
                         tile<T const> gamma, tile<T const> beta) const {
  host::channel_rows const s = detail::rows_of(x);
  cards::normalise(here, settings, s.rows, s.channels, x.data, statistics.data,
                   statistics.data + s.channels, gamma.data, beta.data, y.data);
}
template <class T>
void batch_norm_gradient_op::card(card_context& here, tile<T> dx, tile<T const> x, tile<T const> dy,
                                  tile<T const> statistics, tile<T const> sums, tile<T const> gamma,
                                  tile<T const> beta) const {
  host::channel_rows const s = detail::rows_of(x);
  cards::normalise_gradient(here, settings, s.rows, s.channels, x.data, dy.data, statistics.data,
                            statistics.data + s.channels, sums.data, sums.data + s.channels,
                            gamma.data, beta.data, dx.data);
}
template <class T>
void normalise_op::card(card_context& here, tile<T> y, tile<T const> x, tile<T const> gamma,
                        tile<T const> beta, tile<T const> mean, tile<T const> variance) const {
  host::channel_rows const s = detail::rows_of(x);
  cards::normalise(here, settings, s.rows, s.channels, x.data, mean.data, variance.data, gamma.data,
                   beta.data, y.data);
}
#endif

/// The state of a BatchNorm: gamma, beta, and the moving statistics, which are not trained.
/// Global: the statistics are those of the global batch; they are plain expressions, whose sums the
/// plan reduces over the replicas.
template <class T, int Rank, bool Global, class Replicas>
struct batch_norm_state {
  using batch = batch_of<T, Rank, Replicas>;
  using channels = Tensor<T, Dextents<1>, Replicas>;
  static constexpr bool reads_y = Global;
  static constexpr bool moves = true;  // it has moving statistics
  struct local_kept {
    batch_of<T, 2, Replicas> statistics{Dextents<2>(0, 0)};  // means, then variances
  };
  struct global_kept {
    channels mean{Dextents<1>(0)}, variance{Dextents<1>(0)};
  };
  using kept = std::conditional_t<Global, global_kept, local_kept>;

  parameter<T, Replicas> gamma, beta, moving_mean, moving_variance;
  detail::batch_norm_settings settings;
  shape in;  // one example

  shape output_extents() const { return in; }
  template <class F>
  void for_each_parameter(F&& f) {
    f(gamma), f(beta), f(moving_mean), f(moving_variance);
  }

  batch forward(batch const& x, kept& k, pass const& p) {
    if (!p.training) return normalised(x, moving_mean.value, moving_variance.value);
    if constexpr (Global) {
      T const count = count_of(x), step = static_cast<T>(1 - settings.momentum);
      if (count == T(0)) return batch(x);
      k.mean = channels(detail::sum_over_rows<Rank>(x) / count);
      k.variance = channels(detail::sum_over_rows<Rank>(square(x - k.mean)) / count);
      run(plan(into(moving_mean.value, moving_mean.value + step * (k.mean - moving_mean.value)),
               into(moving_variance.value,
                    moving_variance.value + step * (k.variance - moving_variance.value))));
      return normalised(x, k.mean, k.variance);
    } else {
      auto const c = call(batch_moments_op{settings}, x, moving_mean.value, moving_variance.value);
      k.statistics = statistics(x);
      run(plan(into(k.statistics, result<0>(c)),
               into(moving_mean.value, moving_mean.value + result<1>(c)),
               into(moving_variance.value, moving_variance.value + result<2>(c))));
      return batch(call(batch_norm_op{settings}, x, k.statistics, gamma.value, beta.value));
    }
  }
  batch backward(batch const& x, [[maybe_unused]] batch const& y, kept& k, batch dy,
                 [[maybe_unused]] bool need_dx) {
    if constexpr (Global) {
      activate_gradient(y, dy, settings.how);
      T const count = count_of(x);
      channels const inverse(rsqrt(k.variance + static_cast<T>(settings.epsilon)));
      run(plan(into(gamma.gradient, detail::sum_over_rows<Rank>(dy * ((x - k.mean) * inverse))),
               into(beta.gradient, detail::sum_over_rows<Rank>(dy))));
      T const share = count == T(0) ? T(0) : T(1) / count;
      dy = (dy - share * beta.gradient - (x - k.mean) * (share * (inverse * gamma.gradient))) *
           (gamma.value * inverse);
      return dy;
    } else {
      auto const c =
          call(batch_norm_sums_op{settings}, x, dy, k.statistics, gamma.value, beta.value);
      batch_of<T, 2, Replicas> sums = statistics(x);
      run(plan(into(sums, result<0>(c)), into(gamma.gradient, result<1>(c)),
               into(beta.gradient, result<2>(c))));
      if (!need_dx) return dy;
      return batch(call(batch_norm_gradient_op{settings}, x, dy, k.statistics, sums, gamma.value,
                        beta.value));
    }
  }
  /// means: dx alone, of the moving statistics, which are constants then; y: of a prediction
  batch input_gradient(batch const&, batch const& y, kept&, batch dy) {
    activate_gradient(y, dy, settings.how);
    return batch(dy *
                 (gamma.value * rsqrt(moving_variance.value + static_cast<T>(settings.epsilon))));
  }

 private:
  batch normalised(batch const& x, channels const& mean, channels const& variance) const {
    return batch(call(normalise_op{settings}, x, gamma.value, beta.value, mean, variance));
  }
  batch_of<T, 2, Replicas> statistics(batch const& x) const {
    return batch_of<T, 2, Replicas>(Dextents<2>(x.extent(0), 2 * in.extent[in.rank - 1]));
  }
  T count_of(batch const& x) const {
    std::int64_t const n = in.extent[in.rank - 1];
    return n == 0 ? T(0) : static_cast<T>(x.extents().as_shape().size() / n);
  }
};

/// The rows over which a BatchNorm takes its statistics.
enum class statistics_of : unsigned char { each_replica, global_batch };
inline constexpr auto cross_replica = statistics_of::global_batch;

/// means: y = bounds((x - mean) * gamma / sqrt(variance + epsilon) + beta) for each channel (the
///        last axis); in training with the statistics of the batch, else with the moving ones:
///        BatchNorm{}, BatchNorm{relu6}, BatchNorm<cross_replica>{}
/// shape: as its examples; gamma, beta, moving_mean, moving_variance (channels)
/// after: keras.layers.BatchNormalization: momentum 0.99, epsilon 1e-3, variance of the population.
///        Each replica uses its own statistics; the moving ones change by the mean over the
///        replicas, where a replica without rows counts as no change. cross_replica: Keras'
///        synchronized
template <statistics_of Of = statistics_of::each_replica>
struct BatchNorm {
  static constexpr char const* kind = "BatchNormalization";
  activation how = activation::linear;  // part of the kernel: linear, relu, relu6
  double momentum = 0.99, epsilon = 1e-3;

  constexpr BatchNorm() = default;
  template <activation A>
  constexpr BatchNorm(activation_constant<A>) : how(A) {
    static_assert(detail::has_bounds(A), "locus: a BatchNorm has no other activation than relu and "
                                         "relu6; put nn::Activation behind it");
  }

  constexpr BatchNorm with_momentum(double moving) const {
    return detail::with(*this, &BatchNorm::momentum, moving);
  }
  constexpr BatchNorm with_epsilon(double added) const {
    return detail::with(*this, &BatchNorm::epsilon, added);
  }

  template <class In>
  using output = In;
  template <class T, class In, class Replicas>
  using state = batch_norm_state<T, In::rank() + 1, Of == statistics_of::global_batch, Replicas>;

  template <class T, class In, class Replicas>
  auto make(shape const& in, std::uint64_t) const {
    shape const channels{1, {in.extent[in.rank - 1]}};
    auto one = [&](char const* name, initial const& begins, bool trained) {
      return make_parameter<T, Replicas>(name, channels, begins, 0, trained);
    };
    return state<T, In, Replicas>{
        one("gamma", ones, true),         one("beta", zeros, true),
        one("moving_mean", zeros, false), one("moving_variance", ones, false),
        {epsilon, momentum, how},         in};
  }
};

}  // namespace locus::nn
