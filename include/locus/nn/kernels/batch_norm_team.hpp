// SPDX-License-Identifier: Apache-2.0
// The sums of a batch normalisation on GPUs: neighbouring threads read neighbouring vectors of
// channels, a few rows at once. A few rows are summed around their own mean in T; their totals are
// combined with other rows in double.
#pragma once
#include <locus/engine/gpu/vectors.hpp>  // vector_of, are_vectors
#include <locus/ops/math.hpp>            // sqrt_fn
#include <locus/shape/tile.hpp>          // tile

namespace locus::nn::detail {

/// Rows of channels as a matrix whose columns are folded; result 0 has two numbers of each channel
/// in its first row, and zeros behind them.
template <class T>
struct channel_columns {
  static constexpr int vector = cuda_side::vector_elements<T>;
  std::int64_t rows, columns;
  tile<T> pairs;  // result 0

  LOCUS_HOST_DEVICE std::int64_t zeros() const {
    return pairs.data ? pairs.size() - 2 * columns : 0;
  }
  LOCUS_HOST_DEVICE void zero(std::int64_t i) const { pairs[2 * columns + i] = T(0); }
  LOCUS_HOST_DEVICE void store_pair(std::int64_t c, double one, double other) const {
    if (!pairs.data) return;
    pairs[c] = static_cast<T>(one);
    pairs[columns + c] = static_cast<T>(other);
  }
  /// means: to = the values of channels [c, c + vector); 0 behind the last channel
  LOCUS_HOST_DEVICE void load(T* to, T const* from, std::int64_t row, std::int64_t c,
                              bool are_vectors) const {
    T const* const p = from + row * columns + c;
    if (are_vectors) {
      auto const v = *reinterpret_cast<cuda_side::vector_of<T, vector> const*>(p);
      for (int j = 0; j < vector; ++j) to[j] = v.element[j];
    } else
      for (int j = 0; j < vector; ++j) to[j] = c + j < columns ? p[j] : T(0);
  }
  bool has_vectors(T const* p) const { return cuda_side::are_vectors(columns, p); }
};

template <class T>
struct moments_team : channel_columns<T> {
  using channel_columns<T>::vector;
  static constexpr int batch = 8;
  /// for some rows of a channel: their number, their mean, and the sum of squared distances from it
  struct total {
    double count, mean, squares;
  };
  T const* x;
  bool are_vectors;
  double step;  // the factor of the change of a moving value
  T *mean_change, *variance_change;
  T const *moving_mean, *moving_variance;

  LOCUS_HOST_DEVICE static total identity() { return {0, 0, 0}; }
  /// after: Chan, Golub and LeVeque, Updating formulae and a pairwise algorithm for computing sample variances,
  ///        1979
  LOCUS_HOST_DEVICE static total combine(total const& a, total const& b) {
    if (b.count == 0) return a;
    if (a.count == 0) return b;
    double const count = a.count + b.count, share = b.count / count, d = b.mean - a.mean;
    return {count, a.mean + d * share, a.squares + b.squares + d * d * a.count * share};
  }
  LOCUS_HOST_DEVICE std::int64_t at(std::int64_t c) const { return c; }
  template <int Batch>
  LOCUS_HOST_DEVICE void add(total* to, std::int64_t c, std::int64_t row, std::int64_t down) const {
    T v[Batch][vector];
    for (int i = 0; i < Batch; ++i) this->load(v[i], x, row + i * down, c, are_vectors);
    double const before = to[0].count, count = before + Batch, share = Batch / count;
    for (int j = 0; j < vector; ++j) {
      // sums of distances from the first value, so that values far from 0 lose no digits
      T const first = v[0][j];
      T mean = T(0), squares = T(0);
      for (int i = 1; i < Batch; ++i) mean += v[i][j] - first;
      mean = mean / T(Batch);
      for (int i = 0; i < Batch; ++i) {
        T const d = (v[i][j] - first) - mean;
        squares += d * d;
      }
      double const d = (double(first) + double(mean)) - to[j].mean;
      to[j].count = count;
      to[j].mean += d * share;
      to[j].squares += double(squares) + d * d * before * share;
    }
  }
  LOCUS_HOST_DEVICE void finish(std::int64_t c, total const& t) const {
    double const variance = t.count > 0 ? t.squares / t.count : 0;
    if (mean_change) mean_change[c] = static_cast<T>(step * (t.mean - double(moving_mean[c])));
    if (variance_change)
      variance_change[c] = static_cast<T>(step * (variance - double(moving_variance[c])));
    this->store_pair(c, t.mean, variance);
  }
};

template <class T, class Settings>
struct sums_team : channel_columns<T> {
  using channel_columns<T>::vector;
  static constexpr int batch = 4;
  struct total {
    double plain, weighted;
  };
  Settings settings;
  T const *x, *dy;
  bool are_vectors, has_vectors_of_channels;
  T const *statistics, *gamma, *beta;
  T *dgamma, *dbeta;
  /// the statistics of channels [first, first + vector)
  struct channels {
    std::int64_t first;
    T mean[vector], inverse[vector], gamma[vector], beta[vector];
  };

  LOCUS_HOST_DEVICE static total identity() { return {0, 0}; }
  LOCUS_HOST_DEVICE static total combine(total const& a, total const& b) {
    return {a.plain + b.plain, a.weighted + b.weighted};
  }
  LOCUS_HOST_DEVICE channels at(std::int64_t c) const {
    channels here;
    here.first = c;
    this->load(here.mean, statistics, 0, c, has_vectors_of_channels);
    this->load(here.inverse, statistics, 1, c, has_vectors_of_channels);
    this->load(here.gamma, gamma, 0, c, has_vectors_of_channels);
    this->load(here.beta, beta, 0, c, has_vectors_of_channels);
    for (T& v : here.inverse)
      v = T(1) / sqrt_fn{}(static_cast<T>(v + static_cast<T>(settings.epsilon)));
    return here;
  }
  template <int Batch>
  LOCUS_HOST_DEVICE void add(total* to, channels const& here, std::int64_t row,
                             std::int64_t down) const {
    T v[Batch][vector], g[Batch][vector];
    for (int i = 0; i < Batch; ++i) {
      this->load(v[i], x, row + i * down, here.first, are_vectors);
      this->load(g[i], dy, row + i * down, here.first, are_vectors);
    }
    for (int j = 0; j < vector; ++j) {
      T plain = T(0), weighted = T(0);
      for (int i = 0; i < Batch; ++i) {
        T const centred = (v[i][j] - here.mean[j]) * here.inverse[j];
        bool const passed = settings.passes(here.gamma[j] * centred + here.beta[j]);
        T const d = passed ? g[i][j] : T(0);
        plain += d, weighted += passed ? d * centred : T(0);
      }
      to[j].plain += double(plain), to[j].weighted += double(weighted);
    }
  }
  LOCUS_HOST_DEVICE void finish(std::int64_t c, total const& t) const {
    if (dgamma) dgamma[c] = static_cast<T>(t.weighted);
    if (dbeta) dbeta[c] = static_cast<T>(t.plain);
    this->store_pair(c, t.plain, t.weighted);
  }
};

}  // namespace locus::nn::detail
