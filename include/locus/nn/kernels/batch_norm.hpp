// SPDX-License-Identifier: Apache-2.0
// Statistics of channels, and the batch normalisation with them, on the host. Mean and variance
// take one pass over memory: those of blocks that lie in a cache are combined in double.
#if !defined(LOCUS_CLONE) && !defined(LOCUS_NN_KERNELS_BATCH_NORM)
#define LOCUS_NN_KERNELS_BATCH_NORM
#include <vector>  // vector

#include <locus/nn/kernels/pool2d.hpp>  // over_channels, threads_for_numbers
#include <locus/runtime/threads.hpp>    // parallel_for
#include <locus/simd/packet.hpp>        // packet

namespace locus::nn::host {
inline namespace LOCUS_MODE {

/// rows of channels: the pixels of a batch of images, or the examples of a batch
struct channel_rows {
  std::int64_t rows, channels;
  std::int64_t size() const { return rows * channels; }
};

/// means: the numbers of y = bounds((x - mean) * gamma / deviation + beta) for each channel
template <class T>
struct normalisation {
  std::vector<T> mean, factor, inverse;  // factor: gamma / deviation; inverse: 1 / deviation
  T const* beta;
  bool clamp = false;
  T high{};

  normalisation(T const* gamma, T const* shift, T const* means, T const* variances, double epsilon,
                std::int64_t channels)
      : mean(std::size_t(channels)), factor(std::size_t(channels)), inverse(std::size_t(channels)),
        beta(shift) {
    for (std::size_t c = 0; c < mean.size(); ++c) {
      double const inverse_deviation = 1 / __builtin_sqrt(double(variances[c]) + epsilon);
      mean[c] = means[c], inverse[c] = static_cast<T>(inverse_deviation);
      factor[c] = static_cast<T>(double(gamma[c]) * inverse_deviation);
    }
  }
};

namespace detail {

inline constexpr std::int64_t block_numbers = 1 << 13;

/// The tasks of a pass over rows: blocks that fit a first cache; parts are runs of whole blocks.
struct row_cut {
  std::int64_t rows, block, blocks, parts;
  row_cut(channel_rows const& s, std::int64_t most_parts) : rows(s.rows) {
    block = block_numbers / (s.channels > 0 ? s.channels : 1);
    block = block < 1 ? 1 : block;
    blocks = (rows + block - 1) / block;
    parts = blocks < most_parts ? blocks : most_parts;
  }
  std::int64_t first(std::int64_t part) const { return blocks * part / parts * block; }
  std::int64_t end(std::int64_t part) const {
    std::int64_t const e = first(part + 1);
    return e < rows ? e : rows;
  }
};

}  // namespace detail

}  // namespace LOCUS_MODE
}  // namespace locus::nn::host

#define LOCUS_CLONED <locus/nn/kernels/batch_norm.hpp>
#include <locus/simd/clones.hpp>  // reads this file once for each set of instructions
#elif defined(LOCUS_CLONE)
LOCUS_VECTORS_BEGIN
namespace LOCUS_SPACE(nn::host) {

namespace detail {

template <int M, class T>
LOCUS_VECTOR_FUNCTION simd::packet<T, M> bounded(simd::packet<T, M> x, T high) {
  auto const zero = simd::broadcast<M>(T(0)), top = simd::broadcast<M>(high);
  return simd::select(simd::less(x, zero), zero, simd::select(simd::greater(x, top), top, x));
}
template <int M, class T>
LOCUS_VECTOR_FUNCTION simd::packet<T, M> normalised(normalisation<T> const& n, simd::packet<T, M> x,
                                                    std::int64_t c) {
  auto const centred = simd::subtract(x, simd::load<M>(n.mean.data() + c));
  return simd::add(simd::multiply(centred, simd::load<M>(n.factor.data() + c)),
                   simd::load<M>(n.beta + c));
}
/// means: y lies inside of its bounds ? dy : 0
template <int M, class T>
LOCUS_VECTOR_FUNCTION simd::packet<T, M> passed(normalisation<T> const& n, simd::packet<T, M> x,
                                                simd::packet<T, M> dy, std::int64_t c) {
  if (!n.clamp) return dy;
  auto const y = normalised<M>(n, x, c);
  auto const zero = simd::broadcast<M>(T(0));
  auto const inside = simd::greater(y, zero).v & simd::less(y, simd::broadcast<M>(n.high)).v;
  return simd::select(decltype(simd::less(y, zero)){inside}, dy, zero);
}

}  // namespace detail

/// means: mean and variance (of the population) of each channel
template <class T>
void moments(double* mean, double* variance, T const* x, channel_rows const& s) {
  constexpr int N = detail::pool_bytes / int(sizeof(T));
  detail::row_cut const cut(s, 16);
  std::int64_t const C = s.channels;
  std::vector<double> parts(std::size_t(cut.parts * 2 * C));
  parallel_for(static_cast<int>(cut.parts), detail::threads_for_numbers(s.size()), [&](int part) {
    double* const m = parts.data() + part * 2 * C;
    double* const squares = m + C;
    double count = 0;
    std::vector<T> sums(std::size_t(2 * C));
    for (std::int64_t r = cut.first(part); r < cut.end(part); r += cut.block) {
      std::int64_t const n = cut.block < s.rows - r ? cut.block : s.rows - r;
      T const* const from = x + r * C;
      detail::over_channels<N>(C, [&]<int M>(std::int64_t c) {
        auto sum = simd::broadcast<M>(T(0)), square = sum;
        for (std::int64_t i = 0; i < n; ++i) sum = simd::add(sum, simd::load<M>(from + i * C + c));
        sum = simd::divide(sum, simd::broadcast<M>(static_cast<T>(n)));
        for (std::int64_t i = 0; i < n; ++i) {
          auto const d = simd::subtract(simd::load<M>(from + i * C + c), sum);
          square = simd::add(square, simd::multiply(d, d));
        }
        simd::store(sums.data() + c, sum), simd::store(sums.data() + C + c, square);
      });
      double const all = count + double(n), share = double(n) / all;
      for (std::int64_t c = 0; c < C; ++c) {  // combines the earlier blocks with this one
        double const d = double(sums[std::size_t(c)]) - m[c];
        m[c] += d * share;
        squares[c] += double(sums[std::size_t(C + c)]) + d * d * count * share;
      }
      count = all;
    }
  });
  double count = 0;
  for (std::int64_t c = 0; c < C; ++c) mean[c] = variance[c] = 0;
  for (std::int64_t part = 0; part < cut.parts; ++part) {
    double const n = double(cut.end(part) - cut.first(part)), all = count + n;
    double const* const m = parts.data() + part * 2 * C;
    for (std::int64_t c = 0; c < C; ++c) {
      double const d = m[c] - mean[c];
      mean[c] += d * n / all, variance[c] += m[C + c] + d * d * count * n / all;
    }
    count = all;
  }
  for (std::int64_t c = 0; c < C && count > 0; ++c) variance[c] /= count;
}

/// means: y = bounds((x - mean) * factor + beta)
template <class T>
void normalise(T* y, T const* x, channel_rows const& s, normalisation<T> const& n) {
  constexpr int N = detail::pool_bytes / int(sizeof(T));
  detail::row_cut const cut(s, 1 << 20);
  parallel_for(static_cast<int>(cut.parts), detail::threads_for_numbers(s.size()), [&](int part) {
    for (std::int64_t r = cut.first(part); r < cut.end(part); ++r)
      detail::over_channels<N>(s.channels, [&]<int M>(std::int64_t c) {
        auto v = detail::normalised<M>(n, simd::load<M>(x + r * s.channels + c), c);
        if (n.clamp) v = detail::bounded<M>(v, n.high);
        simd::store(y + r * s.channels + c, v);
      });
  });
}

/// means: for each channel the sums of dy and of dy * (x - mean) / deviation over the rows where y
///        lies inside of its bounds: the gradients of beta and gamma
template <class T>
void normalise_sums(double* dbeta, double* dgamma, T const* x, T const* dy, channel_rows const& s,
                    normalisation<T> const& n) {
  constexpr int N = detail::pool_bytes / int(sizeof(T));
  detail::row_cut const cut(s, 16);
  std::int64_t const C = s.channels;
  std::vector<double> parts(std::size_t(cut.parts * 2 * C));
  parallel_for(static_cast<int>(cut.parts), detail::threads_for_numbers(s.size()), [&](int part) {
    double* const sums = parts.data() + part * 2 * C;
    std::vector<T> few(std::size_t(2 * C));
    for (std::int64_t r = cut.first(part); r < cut.end(part); r += cut.block) {
      std::int64_t const rows = cut.block < s.rows - r ? cut.block : s.rows - r;
      T const *const a = x + r * C, *const b = dy + r * C;
      detail::over_channels<N>(C, [&]<int M>(std::int64_t c) {
        auto plain = simd::broadcast<M>(T(0)), weighted = plain;
        auto const mean = simd::load<M>(n.mean.data() + c);
        for (std::int64_t i = 0; i < rows; ++i) {
          auto const v = simd::load<M>(a + i * C + c);
          auto const d = detail::passed<M>(n, v, simd::load<M>(b + i * C + c), c);
          plain = simd::add(plain, d);
          weighted = simd::add(weighted, simd::multiply(d, simd::subtract(v, mean)));
        }
        simd::store(few.data() + c, plain), simd::store(few.data() + C + c, weighted);
      });
      for (std::size_t c = 0; c < few.size(); ++c) sums[c] += double(few[c]);
    }
  });
  for (std::int64_t c = 0; c < C; ++c) {
    double plain = 0, weighted = 0;
    for (std::int64_t part = 0; part < cut.parts; ++part)
      plain += parts[std::size_t(part * 2 * C + c)],
          weighted += parts[std::size_t((part * 2 + 1) * C + c)];
    dbeta[c] = plain, dgamma[c] = weighted * double(n.inverse[std::size_t(c)]);
  }
}

/// means: dx, from the sums dbeta and dgamma over the `count` rows of the statistics
template <class T>
void normalise_gradient(T* dx, T const* x, T const* dy, channel_rows const& s,
                        normalisation<T> const& n, T const* dbeta, T const* dgamma, double count) {
  constexpr int N = detail::pool_bytes / int(sizeof(T));
  std::vector<T> shift(std::size_t(s.channels)), slope(shift);
  for (std::size_t c = 0; c < shift.size(); ++c) {
    shift[c] = static_cast<T>(double(dbeta[c]) / count);
    slope[c] = static_cast<T>(double(dgamma[c]) * double(n.inverse[c]) / count);
  }
  detail::row_cut const cut(s, 1 << 20);
  parallel_for(static_cast<int>(cut.parts), detail::threads_for_numbers(s.size()), [&](int part) {
    for (std::int64_t r = cut.first(part); r < cut.end(part); ++r)
      detail::over_channels<N>(s.channels, [&]<int M>(std::int64_t c) {
        std::int64_t const at = r * s.channels + c;
        auto const v = simd::load<M>(x + at);
        auto d = detail::passed<M>(n, v, simd::load<M>(dy + at), c);
        d = simd::subtract(d, simd::load<M>(shift.data() + c));
        auto const centred = simd::subtract(v, simd::load<M>(n.mean.data() + c));
        d = simd::subtract(d, simd::multiply(centred, simd::load<M>(slope.data() + c)));
        simd::store(dx + at, simd::multiply(d, simd::load<M>(n.factor.data() + c)));
      });
  });
}

}  // namespace LOCUS_SPACE(nn::host)
LOCUS_VECTORS_END
#endif
