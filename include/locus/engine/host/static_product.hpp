// SPDX-License-Identifier: Apache-2.0
// The product of matrices whose extents are part of their types: tiles, loops and strides are
// constants.
#pragma once
#include <locus/engine/host/gemm_tile.hpp>  // tile_call, known_steps
#include <locus/work/matrix.hpp>            // matrix

LOCUS_VECTORS_BEGIN
namespace locus::host {
inline namespace LOCUS_MODE {

/// means: true if the unit is compiled for AVX2 and FMA; otherwise the tiles that are chosen at run
///        time are faster, although their extents are not constants
template <class T>
constexpr bool has_static_product(std::int64_t m, std::int64_t n, std::int64_t k) {
  return LOCUS_ISA_AVX >= 2 && LOCUS_ISA_FMA && is_floating_v<T> && !is_narrow_v<T> && m >= 1 &&
         k >= 1 && m <= 64 && n <= 64 && k <= 64 && n * std::int64_t(sizeof(T)) >= 16;
}

/// means: c = a b; all three are contiguous and row-major, no extent is larger than 64
template <class T, kernel::product_extents E>
struct static_product {
  static constexpr int register_bytes() {
    int fits = simd::native_bytes;
    while (fits > E.n * int(sizeof(T))) fits /= 2;
    return fits;
  }
  static constexpr int bytes = register_bytes(), lanes = bytes / int(sizeof(T));
  static constexpr int registers = E.n >= 2 * lanes ? 2 : 1;
  static constexpr int most_rows = registers == 1 || LOCUS_ISA_AVX512X ? 8 : 4;
  static constexpr int rows = E.m < most_rows ? E.m : most_rows;
  using known = known_steps<E.k, E.k, 1, E.n, E.n>;

  template <int Registers, int... Row>
  static void tile(tile_call<T> const& t, std::integer_sequence<int, Row...>) {
#if LOCUS_ISA_AVX512X
    detail::gemm_tile<isa_avx512>::template run<T, bytes, Registers, known, Row...>(t);
#elif LOCUS_ISA_AVX >= 2
    detail::gemm_tile<isa_avx2>::template run<T, bytes, Registers, known, Row...>(t);
#else
    static_cast<void>(t);
#endif
  }
  /// means: columns [j, j + Registers * lanes); the last tile of rows overlaps the one before it
  template <int Registers>
  static void columns(T* c, T const* a, T const* b, int j) {
    for (int i = 0; i < E.m; i += rows) {
      int const at = i + rows <= E.m ? i : E.m - rows;
      tile_call<T> const t{a + at * E.k, b + j, c + at * E.n + j, 0, 0, 0, 0, 0, false};
      tile<Registers>(t, std::make_integer_sequence<int, rows>{});
    }
  }
  static void run(T* c, T const* a, T const* b) {
    constexpr int wide = registers * lanes, left = E.n % wide;
    for (int j = 0; j + wide <= E.n; j += wide) columns<registers>(c, a, b, j);
    if constexpr (left > lanes)
      columns<registers>(c, a, b, E.n - wide);
    else if constexpr (left > 0)
      columns<1>(c, a, b, E.n - lanes);
  }

  static bool fits(kernel::matrix const& c, kernel::matrix const& a, kernel::matrix const& b) {
    auto dense = [](kernel::matrix const& m) {
      return (m.columns == 1 || m.column_stride == 1) && (m.rows == 1 || m.row_stride == m.columns);
    };
    return dense(c) && dense(a) && dense(b);
  }
};

}  // namespace LOCUS_MODE
}  // namespace locus::host
LOCUS_VECTORS_END
