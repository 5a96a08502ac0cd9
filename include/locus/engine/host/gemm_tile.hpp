// SPDX-License-Identifier: Apache-2.0
// The innermost kernel of a matrix product: one tile of the result, whose elements stay in
// registers while the sum runs. Compiled for several instruction sets.
#pragma once
#include <cstdint>      // int64_t
#include <type_traits>  // make_unsigned
#include <utility>      // integer_sequence

#include <locus/engine/host/isa_table.hpp>  // LOCUS_FOR_EACH_ISA, isa_table, by_rows
#include <locus/shape/element.hpp>          // is_integer_v

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

/// A tile of sizeof...(Row) rows and Vectors registers of Bytes bytes. No helper and no lambda in it: they
/// would not be compiled for the tile's instruction set.
template <class Isa>
struct gemm_tile;
#define LOCUS_TILE(isa, target)                                                            \
  template <>                                                                              \
  struct gemm_tile<isa> {                                                                  \
    template <class T, int Bytes, int Vectors, class Known, int... Row>                    \
    target static void run(tile_call<T> const& t) {                                        \
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
          ((x = a[Row * a_row] - reg{}, sum[Row] = isa::fused(x, b0, sum[Row]),            \
            more[Row] = isa::fused(x, b1, more[Row])),                                     \
           ...);                                                                           \
        } else                                                                             \
          ((sum[Row] = isa::fused(a[Row * a_row] - reg{}, b0, sum[Row])), ...);            \
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
    }                                                                                      \
  };
LOCUS_FOR_EACH_ISA(LOCUS_TILE)
#undef LOCUS_TILE

}  // namespace detail

/// means: the tiles of one instruction set
template <class T>
struct tile_set {
  using open_tiles = by_rows<tile_call<T>>;
  int lanes;        // of one register
  int packed_rows;  // of `packed`, which has two registers of columns
  void (*packed)(tile_call<T> const&);
  open_tiles open[2];  // [registers - 1]: operands where they lie

  int packed_columns() const { return 2 * lanes; }

  // The registers of results, one of a and one of each register of b are there.
  template <class Isa>
  static constexpr tile_set of() {
    constexpr bool many = Isa::registers == 32;
    constexpr int lanes = Isa::bytes / int(sizeof(T)), rows = many ? 12 : 6, wide = many ? 8 : 4;
    using known = known_steps<0, 1, rows, 2 * lanes, 0>;
    return {lanes,
            rows,
            run<Isa, 2, known>(std::make_integer_sequence<int, rows>{}),
            {open_of<Isa, 1, 8>(), open_of<Isa, 2, wide>()}};
  }

 private:
  template <class Isa, int Vectors, class Known, int... Row>
  static constexpr auto run(std::integer_sequence<int, Row...>) {
    return &detail::gemm_tile<Isa>::template run<T, Isa::bytes, Vectors, Known, Row...>;
  }
  template <class Isa, int Vectors, int Rows>
  static constexpr open_tiles open_of() {
    return open_tiles::template make<Rows, Rows / 2>(
        [](auto each_row) { return run<Isa, Vectors, any_steps>(each_row); });
  }
};

/// narrow: for results that are narrower than a register of `wide`
template <class T>
using tile_sets = isa_table<tile_set<T>>;
template <class T>
tile_sets<T> const& tiles() {
  return isa_tables<tile_set<T>>();
}

}  // namespace LOCUS_MODE
}  // namespace locus::host
LOCUS_VECTORS_END
