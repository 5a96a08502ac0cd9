// SPDX-License-Identifier: Apache-2.0
// What a convolution needs beside the tiles of a matrix product: rows of results become rows of a
// pool while they lie in the first cache, and back; and the tile for gradients of weights behind a
// pool of two. Compiled for several instruction sets as those tiles are.
#pragma once
#include <cstdint>      // int32_t, int64_t
#include <type_traits>  // conditional
#include <utility>      // integer_sequence

#include <locus/backend/host/gemm_tile.hpp>  // tile_call, LOCUS_FOR_AVX512, for_avx512::fused

LOCUS_VECTORS_BEGIN
namespace locus::nn::host {
inline namespace LOCUS_MODE {

/// means: y[i][j] = the largest of c[size i + p][j] + bias[j], p < size, at least 0 with relu;
///        winner[i][j] = 1 + the first p that has it, 0 where relu gives 0; NaN is larger than all
/// shape: c and bias are padded to whole registers; winner, if any, as y
template <class T>
struct pool_call {
  T const* c;
  std::int64_t c_row;
  T const* bias;
  T* y;
  unsigned char* winner;
  std::int64_t y_row, rows, columns, size;
  bool relu;
};
/// means: the gradient of what pool_call read: d[size i + p][j] = winner[i][j] == 1 + p ? dy[i][j] : 0;
///        of a pool of one with relu dy where y is not 0; bias[j] += all of them
/// shape: d and bias are padded to whole registers
template <class T>
struct unpool_call {
  T const* dy;
  T const* y;
  unsigned char const* winner;
  T* d;
  T* bias;
  std::int64_t y_row, d_row, rows, columns, size;
  bool relu;
};
/// means: c[i][j] += sum over p < k of g * x, where of d[2 p][j] and d[2 p + 1][j] one at least is 0,
///        g is the other and x = a[(2 p) * a_k + i] or a[(2 p + 1) * a_k + i] as g came
/// cost:  one multiplication and one choice instead of two multiplications
template <class T>
struct pair_call {
  T const* a;
  T const* d;
  T* c;
  std::int64_t k, a_k, d_row, c_row;
};

namespace detail {

template <int Bytes>
using lane_number = std::conditional_t<Bytes == 4, std::int32_t, std::int64_t>;

#define LOCUS_POOL_LINES(name, target)                                                            \
  template <class T, int Bytes>                                                                   \
  target void name##_pool(pool_call<T> const& t) {                                                \
    using N = lane_number<int(sizeof(T))>;                                                        \
    constexpr int lanes = Bytes / int(sizeof(T));                                                 \
    typedef T reg __attribute__((vector_size(Bytes)));                                            \
    typedef N number __attribute__((vector_size(Bytes)));                                         \
    using marks = simd::vector<unsigned char, lanes>; /* by steps: else lane by lane in g++ */    \
    using halves = simd::vector<unsigned short, lanes>;                                           \
    using words = simd::vector<std::int32_t, lanes>;                                              \
    typedef T memory __attribute__((vector_size(Bytes), aligned(sizeof(T)), may_alias));          \
    for (std::int64_t i = 0; i < t.rows; ++i) {                                                   \
      T const* const c = t.c + i * t.size * t.c_row;                                              \
      for (std::int64_t j = 0; j < t.columns; j += lanes) {                                       \
        reg const bias = *reinterpret_cast<memory const*>(t.bias + j);                            \
        reg best = *reinterpret_cast<memory const*>(c + j) + bias;                                \
        number won = number{} + 1;                                                                \
        for (std::int64_t p = 1; p < t.size; ++p) {                                               \
          reg const v = *reinterpret_cast<memory const*>(c + p * t.c_row + j) + bias;             \
          number const larger = ((v > best) | (v != v)) & (best == best);                         \
          best = larger ? v : best;                                                               \
          won = larger ? number{} + N(p + 1) : won;                                               \
        }                                                                                         \
        if (t.relu) {                                                                             \
          number const off = best <= reg{};                                                       \
          best = off ? reg{} : best;                                                              \
          won = off ? number{} : won;                                                             \
        }                                                                                         \
        std::int64_t const at = i * t.y_row + j;                                                  \
        if (t.columns - j >= lanes) {                                                             \
          *reinterpret_cast<memory*>(t.y + at) = best;                                            \
          if (t.winner) {                                                                         \
            marks const m = __builtin_convertvector(                                              \
                __builtin_convertvector(__builtin_convertvector(won, words), halves), marks);     \
            __builtin_memcpy(t.winner + at, &m, lanes);                                           \
          }                                                                                       \
        } else                                                                                    \
          for (std::int64_t l = 0; l < t.columns - j; ++l) {                                      \
            t.y[at + l] = best[l];                                                                \
            if (t.winner) t.winner[at + l] = static_cast<unsigned char>(won[l]);                  \
          }                                                                                       \
      }                                                                                           \
    }                                                                                             \
  }                                                                                               \
  template <class T, int Bytes>                                                                   \
  target void name##_unpool(unpool_call<T> const& t) {                                            \
    using N = lane_number<int(sizeof(T))>;                                                        \
    constexpr int lanes = Bytes / int(sizeof(T));                                                 \
    typedef T reg __attribute__((vector_size(Bytes)));                                            \
    typedef N number __attribute__((vector_size(Bytes)));                                         \
    using marks = simd::vector<unsigned char, lanes>; /* by steps: else lane by lane in g++ */    \
    using halves = simd::vector<unsigned short, lanes>;                                           \
    using words = simd::vector<std::int32_t, lanes>;                                              \
    typedef T memory __attribute__((vector_size(Bytes), aligned(sizeof(T)), may_alias));          \
    for (std::int64_t j = 0; j < t.columns; j += lanes) {                                         \
      bool const whole = t.columns - j >= lanes;                                                  \
      std::int64_t const here = whole ? lanes : t.columns - j;                                    \
      reg sum = *reinterpret_cast<memory const*>(t.bias + j);                                     \
      for (std::int64_t i = 0; i < t.rows; ++i) {                                                 \
        std::int64_t const at = i * t.y_row + j;                                                  \
        T* const d = t.d + i * t.size * t.d_row + j;                                              \
        reg g{}, y{};                                                                             \
        marks m{};                                                                                \
        if (whole) {                                                                              \
          g = *reinterpret_cast<memory const*>(t.dy + at);                                        \
          if (t.winner) __builtin_memcpy(&m, t.winner + at, lanes);                               \
          if (t.y) y = *reinterpret_cast<memory const*>(t.y + at);                                \
        } else                                                                                    \
          for (std::int64_t l = 0; l < here; ++l) {                                               \
            g[l] = t.dy[at + l];                                                                  \
            if (t.winner) m[l] = t.winner[at + l];                                                \
            if (t.y) y[l] = t.y[at + l];                                                          \
          }                                                                                       \
        if (t.winner) {                                                                           \
          number const won = __builtin_convertvector(                                             \
              __builtin_convertvector(__builtin_convertvector(m, halves), words), number);        \
          g = won == number{} ? reg{} : g;                                                        \
          for (std::int64_t p = 0; p < t.size; ++p)                                               \
            *reinterpret_cast<memory*>(d + p * t.d_row) = won == number{} + N(p + 1) ? g : reg{}; \
        } else {                                                                                  \
          if (t.relu) g = y == reg{} ? reg{} : g;                                                 \
          *reinterpret_cast<memory*>(d) = g;                                                      \
        }                                                                                         \
        sum += g;                                                                                 \
      }                                                                                           \
      *reinterpret_cast<memory*>(t.bias + j) = sum;                                               \
    }                                                                                             \
  }

// sizeof...(Row) rows and Vectors registers of columns, as LOCUS_TILE
#define LOCUS_PAIR_TILE(name, target, where)                                                    \
  template <class T, int Bytes, int Vectors, int... Row>                                        \
  target void name(pair_call<T> const& t) {                                                     \
    constexpr int rows = sizeof...(Row), lanes = Bytes / int(sizeof(T));                        \
    typedef T reg __attribute__((vector_size(Bytes)));                                          \
    typedef T memory __attribute__((vector_size(Bytes), aligned(sizeof(T)), may_alias));        \
    std::int64_t const a_k = t.a_k, d_row = t.d_row;                                            \
    reg sum[rows]{}, more[rows]{};                                                              \
    T const *a = t.a, *d = t.d;                                                                 \
    for (std::int64_t p = 0; p < t.k; ++p) {                                                    \
      reg const second = *reinterpret_cast<memory const*>(d + d_row);                           \
      reg const g = *reinterpret_cast<memory const*>(d) + second;                               \
      auto const later = second != reg{};                                                       \
      if constexpr (Vectors == 2) {                                                             \
        reg const second1 = *reinterpret_cast<memory const*>(d + d_row + lanes);                \
        reg const g1 = *reinterpret_cast<memory const*>(d + lanes) + second1;                   \
        auto const later1 = second1 != reg{};                                                   \
        reg x, y;                                                                               \
        ((x = a[Row] - reg{}, y = a[a_k + Row] - reg{},                                         \
          sum[Row] = where::fused(later ? y : x, g, sum[Row]),                                  \
          more[Row] = where::fused(later1 ? y : x, g1, more[Row])),                             \
         ...);                                                                                  \
      } else                                                                                    \
        ((sum[Row] = where::fused(later ? a[a_k + Row] - reg{} : a[Row] - reg{}, g, sum[Row])), \
         ...);                                                                                  \
      a += 2 * a_k, d += 2 * d_row;                                                             \
    }                                                                                           \
    T* const c = t.c;                                                                           \
    ((*reinterpret_cast<memory*>(c + Row * t.c_row) += sum[Row]), ...);                         \
    if constexpr (Vectors == 2)                                                                 \
      ((*reinterpret_cast<memory*>(c + Row * t.c_row + lanes) += more[Row]), ...);              \
  }
#if defined(__x86_64__)
LOCUS_POOL_LINES(avx512, LOCUS_FOR_AVX512)
LOCUS_POOL_LINES(avx2, LOCUS_FOR_AVX2)
LOCUS_PAIR_TILE(pairs_avx512, LOCUS_FOR_AVX512, locus::host::detail::for_avx512)
LOCUS_PAIR_TILE(pairs_avx2, LOCUS_FOR_AVX2, locus::host::detail::for_avx2)
#endif
LOCUS_POOL_LINES(any, LOCUS_FOR_ANY)
LOCUS_PAIR_TILE(pairs_any, LOCUS_FOR_ANY, locus::host::detail::for_any)
#undef LOCUS_POOL_LINES
#undef LOCUS_PAIR_TILE

}  // namespace detail

/// means: the functions of one instruction set
template <class T>
struct conv_tiles {
  void (*pool)(pool_call<T> const&);
  void (*unpool)(unpool_call<T> const&);
  int pair_rows[2];                          // [registers - 1]: of the first, 8 or 4
  void (*pairs[2][2])(pair_call<T> const&);  // the second has 4
};

namespace detail {

#define LOCUS_CONV_TILES(name, lines, tile, bytes, wide_rows)              \
  template <class T, int... Eight, int... Wide, int... Four>               \
  constexpr conv_tiles<T> name(std::integer_sequence<int, Eight...>,       \
                               std::integer_sequence<int, Wide...>,        \
                               std::integer_sequence<int, Four...>) {      \
    return {&lines##_pool<T, bytes>,                                       \
            &lines##_unpool<T, bytes>,                                     \
            {8, wide_rows},                                                \
            {{&tile<T, bytes, 1, Eight...>, &tile<T, bytes, 1, Four...>},  \
             {&tile<T, bytes, 2, Wide...>, &tile<T, bytes, 2, Four...>}}}; \
  }                                                                        \
  template <class T>                                                       \
  constexpr conv_tiles<T> name() {                                         \
    return name<T>(std::make_integer_sequence<int, 8>{},                   \
                   std::make_integer_sequence<int, wide_rows>{},           \
                   std::make_integer_sequence<int, 4>{});                  \
  }
#if defined(__x86_64__)
LOCUS_CONV_TILES(conv_tiles_avx512, avx512, pairs_avx512, 64, 8)
LOCUS_CONV_TILES(conv_tiles_avx2, avx2, pairs_avx2, 32, 4)
#endif
LOCUS_CONV_TILES(conv_tiles_any, any, pairs_any, 16, 4)
#undef LOCUS_CONV_TILES

}  // namespace detail

/// means: the functions for registers of that many bytes: those of the tiles of a product
template <class T>
conv_tiles<T> const& conv_tiles_for(int bytes) {
#if defined(__x86_64__)
  static constexpr conv_tiles<T> avx512 = detail::conv_tiles_avx512<T>(),
                                 avx2 = detail::conv_tiles_avx2<T>();
  if (bytes == 64) return avx512;
  if (bytes == 32) return avx2;
#endif
  static constexpr conv_tiles<T> any = detail::conv_tiles_any<T>();
  return any;
}

}  // namespace LOCUS_MODE
}  // namespace locus::nn::host
LOCUS_VECTORS_END
