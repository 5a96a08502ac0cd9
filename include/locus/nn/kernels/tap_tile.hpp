// SPDX-License-Identifier: Apache-2.0
// The innermost kernels of convolutions: sums for a few pixels and one or two registers of
// channels, which stay in registers while all elements of the window are added. Compiled for
// several instruction sets, as the tile of a matrix product.
#pragma once
#include <cstdint>  // int64_t
#include <utility>  // integer_sequence

#include <locus/engine/host/isa_table.hpp>  // LOCUS_FOR_EACH_ISA, isa_table, by_rows

LOCUS_VECTORS_BEGIN
namespace locus::nn::host {
inline namespace LOCUS_MODE {

/// The end of a sum, before it is stored: plus a bias for each filter (null: none), then bounds.
template <class T>
struct store_rule {
  T const* bias = nullptr;
  bool clamp = false;
  T low{}, high{};
};

/// means: sum: c[i][j] = clamp(bias[j] + sum over s < segments, p < k of
///          a[offset[s] + i * a_row + p * a_k] * b[(s * k + p) * b_k + j])
///        channels: c[i][j] = clamp(bias[j] + sum over s of a[offset[s] + i * a_row + j] * b[s * b_k + j])
///        taps: c[i][j] = sum over s < segments, p < k of
///          a[offset[i] + s * a_row + p * a_k + j] * b[(s * k + p) * b_k + j]
///        for the rows i and columns j of one tile; c += instead of c = if `accumulate`     units:
///        elements
template <class T>
struct tap_call {
  T const* a;
  T const* b;
  T* c;
  std::int64_t const* offset;
  std::int64_t segments, k, a_row, a_k, b_k, c_row;
  store_rule<T> rule = {};
  bool accumulate = false;
};

namespace detail {

// These macros call no helper and no lambda: the compiler would not compile those for the tile's
// instruction set.
#define LOCUS_TAP_BEGIN(bytes)                       \
  constexpr int lanes = bytes / int(sizeof(T));      \
  typedef T reg __attribute__((vector_size(bytes))); \
  typedef T memory __attribute__((vector_size(bytes), aligned(sizeof(T)), may_alias));
#define LOCUS_TAP_LOAD(p) (*reinterpret_cast<memory const*>(p))
#define LOCUS_TAP_STORE(p, x) (*reinterpret_cast<memory*>(p) = (x))
#define LOCUS_TAP_CLAMP(x) (x = x < low ? low : x, x = x > high ? high : x)

template <class Isa>
struct tap_kernels;
#define LOCUS_TAP_TILE(isa, target)                                                                \
  template <>                                                                                      \
  struct tap_kernels<isa> {                                                                        \
    template <class T, int Vectors, int... Row>                                                    \
    target static void sums(tap_call<T> const& t) {                                                \
      LOCUS_TAP_BEGIN(isa::bytes)                                                                  \
      constexpr int rows = sizeof...(Row);                                                         \
      reg sum[rows]{}, more[rows]{};                                                               \
      if (t.rule.bias) {                                                                           \
        reg const first = LOCUS_TAP_LOAD(t.rule.bias);                                             \
        ((sum[Row] = first), ...);                                                                 \
        if constexpr (Vectors == 2) {                                                              \
          reg const second = LOCUS_TAP_LOAD(t.rule.bias + lanes);                                  \
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
            ((x = a[Row * a_row] - reg{}, sum[Row] = isa::fused(x, b0, sum[Row]),                  \
              more[Row] = isa::fused(x, b1, more[Row])),                                           \
             ...);                                                                                 \
          } else                                                                                   \
            ((sum[Row] = isa::fused(a[Row * a_row] - reg{}, b0, sum[Row])), ...);                  \
          a += a_k, b += b_k;                                                                      \
        }                                                                                          \
      }                                                                                            \
      T* const c = t.c;                                                                            \
      if (t.accumulate) {                                                                          \
        ((sum[Row] += LOCUS_TAP_LOAD(c + Row * c_row)), ...);                                      \
        if constexpr (Vectors == 2) ((more[Row] += LOCUS_TAP_LOAD(c + Row * c_row + lanes)), ...); \
      }                                                                                            \
      if (t.rule.clamp) {                                                                          \
        reg const low = t.rule.low - reg{}, high = t.rule.high - reg{};                            \
        (LOCUS_TAP_CLAMP(sum[Row]), ...);                                                          \
        if constexpr (Vectors == 2) (LOCUS_TAP_CLAMP(more[Row]), ...);                             \
      }                                                                                            \
      (LOCUS_TAP_STORE(c + Row * c_row, sum[Row]), ...);                                           \
      if constexpr (Vectors == 2) (LOCUS_TAP_STORE(c + Row * c_row + lanes, more[Row]), ...);      \
    }                                                                                              \
    template <class T, int... Row>                                                                 \
    target static void channels(tap_call<T> const& t) {                                            \
      LOCUS_TAP_BEGIN(isa::bytes)                                                                  \
      constexpr int rows = sizeof...(Row);                                                         \
      reg sum[rows]{};                                                                             \
      if (t.rule.bias) {                                                                           \
        reg const first = LOCUS_TAP_LOAD(t.rule.bias);                                             \
        ((sum[Row] = first), ...);                                                                 \
      }                                                                                            \
      std::int64_t const a_row = t.a_row, c_row = t.c_row;                                         \
      T const* b = t.b;                                                                            \
      for (std::int64_t s = 0; s < t.segments; ++s, b += t.b_k) {                                  \
        T const* const a = t.a + t.offset[s];                                                      \
        reg const b0 = LOCUS_TAP_LOAD(b);                                                          \
        ((sum[Row] = isa::fused(LOCUS_TAP_LOAD(a + Row * a_row), b0, sum[Row])), ...);             \
      }                                                                                            \
      if (t.rule.clamp) {                                                                          \
        reg const low = t.rule.low - reg{}, high = t.rule.high - reg{};                            \
        (LOCUS_TAP_CLAMP(sum[Row]), ...);                                                          \
      }                                                                                            \
      (LOCUS_TAP_STORE(t.c + Row * c_row, sum[Row]), ...);                                         \
      (void)lanes;                                                                                 \
    }                                                                                              \
    template <class T, int... Row>                                                                 \
    target static void taps(tap_call<T> const& t) {                                                \
      LOCUS_TAP_BEGIN(isa::bytes)                                                                  \
      constexpr int rows = sizeof...(Row);                                                         \
      reg sum[rows]{};                                                                             \
      T const* const from[rows] = {(t.a + t.offset[Row])...};                                      \
      std::int64_t const a_k = t.a_k, b_k = t.b_k;                                                 \
      T const* b = t.b;                                                                            \
      for (std::int64_t s = 0; s < t.segments; ++s) {                                              \
        std::int64_t at = s * t.a_row;                                                             \
        for (std::int64_t p = 0; p < t.k; ++p, at += a_k, b += b_k) {                              \
          reg const b0 = LOCUS_TAP_LOAD(b);                                                        \
          ((sum[Row] = isa::fused(LOCUS_TAP_LOAD(from[Row] + at), b0, sum[Row])), ...);            \
        }                                                                                          \
      }                                                                                            \
      T* const c = t.c;                                                                            \
      if (t.accumulate) ((sum[Row] += LOCUS_TAP_LOAD(c + Row * t.c_row)), ...);                    \
      (LOCUS_TAP_STORE(c + Row * t.c_row, sum[Row]), ...);                                         \
      (void)lanes;                                                                                 \
    }                                                                                              \
  };
LOCUS_FOR_EACH_ISA(LOCUS_TAP_TILE)
#undef LOCUS_TAP_TILE
#undef LOCUS_TAP_BEGIN
#undef LOCUS_TAP_LOAD
#undef LOCUS_TAP_STORE
#undef LOCUS_TAP_CLAMP

}  // namespace detail

/// means: the tiles of one instruction set
template <class T>
struct tap_tiles {
  using by_rows = ::locus::host::by_rows<tap_call<T>>;
  int lanes;        // of one register
  by_rows sums[2];  // [registers - 1]
  by_rows channels, taps;

  template <class Isa>
  static constexpr tap_tiles of() {
    using by = detail::tap_kernels<Isa>;
    constexpr auto one = []<int... Row>(std::integer_sequence<int, Row...>) {
      return &by::template sums<T, 1, Row...>;
    };
    constexpr auto two = []<int... Row>(std::integer_sequence<int, Row...>) {
      return &by::template sums<T, 2, Row...>;
    };
    constexpr auto channels = []<int... Row>(std::integer_sequence<int, Row...>) {
      return &by::template channels<T, Row...>;
    };
    constexpr auto taps = []<int... Row>(std::integer_sequence<int, Row...>) {
      return &by::template taps<T, Row...>;
    };
    constexpr int wide = Isa::registers / 4;
    return {Isa::bytes / int(sizeof(T)),
            {by_rows::template make<8, 4>(one), by_rows::template make<wide, wide / 2>(two)},
            by_rows::template make<4, 2>(channels),
            by_rows::template make<9, 3>(taps)};
  }
};

/// means: the tiles for results of so many channels
template <class T>
tap_tiles<T> const& tap_tiles_for(std::int64_t channels) {
  auto const& found = ::locus::host::isa_tables<tap_tiles<T>>();
  return channels >= found.wide.lanes ? found.wide : found.narrow;
}

}  // namespace LOCUS_MODE
}  // namespace locus::nn::host
LOCUS_VECTORS_END
