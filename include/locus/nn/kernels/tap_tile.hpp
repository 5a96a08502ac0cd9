// SPDX-License-Identifier: Apache-2.0
// The innermost kernels of convolutions: a few pixels times one or two registers of channels, whose
// sums stay in registers while all elements of the window are added. Compiled for several
// instruction sets, as the tile of a matrix product is.
#pragma once
#include <locus/engine/host/gemm_tile.hpp>  // LOCUS_FOR_AVX512, fused

LOCUS_VECTORS_BEGIN
namespace locus::nn::host {
inline namespace LOCUS_MODE {

/// means: sum: c[i][j] = clamp(bias[j] + sum over s < segments, p < k of
///          a[offset[s] + i * a_row + p * a_k] * b[(s * k + p) * b_k + j])
///        channels: c[i][j] = clamp(bias[j] + sum over s of a[offset[s] + i * a_row + j] * b[s * b_k + j])
///        taps: c[i][j] = sum over s < segments, p < k of
///          a[offset[i] + s * a_row + p * a_k + j] * b[(s * k + p) * b_k + j]
///        for the rows i and columns j of one tile; c += where `accumulate`     units: elements
template <class T>
struct tap_call {
  T const* a;
  T const* b;
  T* c;
  std::int64_t const* offset;
  std::int64_t segments, k, a_row, a_k, b_k, c_row;
  T const* bias;  // null: none
  T low, high;
  bool accumulate, clamp;
};

namespace detail {

namespace for_any = ::locus::host::detail::for_any;
#if defined(__x86_64__)
namespace for_avx2 = ::locus::host::detail::for_avx2;
namespace for_avx512 = ::locus::host::detail::for_avx512;
#endif

// No helper and no lambda in them: they would not be compiled for the tile's instruction set.
#define LOCUS_TAP_BEGIN                              \
  constexpr int lanes = Bytes / int(sizeof(T));      \
  typedef T reg __attribute__((vector_size(Bytes))); \
  typedef T memory __attribute__((vector_size(Bytes), aligned(sizeof(T)), may_alias));
#define LOCUS_TAP_LOAD(p) (*reinterpret_cast<memory const*>(p))
#define LOCUS_TAP_STORE(p, x) (*reinterpret_cast<memory*>(p) = (x))
#define LOCUS_TAP_CLAMP(x) (x = x < low ? low : x, x = x > high ? high : x)

#define LOCUS_TAP_TILE(name, target, where)                                                      \
  template <class T, int Bytes, int Vectors, int... Row>                                         \
  target void name(tap_call<T> const& t) {                                                       \
    LOCUS_TAP_BEGIN                                                                              \
    constexpr int rows = sizeof...(Row);                                                         \
    reg sum[rows]{}, more[rows]{};                                                               \
    if (t.bias) {                                                                                \
      reg const first = LOCUS_TAP_LOAD(t.bias);                                                  \
      ((sum[Row] = first), ...);                                                                 \
      if constexpr (Vectors == 2) {                                                              \
        reg const second = LOCUS_TAP_LOAD(t.bias + lanes);                                       \
        ((more[Row] = second), ...);                                                             \
      }                                                                                          \
    }                                                                                            \
    std::int64_t const a_row = t.a_row, a_k = t.a_k, b_k = t.b_k, c_row = t.c_row;               \
    T const* b = t.b;                                                                            \
    for (std::int64_t s = 0; s < t.segments; ++s) {                                              \
      T const* a = t.a + t.offset[s];                                                            \
      for (std::int64_t p = 0; p < t.k; ++p) {                                                   \
        reg const b0 = LOCUS_TAP_LOAD(b);                                                        \
        if constexpr (Vectors == 2) {                                                            \
          reg const b1 = LOCUS_TAP_LOAD(b + lanes);                                              \
          reg x;                                                                                 \
          ((x = a[Row * a_row] - reg{}, sum[Row] = where::fused(x, b0, sum[Row]),                \
            more[Row] = where::fused(x, b1, more[Row])),                                         \
           ...);                                                                                 \
        } else                                                                                   \
          ((sum[Row] = where::fused(a[Row * a_row] - reg{}, b0, sum[Row])), ...);                \
        a += a_k, b += b_k;                                                                      \
      }                                                                                          \
    }                                                                                            \
    T* const c = t.c;                                                                            \
    if (t.accumulate) {                                                                          \
      ((sum[Row] += LOCUS_TAP_LOAD(c + Row * c_row)), ...);                                      \
      if constexpr (Vectors == 2) ((more[Row] += LOCUS_TAP_LOAD(c + Row * c_row + lanes)), ...); \
    }                                                                                            \
    if (t.clamp) {                                                                               \
      reg const low = t.low - reg{}, high = t.high - reg{};                                      \
      (LOCUS_TAP_CLAMP(sum[Row]), ...);                                                          \
      if constexpr (Vectors == 2) (LOCUS_TAP_CLAMP(more[Row]), ...);                             \
    }                                                                                            \
    (LOCUS_TAP_STORE(c + Row * c_row, sum[Row]), ...);                                           \
    if constexpr (Vectors == 2) (LOCUS_TAP_STORE(c + Row * c_row + lanes, more[Row]), ...);      \
  }                                                                                              \
  template <class T, int Bytes, int... Row>                                                      \
  target void name##_channels(tap_call<T> const& t) {                                            \
    LOCUS_TAP_BEGIN                                                                              \
    constexpr int rows = sizeof...(Row);                                                         \
    reg sum[rows]{};                                                                             \
    if (t.bias) {                                                                                \
      reg const first = LOCUS_TAP_LOAD(t.bias);                                                  \
      ((sum[Row] = first), ...);                                                                 \
    }                                                                                            \
    std::int64_t const a_row = t.a_row, c_row = t.c_row;                                         \
    T const* b = t.b;                                                                            \
    for (std::int64_t s = 0; s < t.segments; ++s, b += t.b_k) {                                  \
      T const* const a = t.a + t.offset[s];                                                      \
      reg const b0 = LOCUS_TAP_LOAD(b);                                                          \
      ((sum[Row] = where::fused(LOCUS_TAP_LOAD(a + Row * a_row), b0, sum[Row])), ...);           \
    }                                                                                            \
    if (t.clamp) {                                                                               \
      reg const low = t.low - reg{}, high = t.high - reg{};                                      \
      (LOCUS_TAP_CLAMP(sum[Row]), ...);                                                          \
    }                                                                                            \
    (LOCUS_TAP_STORE(t.c + Row * c_row, sum[Row]), ...);                                         \
    (void)lanes;                                                                                 \
  }                                                                                              \
  template <class T, int Bytes, int... Row>                                                      \
  target void name##_taps(tap_call<T> const& t) {                                                \
    LOCUS_TAP_BEGIN                                                                              \
    constexpr int rows = sizeof...(Row);                                                         \
    reg sum[rows]{};                                                                             \
    T const* const from[rows] = {(t.a + t.offset[Row])...};                                      \
    std::int64_t const a_k = t.a_k, b_k = t.b_k;                                                 \
    T const* b = t.b;                                                                            \
    for (std::int64_t s = 0; s < t.segments; ++s) {                                              \
      std::int64_t at = s * t.a_row;                                                             \
      for (std::int64_t p = 0; p < t.k; ++p, at += a_k, b += b_k) {                              \
        reg const b0 = LOCUS_TAP_LOAD(b);                                                        \
        ((sum[Row] = where::fused(LOCUS_TAP_LOAD(from[Row] + at), b0, sum[Row])), ...);          \
      }                                                                                          \
    }                                                                                            \
    T* const c = t.c;                                                                            \
    if (t.accumulate) ((sum[Row] += LOCUS_TAP_LOAD(c + Row * t.c_row)), ...);                    \
    (LOCUS_TAP_STORE(c + Row * t.c_row, sum[Row]), ...);                                         \
    (void)lanes;                                                                                 \
  }
#if defined(__x86_64__)
LOCUS_TAP_TILE(tap_avx512, LOCUS_FOR_AVX512, for_avx512)
LOCUS_TAP_TILE(tap_avx2, LOCUS_FOR_AVX2, for_avx2)
#endif
LOCUS_TAP_TILE(tap_any, LOCUS_FOR_ANY, for_any)
#undef LOCUS_TAP_TILE
#undef LOCUS_TAP_BEGIN
#undef LOCUS_TAP_LOAD
#undef LOCUS_TAP_STORE
#undef LOCUS_TAP_CLAMP

}  // namespace detail

/// means: the tiles of one instruction set
template <class T>
struct tap_tiles {
  using tile = void (*)(tap_call<T> const&);
  struct by_rows {  // falling; the last has one row
    int rows[3];
    tile run[3];
  };
  int lanes;        // of one register
  by_rows sums[2];  // [registers - 1]
  by_rows channels, taps;
};

namespace detail {

#define LOCUS_TAP_TILES(name, tile_name, bytes, narrow_rows, wide_rows)         \
  template <class T, int Vectors, int... Row>                                   \
  constexpr auto name##_sum(std::integer_sequence<int, Row...>) {               \
    return &tile_name<T, bytes, Vectors, Row...>;                               \
  }                                                                             \
  template <class T, int... Row>                                                \
  constexpr auto name##_channels(std::integer_sequence<int, Row...>) {          \
    return &tile_name##_channels<T, bytes, Row...>;                             \
  }                                                                             \
  template <class T, int... Row>                                                \
  constexpr auto name##_taps(std::integer_sequence<int, Row...>) {              \
    return &tile_name##_taps<T, bytes, Row...>;                                 \
  }                                                                             \
  template <class T>                                                            \
  constexpr tap_tiles<T> name() {                                               \
    using std::make_integer_sequence;                                           \
    return {bytes / int(sizeof(T)),                                             \
            {{{narrow_rows, narrow_rows / 2, 1},                                \
              {name##_sum<T, 1>(make_integer_sequence<int, narrow_rows>{}),     \
               name##_sum<T, 1>(make_integer_sequence<int, narrow_rows / 2>{}), \
               name##_sum<T, 1>(make_integer_sequence<int, 1>{})}},             \
             {{wide_rows, wide_rows / 2, 1},                                    \
              {name##_sum<T, 2>(make_integer_sequence<int, wide_rows>{}),       \
               name##_sum<T, 2>(make_integer_sequence<int, wide_rows / 2>{}),   \
               name##_sum<T, 2>(make_integer_sequence<int, 1>{})}}},            \
            {{4, 2, 1},                                                         \
             {name##_channels<T>(make_integer_sequence<int, 4>{}),              \
              name##_channels<T>(make_integer_sequence<int, 2>{}),              \
              name##_channels<T>(make_integer_sequence<int, 1>{})}},            \
            {{9, 3, 1},                                                         \
             {name##_taps<T>(make_integer_sequence<int, 9>{}),                  \
              name##_taps<T>(make_integer_sequence<int, 3>{}),                  \
              name##_taps<T>(make_integer_sequence<int, 1>{})}}};               \
  }
#if defined(__x86_64__)
LOCUS_TAP_TILES(avx512_taps, tap_avx512, 64, 8, 8)
LOCUS_TAP_TILES(avx2_taps, tap_avx2, 32, 8, 4)
LOCUS_TAP_TILES(any_taps, tap_any, 16, 8, 4)
#else
LOCUS_TAP_TILES(any_taps, tap_any, 16, 8, 8)
#endif
#undef LOCUS_TAP_TILES

/// means: the tiles of this processor; narrow: for results that are narrower than a register of `wide`
template <class T>
struct tap_sets {
  tap_tiles<T> wide, narrow;
};
template <class T>
tap_sets<T> find_tap_sets() {
  static constexpr tap_tiles<T> any = any_taps<T>();
#if defined(__x86_64__)
  static constexpr tap_tiles<T> avx512 = avx512_taps<T>(), avx2 = avx2_taps<T>();
  switch (::locus::host::detail::tiles<T>().wide.lanes * int(sizeof(T))) {
  case 64: return {avx512, avx2};
  case 32: return {avx2, any};
  default: break;
  }
#endif
  return {any, any};
}

}  // namespace detail

/// means: the tiles for results of so many channels
template <class T>
tap_tiles<T> const& tap_tiles_for(std::int64_t channels) {
  static detail::tap_sets<T> const found = detail::find_tap_sets<T>();
  return channels >= found.wide.lanes ? found.wide : found.narrow;
}

}  // namespace LOCUS_MODE
}  // namespace locus::nn::host
LOCUS_VECTORS_END
