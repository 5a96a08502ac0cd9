// SPDX-License-Identifier: Apache-2.0
// A batch normalisation and its gradient on a GPU: a thread has a vector of channels of a few rows,
// so that it computes the quotient and the root of a channel once for all these rows.
#pragma once
#include <type_traits>  // integral_constant

#include <locus/core/macros.hpp>              // LOCUS_HOST_DEVICE, LOCUS_MODE
#include <locus/engine/gpu/card_context.hpp>  // card_context
#include <locus/engine/gpu/lines.hpp>         // quotient
#include <locus/engine/gpu/vectors.hpp>       // vector_of, with_vectors, store_whole

namespace locus::nn::cards {
inline namespace LOCUS_MODE {

/// Rows of channels as vectors. The rows of a thread lie far apart, so that the vectors of
/// neighbouring threads are neighbours for every number of channels.
template <int Rows>
struct rows_of_channels {
  std::int64_t vectors, apart;     // vectors of all rows; number of threads
  cuda_side::quotient in_one_row;  // vectors

  rows_of_channels(std::int64_t rows, std::int64_t wide)
      : vectors(rows * wide), apart((rows + Rows - 1) / Rows * wide), in_one_row(wide, apart) {}
  LOCUS_HOST_DEVICE std::int64_t channel(std::int64_t i) const {
    in_one_row.divide(i);
    return i;
  }
  /// means: thread i has a row r
  LOCUS_HOST_DEVICE bool has(std::int64_t i, int r) const { return i + r * apart < vectors; }
  /// means: the vector of row r; of row 0, if the thread has no row r, so that no load has a
  ///        condition
  LOCUS_HOST_DEVICE std::int64_t vector(std::int64_t i, int r) const {
    return has(i, r) ? i + r * apart : i;
  }
};
/// means: vector i of an array
template <class Vector, class T>
LOCUS_HOST_DEVICE Vector vector_at(T const* p, std::int64_t i) {
  return reinterpret_cast<Vector const*>(p)[i];
}

/// y = bounds(normalised x). Settings: batch_norm_settings.
template <class T, int Size, class Settings>
struct normalised_rows {
  static constexpr int rows = 4;
  using vector = cuda_side::vector_of<T, Size>;
  rows_of_channels<rows> of;
  Settings settings;
  T const *x, *mean, *variance, *gamma, *beta;
  T* y;

  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    vector v[rows];
    for (int r = 0; r < rows; ++r) v[r] = vector_at<vector>(x, of.vector(i, r));
    std::int64_t const c = of.channel(i);
    auto const means = vector_at<vector>(mean, c), variances = vector_at<vector>(variance, c),
               gammas = vector_at<vector>(gamma, c), betas = vector_at<vector>(beta, c);
    for (int j = 0; j < Size; ++j) {
      auto const normal = settings.channel(means.element[j], variances.element[j],
                                           gammas.element[j], betas.element[j]);
      for (vector& row : v) row.element[j] = settings.bounded(normal(row.element[j]));
    }
    for (int r = 0; r < rows; ++r)
      if (of.has(i, r)) cuda_side::store_whole(y + of.vector(i, r) * Size, v[r]);
  }
};

/// dx of a batch normalisation, from given statistics and sums. Settings: batch_norm_settings.
template <class T, int Size, class Settings>
struct slopes_of_rows {
  static constexpr int rows = 4;
  using vector = cuda_side::vector_of<T, Size>;
  rows_of_channels<rows> of;
  Settings settings;
  T count;  // of rows
  T const *x, *dy, *mean, *variance, *plain, *weighted, *gamma, *beta;
  T* dx;

  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    vector v[rows], d[rows];
    for (int r = 0; r < rows; ++r) {
      v[r] = vector_at<vector>(x, of.vector(i, r));
      d[r] = vector_at<vector>(dy, of.vector(i, r));
    }
    std::int64_t const c = of.channel(i);
    auto const means = vector_at<vector>(mean, c), variances = vector_at<vector>(variance, c),
               plains = vector_at<vector>(plain, c), weights = vector_at<vector>(weighted, c),
               gammas = vector_at<vector>(gamma, c), betas = vector_at<vector>(beta, c);
    for (int j = 0; j < Size; ++j) {
      auto const slope =
          settings.slope(means.element[j], variances.element[j], gammas.element[j],
                         betas.element[j], plains.element[j], weights.element[j], count);
      for (int r = 0; r < rows; ++r)
        v[r].element[j] = slope(settings, v[r].element[j], d[r].element[j]);
    }
    for (int r = 0; r < rows; ++r)
      if (of.has(i, r)) cuda_side::store_whole(dx + of.vector(i, r) * Size, v[r]);
  }
};

/// means: as normalise_op's element(), bit for bit
/// shape: x, y (rows, channels); mean, variance, gamma, beta (channels)
template <class T, class Settings>
void normalise(card_context& here, Settings const& settings, std::int64_t rows,
               std::int64_t channels, T const* x, T const* mean, T const* variance, T const* gamma,
               T const* beta, T* y) {
  if (rows * channels == 0) return;
  auto const run = [&]<int Size>(std::integral_constant<int, Size>) {
    using body = normalised_rows<T, Size, Settings>;
    rows_of_channels<body::rows> const of(rows, channels / Size);
    here.each(of.apart, body{of, settings, x, mean, variance, gamma, beta, y});
  };
  cuda_side::with_vectors(channels, run, x, mean, variance, gamma, beta, y);
}
/// means: as batch_norm_gradient_op's element(), bit for bit
/// shape: x, dy, dx (rows, channels); the other arrays (channels)
template <class T, class Settings>
void normalise_gradient(card_context& here, Settings const& settings, std::int64_t rows,
                        std::int64_t channels, T const* x, T const* dy, T const* mean,
                        T const* variance, T const* plain, T const* weighted, T const* gamma,
                        T const* beta, T* dx) {
  if (rows * channels == 0) return;
  auto const run = [&]<int Size>(std::integral_constant<int, Size>) {
    using body = slopes_of_rows<T, Size, Settings>;
    rows_of_channels<body::rows> const of(rows, channels / Size);
    here.each(of.apart, body{of, settings, static_cast<T>(rows), x, dy, mean, variance, plain,
                             weighted, gamma, beta, dx});
  };
  cuda_side::with_vectors(channels, run, x, dy, mean, variance, plain, weighted, gamma, beta, dx);
}

}  // namespace LOCUS_MODE
}  // namespace locus::nn::cards
