// SPDX-License-Identifier: Apache-2.0
// row_update: an optimizer's rule over a whole table of which some rows have a gradient. All other
// rows have a gradient of 0: their momenta decay and move them, as with a dense gradient. It is one
// pass over the table, which makes 8 KiB of the dense gradient at a time.
#if !defined(LOCUS_CLONE) && !defined(LOCUS_NN_OPTIMIZERS_ROW_UPDATE)
#define LOCUS_NN_OPTIMIZERS_ROW_UPDATE
#include <locus/engine/host/nest.hpp>    // threads_for
#include <locus/nn/optimizers/rule.hpp>  // the rules
#include <locus/runtime/threads.hpp>     // parallel_for
#include <locus/simd/packet.hpp>         // load, store

namespace locus::nn::host {
inline namespace LOCUS_MODE {

/// means: the index of the first of n rising numbers that is not below `value`
LOCUS_HOST_DEVICE inline std::int64_t first_not_below(std::int32_t const* rows, std::int64_t n,
                                                      std::int64_t value) {
  std::int64_t low = 0;
  while (n > 0) {
    std::int64_t const half = n / 2;
    if (rows[low + half] < value)
      low += half + 1, n -= half + 1;
    else
      n = half;
  }
  return low;
}

/// units: elements of a table whose dense gradient is made at one time
template <class T>
inline constexpr std::int64_t row_block = 8192 / sizeof(T);

/// A table and its gradient: `dense`, of all elements, or `values`, of `count` rows with rising
/// numbers `rows`.
template <class T, int Numbers>
struct row_gradient {
  T const* from[Numbers];  // the weights, then the slots of the optimizer
  T* to[Numbers];          // may be equal to `from`
  std::int64_t elements = 0, width = 0, count = 0;
  std::int32_t const* rows = nullptr;
  T const* values = nullptr;
  T const* dense = nullptr;
  T scale = T(1);
};

}  // namespace LOCUS_MODE
}  // namespace locus::nn::host

#define LOCUS_CLONED <locus/nn/optimizers/row_update.hpp>
#include <locus/simd/clones.hpp>  // reads this file once for each set of instructions

namespace locus::nn::host {
inline namespace LOCUS_MODE {

/// means: applies the rule to the whole table
/// cost:  one pass, at the speed of memory; the bits do not depend on the threads
template <class Rule, class T, int Numbers>
void update_rows(Rule const& rule, row_gradient<T, Numbers> const& t) {
  [&]<std::size_t... K>(std::index_sequence<K...>) {
    constexpr std::int64_t block = row_block<T>;
    auto* const walk = LOCUS_CHOSEN(nn::host, row_walk<Rule, T, Numbers, K...>::run);
    std::int64_t const blocks = (t.elements + block - 1) / block;
    int const threads =
        locus::host::threads_for(2 * Numbers * t.elements * std::int64_t(sizeof(T)));
    if (threads == 1) return walk(rule, t, 0, t.elements);
    std::int64_t const part = (blocks + threads - 1) / threads * block;
    parallel_for(threads, threads, [&](int task) {
      std::int64_t const first = task * part;
      std::int64_t const last = first + part < t.elements ? first + part : t.elements;
      if (first < last) walk(rule, t, first, last);
    });
  }(std::make_index_sequence<std::size_t(Numbers)>{});
}

}  // namespace LOCUS_MODE
}  // namespace locus::nn::host
#elif defined(LOCUS_CLONE)
LOCUS_VECTORS_BEGIN
namespace LOCUS_SPACE(nn::host) {

template <class Rule, class T, int Numbers, std::size_t... K>
class row_walk {
 public:
  using here = nn::rule_here<Rule>;
  static constexpr int N = here::bytes / int(sizeof(T));
  // rows are short: stores of half a cache line cross into the next line less often
  static constexpr int L = N < 32 / int(sizeof(T)) ? N : 32 / int(sizeof(T));
  static constexpr std::int64_t block = row_block<T>;

  /// means: applies the rule to elements [first, last), block by block
  [[gnu::noinline]] static void run(Rule const& given, row_gradient<T, Numbers> const& t,
                                    std::int64_t first, std::int64_t last) {
    if (t.dense) return step(given, t, t.dense + first, first, last - first);
    alignas(64) T g[block + N];
    std::int64_t next = t.count > 0 ? first_not_below(t.rows, t.count, first / t.width) : 0;
    for (std::int64_t at = first; at < last; at += block) {
      std::int64_t const n = last - at < block ? last - at : block;
      __builtin_memset(g, 0, sizeof g);
      next = place(t, g, next, at, n);
      step(given, t, g, at, n);
    }
  }

 private:
  /// means: writes the gradients of rows k, k + 1, ... into the block at `at`; returns the number
  ///        of the first row for the next block
  static std::int64_t place(row_gradient<T, Numbers> const& t, T* g, std::int64_t k,
                            std::int64_t at, std::int64_t n) {
    std::int64_t const width = t.width, end = t.count * width, over = width % L;
    using lanes = simd::packet<simd::signed_of<int(sizeof(T))>, L>;
    auto const inside = simd::less(simd::lane_numbers<typename lanes::type, L>(),
                                   simd::broadcast<L>(typename lanes::type(over)));
    for (; k < t.count; ++k) {
      std::int64_t const row = t.rows[k] * width, from = k * width;
      if (row >= at + n) break;
      if (row >= at && row + width <= at + n && from + width + L <= end) {
        // whole packets; the last one also writes zeros at the beginning of the next row
        std::int64_t e = 0;
        for (; e + L <= width; e += L)
          simd::store(g + (row - at) + e, simd::load<L>(t.values + from + e));
        if (over)
          simd::store(g + (row - at) + e, simd::select(inside, simd::load<L>(t.values + from + e),
                                                       simd::packet<T, L>{}));
        continue;
      }
      std::int64_t const begin = row > at ? row : at;
      std::int64_t const stop = row + width < at + n ? row + width : at + n;
      for (std::int64_t e = begin; e < stop; ++e) g[e - at] = t.values[from + (e - row)];
      if (row + width > at + n) break;
    }
    return k;
  }
  LOCUS_VECTOR_FUNCTION static void one(typename here::type const& rule, T scale,
                                        T const* const* from, T* const* to, T const* g) {
    simd::vector<T, N> x[] = {simd::load<N>(from[K]).v...};
    rule(x, scale * simd::load<N>(g).v);
    (simd::store(to[K], simd::packet<T, N>{x[K]}), ...);
  }
  static void step(Rule const& given, row_gradient<T, Numbers> const& t, T const* g,
                   std::int64_t at, std::int64_t n) {
    // local copies: the compiler knows that no store changes them
    auto const rule = __builtin_bit_cast(typename here::type, given);
    T const scale = t.scale;
    T const* const from[] = {t.from[K] + at...};
    T* const to[] = {t.to[K] + at...};
    std::int64_t j = 0;
    for (; j + N <= n; j += N) {
      T const* const f[] = {from[K] + j...};
      T* const o[] = {to[K] + j...};
      one(rule, scale, f, o, g + j);
    }
    if (j == n) return;
    // the end of the table goes through buffers, so that the same packets compute it
    alignas(64) T buffer[Numbers + 1][N]{};
    std::size_t const bytes = std::size_t(n - j) * sizeof(T);
    (__builtin_memcpy(buffer[K], from[K] + j, bytes), ...);
    __builtin_memcpy(buffer[Numbers], g + j, bytes);
    T const* const f[] = {buffer[K]...};
    T* const o[] = {buffer[K]...};
    one(rule, scale, f, o, buffer[Numbers]);
    (__builtin_memcpy(to[K] + j, buffer[K], bytes), ...);
  }
};

}  // namespace LOCUS_SPACE(nn::host)
LOCUS_VECTORS_END
#endif
