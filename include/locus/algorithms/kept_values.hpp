// SPDX-License-Identifier: Apache-2.0
// The values of a block that flags keep, without gaps: a register at a time where one instruction moves
// the lanes together.
#if !defined(LOCUS_CLONE) && !defined(LOCUS_ALGORITHMS_KEPT_VALUES)
#define LOCUS_ALGORITHMS_KEPT_VALUES
#include <cstdint>  // int64_t

#include <locus/core/macros.hpp>  // LOCUS_MODE
#include <locus/simd/native.hpp>  // vector, every_float

#define LOCUS_CLONED <locus/algorithms/kept_values.hpp>
#include <locus/simd/clones.hpp>  // reads this file once for each set of instructions
#elif defined(LOCUS_CLONE)
LOCUS_VECTORS_BEGIN
namespace LOCUS_SPACE(host) {

#if LOCUS_CLONE_AVX512
/// means: bit l: byte l of Lanes bytes is not 0
template <int Lanes>
LOCUS_VECTOR_FUNCTION unsigned lanes_not_zero(void const* bytes) {
  simd::vector<char, 16> b{};
  __builtin_memcpy(&b, bytes, Lanes);
  return static_cast<unsigned short>(
      __builtin_ia32_cmpb128_mask(b, simd::vector<char, 16>{}, 4, simd::every_float));
}
/// means: the lanes of x whose bit is 1, without gaps, then zeros
template <class V>
LOCUS_VECTOR_FUNCTION V kept_lanes(V x, unsigned bits) {
  if constexpr (sizeof(x[0]) == 4)
    return (V)__builtin_ia32_compresssi512_mask((simd::vector<int, 16>)x, simd::vector<int, 16>{},
                                                static_cast<unsigned short>(bits));
  else
    return (V)__builtin_ia32_compressdi512_mask((simd::vector<long long, 8>)x,
                                                simd::vector<long long, 8>{},
                                                static_cast<unsigned char>(bits));
}
#endif

/// means: to = the values[j] with flags[j], in rising order of j; returns their number
/// shape: n is a multiple of 16; values, to: n elements of the size of Word, which has 4 or 8 bytes
/// cost:  no branch depends on a flag; a branch on 8 flags at once took up to 1.8 times as long
template <class Word>
[[gnu::noinline]] std::int64_t keep_values(void const* values, bool const* flags, std::int64_t n,
                                           void* to) {
  constexpr std::int64_t bytes = sizeof(Word);
  auto const* from = static_cast<char const*>(values);
  auto* const kept = static_cast<char*>(to);
  std::int64_t found = 0;
#if LOCUS_CLONE_AVX512
  constexpr int lanes = 64 / int(bytes);
  for (std::int64_t j = 0; j < n; j += lanes) {
    simd::vector<Word, lanes> v;
    __builtin_memcpy(&v, from + j * bytes, sizeof v);
    unsigned const lanes_kept = lanes_not_zero<lanes>(flags + j);
    v = kept_lanes(v, lanes_kept);
    __builtin_memcpy(kept + found * bytes, &v, sizeof v);
    found += __builtin_popcount(lanes_kept);
  }
#else
  for (std::int64_t j = 0; j < n; ++j) {
    __builtin_memcpy(kept + found * bytes, from + j * bytes, sizeof(Word));
    found += flags[j] ? 1 : 0;
  }
#endif
  return found;
}

}  // namespace LOCUS_SPACE(host)
LOCUS_VECTORS_END
#endif
