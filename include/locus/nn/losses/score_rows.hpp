// SPDX-License-Identifier: Apache-2.0
// score_row: the loss of one row of predictions and its gradient, on the host. For logits, the
// exponentials are computed once, on packets, into the memory of the gradient.
#if !defined(LOCUS_CLONE) && !defined(LOCUS_NN_LOSSES_SCORE_ROWS)
#define LOCUS_NN_LOSSES_SCORE_ROWS
#include <locus/nn/losses/loss.hpp>  // the losses
#include <locus/simd/math.hpp>       // by_registers
#include <locus/simd/packet.hpp>     // load, store

#define LOCUS_CLONED <locus/nn/losses/score_rows.hpp>
#include <locus/simd/clones.hpp>  // reads this file once for each set of instructions

namespace locus::nn::host {
inline namespace LOCUS_MODE {

/// means: returns the loss of a row; d[j] = its slope by p[j], times scale
template <class Loss, class T, class U>
double score_row(Loss const& loss, T const* p, U const* target, std::int64_t n, T scale, T* d) {
  auto const s = loss.state(p, target, n);
  for (std::int64_t j = 0; j < n; ++j) d[j] = loss.slope(s, p, target, n, j) * scale;
  return double(loss.value(s, p, target, n));
}
template <class T, class U>
double score_row(SparseCategoricalCrossentropy<from_logits_t> const& loss, T const* p,
                 U const* target, std::int64_t n, T scale, T* d) {
  auto const s = LOCUS_CHOSEN(nn::host, exponentials<T>)(p, n, d);
  T const by = scale / s.sum;
  for (std::int64_t j = 0; j < n; ++j) d[j] *= by;
  d[*target] -= scale;
  return double(loss.value(s, p, target, n));
}
template <class T, class U>
double score_row(CategoricalCrossentropy<from_logits_t> const& loss, T const* p, U const* target,
                 std::int64_t n, T scale, T* d) {
  auto const z = LOCUS_CHOSEN(nn::host, exponentials<T>)(p, n, d);
  T const log_sum = nn::detail::log_of(z.sum);
  T targets = T(0);
  double value = 0;
  for (std::int64_t j = 0; j < n; ++j) {
    T const t = loss.template smooth<T>(target, n, j);
    targets += t, value += double(t * ((z.top - p[j]) + log_sum));
  }
  T const by = scale * targets / z.sum;
  for (std::int64_t j = 0; j < n; ++j)
    d[j] = d[j] * by - loss.template smooth<T>(target, n, j) * scale;
  return value;
}

}  // namespace LOCUS_MODE
}  // namespace locus::nn::host
#elif defined(LOCUS_CLONE)
LOCUS_VECTORS_BEGIN
namespace LOCUS_SPACE(nn::host) {

/// means: e[j] = exp(z[j] - top); returns top, the largest z[j], and the sum of e
/// cost:  n exponentials; the sum is added in lanes
template <class T>
nn::detail::softmax_state<T> exponentials(T const* z, std::int64_t n, T* e) {
  constexpr int N = simd::native_bytes / int(sizeof(T));
  using packet = simd::packet<T, N>;
  std::int64_t const whole = n / N * N;
  T const low = -std::numeric_limits<T>::infinity();
  alignas(64) T end[N];  // the last packet: elements behind the row count as exp(-inf)
  for (int j = 0; j < N; ++j) end[j] = whole + j < n ? z[whole + j] : low;
  packet top = simd::load<N>(end);
  for (std::int64_t j = 0; j < whole; j += N) top = simd::larger(simd::load<N>(z + j), top);
  alignas(64) T lanes[N];
  simd::store(lanes, top);
  T largest = lanes[0];
  for (int j = 1; j < N; ++j) largest = lanes[j] > largest ? lanes[j] : largest;
  auto const same = simd::broadcast<N>(largest);
  auto const power = [&](packet x) __attribute__((always_inline)) {
    return simd::by_registers<simd::vector_exp>(simd::subtract(x, same));
  };
  packet const last = power(simd::load<N>(end));
  packet sum = last;
  for (std::int64_t j = 0; j < whole; j += N) {
    packet const x = power(simd::load<N>(z + j));
    simd::store(e + j, x), sum = simd::add(sum, x);
  }
  simd::store(end, last);
  for (std::int64_t j = whole; j < n; ++j) e[j] = end[j - whole];
  simd::store(lanes, sum);
  double total = 0;
  for (int j = 0; j < N; ++j) total += double(lanes[j]);
  return {largest, T(total)};
}

}  // namespace LOCUS_SPACE(nn::host)
LOCUS_VECTORS_END
#endif
