// SPDX-License-Identifier: Apache-2.0
// Kernels that are compiled for several instruction sets whatever the unit's flags are, and tables
// of them. When the first kernel runs, the processor decides which table the process uses, as in a
// BLAS.
#pragma once
#include <utility>  // integer_sequence

#include <locus/simd/instructions.hpp>  // instructions_now
#include <locus/simd/native.hpp>        // vector, LOCUS_VECTORS_BEGIN

// LOCUS_FOR_EACH_ISA(DEFINE)     DEFINE(isa, target) for each instruction set of kernels; target:
//                                attributes in front of a function. With g++ they optimise the
//                                function also in units without optimisation
#if defined(__clang__)
#define LOCUS_FOR_ANY
#else
#define LOCUS_FOR_ANY [[gnu::optimize("O2")]]
#endif
#if defined(__x86_64__)
#define LOCUS_FOR_AVX512 \
  LOCUS_FOR_ANY [[gnu::target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")]]
#define LOCUS_FOR_AVX2 LOCUS_FOR_ANY [[gnu::target("avx2,fma")]]
#define LOCUS_FOR_EACH_ISA(DEFINE)                    \
  DEFINE(::locus::host::isa_avx512, LOCUS_FOR_AVX512) \
  DEFINE(::locus::host::isa_avx2, LOCUS_FOR_AVX2)     \
  DEFINE(::locus::host::isa_any, LOCUS_FOR_ANY)
#else
#define LOCUS_FOR_EACH_ISA(DEFINE) DEFINE(::locus::host::isa_any, LOCUS_FOR_ANY)
#endif

LOCUS_VECTORS_BEGIN
namespace locus::host {
inline namespace LOCUS_MODE {

// c + a * b, rounded once where the instruction set has a fused instruction; other vectors are left
// to the compiler. nvcc's front end has none of these builtins.
#if LOCUS_ELEMENTWISE_BUILTINS
#define LOCUS_FUSED_OF_X86(expression) __builtin_elementwise_fma(a, b, c)
#else
#define LOCUS_FUSED_OF_X86(expression) expression
#endif
#define LOCUS_FUSED(target, type, lanes, expression)                                           \
  target [[gnu::always_inline]] static simd::vector<type, lanes> fused(                        \
      simd::vector<type, lanes> a, simd::vector<type, lanes> b, simd::vector<type, lanes> c) { \
    return LOCUS_FUSED_OF_X86(expression);                                                     \
  }
#define LOCUS_FUSED_REST(target)                                \
  template <class V>                                            \
  target [[gnu::always_inline]] static V fused(V a, V b, V c) { \
    return c + a * b;                                           \
  }
// An instruction set: the bytes of a register, and the number of registers.
#if defined(__x86_64__)
struct isa_avx512 {
  static constexpr int bytes = 64, registers = 32;
  LOCUS_FUSED_REST(LOCUS_FOR_AVX512)
#if !defined(__CUDACC__)
#if defined(__clang__)
  static constexpr unsigned short all16 = 0xffff;
  static constexpr unsigned char all8 = 0xff;
#else
  static constexpr short all16 = -1;
  static constexpr char all8 = -1;
#endif
  LOCUS_FUSED(LOCUS_FOR_AVX512, float, 16, __builtin_ia32_vfmaddps512_mask(a, b, c, all16, 4))
  LOCUS_FUSED(LOCUS_FOR_AVX512, double, 8, __builtin_ia32_vfmaddpd512_mask(a, b, c, all8, 4))
#endif
};
struct isa_avx2 {
  static constexpr int bytes = 32, registers = 16;
  LOCUS_FUSED_REST(LOCUS_FOR_AVX2)
#if !defined(__CUDACC__)
  LOCUS_FUSED(LOCUS_FOR_AVX2, float, 8, __builtin_ia32_vfmaddps256(a, b, c))
  LOCUS_FUSED(LOCUS_FOR_AVX2, double, 4, __builtin_ia32_vfmaddpd256(a, b, c))
#endif
};
struct isa_any {
  static constexpr int bytes = 16, registers = 16;
  LOCUS_FUSED_REST(LOCUS_FOR_ANY)
};
#else
struct isa_any {
  static constexpr int bytes = 16, registers = 32;
  LOCUS_FUSED_REST(LOCUS_FOR_ANY)
};
#endif
#undef LOCUS_FUSED
#undef LOCUS_FUSED_OF_X86
#undef LOCUS_FUSED_REST

/// means: run[k] is the kernel of tiles of rows[k] rows; rows falls, and the last is 1
template <class Call>
struct by_rows {
  int rows[3];
  void (*run[3])(Call const&);

  /// means: run[k] = of(integer_sequence<int, 0, ..., rows[k] - 1>), for rows Most, Fewer and 1
  template <int Most, int Fewer, class Of>
  static constexpr by_rows make(Of const& of) {
    using std::make_integer_sequence;
    return {{Most, Fewer, 1},
            {of(make_integer_sequence<int, Most>{}), of(make_integer_sequence<int, Fewer>{}),
             of(make_integer_sequence<int, 1>{})}};
  }
};

namespace detail {

/// units: bytes of the widest registers that this process uses
inline int register_bytes() {
  using simd::instructions;
#if defined(__x86_64__)
  if constexpr (LOCUS_ISA_AVX512X) return isa_avx512::bytes;
  instructions const now = simd::instructions_now();
  if (now != instructions::baseline)
    return now == instructions::avx512 ? isa_avx512::bytes : isa_avx2::bytes;
#endif
  return isa_any::bytes;
}
template <class Table>
Table table_for([[maybe_unused]] int bytes) {
#if defined(__x86_64__)
  if (bytes == isa_avx512::bytes) return Table::template of<isa_avx512>();
  if constexpr (LOCUS_ISA_AVX512X)
    return Table::template of<isa_avx2>();
  else {
    if (bytes == isa_avx2::bytes) return Table::template of<isa_avx2>();
    return Table::template of<isa_any>();
  }
#else
  return Table::template of<isa_any>();
#endif
}

}  // namespace detail

/// A table of kernels for the widest registers of this process, and one for results that are
/// narrower than such a register. Table has a static function of<Isa>().
template <class Table>
struct isa_table {
  int bytes = detail::register_bytes();  // of a register of `wide`
  Table wide = detail::table_for<Table>(bytes);
  Table narrow = detail::table_for<Table>(bytes / 2 < isa_any::bytes ? bytes : bytes / 2);

  Table const& of(int register_bytes) const { return register_bytes == bytes ? wide : narrow; }
};
/// means: the tables of this process, which are found once
template <class Table>
isa_table<Table> const& isa_tables() {
  static isa_table<Table> const found;
  return found;
}

}  // namespace LOCUS_MODE
}  // namespace locus::host
LOCUS_VECTORS_END
