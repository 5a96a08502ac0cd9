// SPDX-License-Identifier: Apache-2.0
// The innermost kernel of a matrix product: one tile of the result, held in registers during the
// sum. It is compiled for several instruction sets, independent of the unit's flags; the processor
// decides at the first product, as in a BLAS.
#pragma once
#include <cstdint>      // int64_t
#include <type_traits>  // make_unsigned
#include <utility>      // integer_sequence

#include <locus/shape/element.hpp>      // is_integer_v
#include <locus/simd/instructions.hpp>  // instructions_now
#include <locus/simd/native.hpp>        // vector, LOCUS_VECTORS_BEGIN

// LOCUS_FOR_AVX512, _AVX2, _ANY: attributes that compile a function for these instructions; with
// g++ it is optimised even in a unit without optimisation.
#if defined(__clang__)
#define LOCUS_FOR_ANY
#else
#define LOCUS_FOR_ANY [[gnu::optimize("O2")]]
#endif
#if defined(__x86_64__)
#define LOCUS_FOR_AVX512 \
  LOCUS_FOR_ANY [[gnu::target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")]]
#define LOCUS_FOR_AVX2 LOCUS_FOR_ANY [[gnu::target("avx2,fma")]]
#endif

LOCUS_VECTORS_BEGIN
namespace locus::host {
inline namespace LOCUS_MODE {

/// means: c[i][j] = sum over p < k of a[i * a_row + p * a_k] * b[p * b_k + j], or += with
///        accumulate, for the rows and columns of one tile     units: elements
template <class T>
struct tile_call {
  T const* a;
  T const* b;
  T* c;
  std::int64_t k, a_row, a_k, b_k, c_row;
  bool accumulate;
};

/// The members of a tile_call that are constants; 0: not a constant.
template <int K, int ARow, int AK, int BK, int CRow>
struct known_steps {
  static constexpr std::int64_t k = K, a_row = ARow, a_k = AK, b_k = BK, c_row = CRow;
};
using any_steps = known_steps<0, 0, 0, 0, 0>;

namespace detail {

/// integers wrap: unsigned arithmetic
template <class T>
struct tile_number {
  using type = T;
};
template <class T>
  requires is_integer_v<T>
struct tile_number<T> {
  using type = std::make_unsigned_t<T>;
};

// c + a * b, rounded once where there is an instruction for it; the template leaves other vectors
// to the compiler. The front end of nvcc knows none of these builtins.
#define LOCUS_FUSED(target, vector_type, expression)                                   \
  target [[gnu::always_inline]] inline vector_type fused(vector_type a, vector_type b, \
                                                         vector_type c) {              \
    return expression;                                                                 \
  }
#define LOCUS_FUSED_REST(target)                                \
  template <class V>                                            \
  target [[gnu::always_inline]] inline V fused(V a, V b, V c) { \
    return c + a * b;                                           \
  }
#if defined(__x86_64__)
using f32x16 = simd::vector<float, 16>;
using f64x8 = simd::vector<double, 8>;
using f32x8 = simd::vector<float, 8>;
using f64x4 = simd::vector<double, 4>;
#if defined(__clang__)
inline constexpr unsigned short all16 = 0xffff;
inline constexpr unsigned char all8 = 0xff;
#else
inline constexpr short all16 = -1;
inline constexpr char all8 = -1;
#endif
namespace for_avx512 {
LOCUS_FUSED_REST(LOCUS_FOR_AVX512)
#if !defined(__CUDACC__)
LOCUS_FUSED(LOCUS_FOR_AVX512, f32x16, __builtin_ia32_vfmaddps512_mask(a, b, c, all16, 4))
LOCUS_FUSED(LOCUS_FOR_AVX512, f64x8, __builtin_ia32_vfmaddpd512_mask(a, b, c, all8, 4))
#endif
}  // namespace for_avx512
namespace for_avx2 {
LOCUS_FUSED_REST(LOCUS_FOR_AVX2)
#if !defined(__CUDACC__)
LOCUS_FUSED(LOCUS_FOR_AVX2, f32x8, __builtin_ia32_vfmaddps256(a, b, c))
LOCUS_FUSED(LOCUS_FOR_AVX2, f64x4, __builtin_ia32_vfmaddpd256(a, b, c))
#endif
}  // namespace for_avx2
#endif
namespace for_any {
LOCUS_FUSED_REST(LOCUS_FOR_ANY)
}
#undef LOCUS_FUSED
#undef LOCUS_FUSED_REST

/// A tile of sizeof...(Row) rows and Vectors registers of Bytes bytes. It calls no helper and no
/// lambda, since these would be compiled without the tile's instruction set.
#define LOCUS_TILE(name, target, where)                                                  \
  template <class T, int Bytes, int Vectors, class Known, int... Row>                    \
  target void name(tile_call<T> const& t) {                                              \
    using X = typename tile_number<T>::type;                                             \
    constexpr int rows = sizeof...(Row), lanes = Bytes / int(sizeof(T));                 \
    typedef X reg __attribute__((vector_size(Bytes)));                                   \
    typedef X memory __attribute__((vector_size(Bytes), aligned(sizeof(X)), may_alias)); \
    std::int64_t const k = Known::k ? Known::k : t.k;                                    \
    std::int64_t const a_row = Known::a_row ? Known::a_row : t.a_row;                    \
    std::int64_t const a_k = Known::a_k ? Known::a_k : t.a_k;                            \
    std::int64_t const b_k = Known::b_k ? Known::b_k : t.b_k;                            \
    std::int64_t const c_row = Known::c_row ? Known::c_row : t.c_row;                    \
    reg sum[rows]{}, more[rows]{};                                                       \
    if constexpr (Known::a_row == 1) { /* packed: the result lies far away */            \
      (__builtin_prefetch(t.c + Row * c_row, 1), ...);                                   \
      (__builtin_prefetch(t.c + Row * c_row + lanes, 1), ...);                           \
    }                                                                                    \
    X const* a = reinterpret_cast<X const*>(t.a);                                        \
    X const* b = reinterpret_cast<X const*>(t.b);                                        \
    for (std::int64_t p = 0; p < k; ++p) {                                               \
      reg const b0 = *reinterpret_cast<memory const*>(b);                                \
      if constexpr (Known::a_row == 1) __builtin_prefetch(a + 16 * rows);                \
      if constexpr (Vectors == 2) {                                                      \
        reg const b1 = *reinterpret_cast<memory const*>(b + lanes);                      \
        reg x;                                                                           \
        ((x = a[Row * a_row] - reg{}, sum[Row] = where::fused(x, b0, sum[Row]),          \
          more[Row] = where::fused(x, b1, more[Row])),                                   \
         ...);                                                                           \
      } else                                                                             \
        ((sum[Row] = where::fused(a[Row * a_row] - reg{}, b0, sum[Row])), ...);          \
      a += a_k, b += b_k;                                                                \
    }                                                                                    \
    X* const c = reinterpret_cast<X*>(t.c);                                              \
    if (t.accumulate) {                                                                  \
      ((sum[Row] += *reinterpret_cast<memory const*>(c + Row * c_row)), ...);            \
      if constexpr (Vectors == 2)                                                        \
        ((more[Row] += *reinterpret_cast<memory const*>(c + Row * c_row + lanes)), ...); \
    }                                                                                    \
    ((*reinterpret_cast<memory*>(c + Row * c_row) = sum[Row]), ...);                     \
    if constexpr (Vectors == 2)                                                          \
      ((*reinterpret_cast<memory*>(c + Row * c_row + lanes) = more[Row]), ...);          \
  }
#if defined(__x86_64__)
LOCUS_TILE(tile_avx512, LOCUS_FOR_AVX512, for_avx512)
LOCUS_TILE(tile_avx2, LOCUS_FOR_AVX2, for_avx2)
#endif
LOCUS_TILE(tile_any, LOCUS_FOR_ANY, for_any)
#undef LOCUS_TILE

}  // namespace detail

/// means: the tiles of one instruction set
template <class T>
struct tile_set {
  using tile = void (*)(tile_call<T> const&);
  int lanes;        // lanes of a register
  int packed_rows;  // of `packed`, which is two registers wide
  tile packed;
  struct open_tiles {  // of one width, rows falling; the last has one row
    int rows[3];
    tile run[3];
  };
  open_tiles open[2];  // [registers - 1]: read operands in place

  int packed_columns() const { return 2 * lanes; }
};

namespace detail {

// Numbers of rows: the results of a tile, one value of a and one row of b fit in the registers.
#define LOCUS_TILE_SET(name, tile_name, bytes, packed_rows, narrow_rows, wide_rows)         \
  template <class T, int Vectors, class Known, int... Row>                                  \
  constexpr auto name##_of(std::integer_sequence<int, Row...>) {                            \
    return &tile_name<T, bytes, Vectors, Known, Row...>;                                    \
  }                                                                                         \
  template <class T, int Vectors, int Rows>                                                 \
  constexpr typename tile_set<T>::open_tiles name##_open() {                                \
    return {{Rows, Rows / 2, 1},                                                            \
            {name##_of<T, Vectors, any_steps>(std::make_integer_sequence<int, Rows>{}),     \
             name##_of<T, Vectors, any_steps>(std::make_integer_sequence<int, Rows / 2>{}), \
             name##_of<T, Vectors, any_steps>(std::make_integer_sequence<int, 1>{})}};      \
  }                                                                                         \
  template <class T>                                                                        \
  constexpr tile_set<T> name() {                                                            \
    constexpr int lanes = bytes / int(sizeof(T));                                           \
    return {lanes,                                                                          \
            packed_rows,                                                                    \
            name##_of<T, 2, known_steps<0, 1, packed_rows, 2 * lanes, 0>>(                  \
                std::make_integer_sequence<int, packed_rows>{}),                            \
            {name##_open<T, 1, narrow_rows>(), name##_open<T, 2, wide_rows>()}};            \
  }
#if defined(__x86_64__)
LOCUS_TILE_SET(avx512_tiles, tile_avx512, 64, 12, 8, 8)
LOCUS_TILE_SET(avx2_tiles, tile_avx2, 32, 6, 8, 4)
LOCUS_TILE_SET(any_tiles, tile_any, 16, 6, 8, 4)
#else
LOCUS_TILE_SET(any_tiles, tile_any, 16, 12, 8, 8)
#endif
#undef LOCUS_TILE_SET

/// means: the tiles of this processor
template <class T>
struct tile_sets {
  tile_set<T> wide, narrow;  // narrow: for results narrower than a register of `wide`
};
template <class T>
tile_sets<T> find_tile_sets() {
#if defined(__x86_64__)
  static constexpr tile_set<T> avx512 = avx512_tiles<T>(), avx2 = avx2_tiles<T>();
  if constexpr (LOCUS_ISA_AVX512X) return {avx512, avx2};
  static constexpr tile_set<T> any = any_tiles<T>();
  switch (simd::instructions_now()) {
  case simd::instructions::avx512: return {avx512, avx2};
  case simd::instructions::avx2: return {avx2, any};
  default: return {any, any};
  }
#else
  static constexpr tile_set<T> any = any_tiles<T>();
  return {any, any};
#endif
}
template <class T>
tile_sets<T> const& tiles() {
  static tile_sets<T> const found = find_tile_sets<T>();
  return found;
}

}  // namespace detail
}  // namespace LOCUS_MODE
}  // namespace locus::host
LOCUS_VECTORS_END
