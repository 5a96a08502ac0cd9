// SPDX-License-Identifier: Apache-2.0
// half and bfloat16 in vectors: the conversions of shape/half.hpp for N numbers at once.
#if !defined(LOCUS_CLONE) && !defined(LOCUS_SIMD_NARROW)
#define LOCUS_SIMD_NARROW
#include <cstdint>  // uint16_t

#include <locus/shape/half.hpp>   // half, bfloat16
#include <locus/simd/native.hpp>  // vector, LOCUS_ISA_F16C

#define LOCUS_CLONED <locus/simd/narrow.hpp>
#include <locus/simd/clones.hpp>  // reads this file once for each set of instructions
#elif defined(LOCUS_CLONE)
LOCUS_VECTORS_BEGIN
namespace LOCUS_SPACE(simd) {

// 16 bits to 32 and back. (For a whole register g++ 12 needs three instructions instead of one.)
template <class V, int N = sizeof(V) / 2>
LOCUS_VECTOR_FUNCTION vector<std::uint32_t, N> widened(V const& v) {
  return __builtin_convertvector(v, vector<std::uint32_t, N>);
}
template <class V, int N = sizeof(V) / 4>
LOCUS_VECTOR_FUNCTION vector<std::uint16_t, N> low_halves(V const& v) {
  return __builtin_convertvector(v, vector<std::uint16_t, N>);
}
#if LOCUS_CLONE_AVX512
inline constexpr unsigned short all_lanes = 0xffff;
#if !defined(__clang__)
LOCUS_VECTOR_FUNCTION vector<std::uint32_t, 16> widened(vector<std::uint16_t, 16> v) {
  return (vector<std::uint32_t, 16>)__builtin_ia32_pmovzxwd512_mask((vector<short, 16>)v,
                                                                    vector<int, 16>{}, all_lanes);
}
LOCUS_VECTOR_FUNCTION vector<std::uint16_t, 16> low_halves(vector<std::uint32_t, 16> v) {
  return (vector<std::uint16_t, 16>)__builtin_ia32_pmovdw512_mask((vector<int, 16>)v,
                                                                  vector<short, 16>{}, all_lanes);
}
#endif
#endif

// By integer instructions, for processors without conversion instructions. c ? a : b of vectors is
// one instruction, or three.
template <class V, int N = sizeof(V) / 2>
LOCUS_VECTOR_FUNCTION vector<float, N> floats_of(half, V const& h) {
  using U = vector<std::uint32_t, N>;
  U const wide = widened(h), a = (wide & 0x7fffu) << 13;
  vector<float, N> const subnormal =
      (vector<float, N>)(a + (113u << 23)) - __builtin_bit_cast(float, 113u << 23);
  U const quiet = (U)(a > 0x0f800000u) & (1u << 22);
  U const special = (a + (224u << 23)) | quiet, normal = a + (112u << 23);
  U const r = a >= 0x0f800000u ? special : a < 0x00800000u ? (U)subnormal : normal;
  return (vector<float, N>)(r | (wide & 0x8000u) << 16);
}
template <class V, int N = sizeof(V) / 4>
LOCUS_VECTOR_FUNCTION vector<std::uint16_t, N> narrowed(half, V const& v) {
  using U = vector<std::uint32_t, N>;
  U const bits = (U)v, a = bits & 0x7fffffffu;
  U const normal = (a + 0xfffu + (a >> 13 & 1u) - (112u << 23)) >> 13;
  U const tiny = (U)(a < (113u << 23));
  U const subnormal = (U)((vector<float, N>)(a & tiny) + 0.5f) - (126u << 23);
  U const nan = 0x7e00u | (a >> 13 & 0x1ffu);
  U const special = a > 0x7f800000u ? nan : U{} + 0x7c00u;
  U const r = a >= (143u << 23) ? special : a < (113u << 23) ? subnormal : normal;
  return low_halves(r | (bits >> 16 & 0x8000u));
}
template <class V, int N = sizeof(V) / 2>
LOCUS_VECTOR_FUNCTION vector<float, N> floats_of(bfloat16, V const& b) {
  return (vector<float, N>)(widened(b) << 16);
}
template <class V, int N = sizeof(V) / 4>
LOCUS_VECTOR_FUNCTION vector<std::uint16_t, N> narrowed(bfloat16, V const& v) {
  using U = vector<std::uint32_t, N>;
  U const bits = (U)v;
  U const nan = bits >> 16 | 0x40u, number = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
  U const r = (bits & 0x7fffffffu) > 0x7f800000u ? nan : number;
  return low_halves(r);
}

// The conversions of halves that one instruction computes.
#if LOCUS_CLONE_F16C
LOCUS_VECTOR_FUNCTION vector<float, 8> floats_of(half, vector<std::uint16_t, 8> h) {
#if defined(__clang__)
  return __builtin_convertvector((vector<__fp16, 8>)h, vector<float, 8>);
#else
  return __builtin_ia32_vcvtph2ps256((vector<short, 8>)h);
#endif
}
LOCUS_VECTOR_FUNCTION vector<std::uint16_t, 8> narrowed(half, vector<float, 8> v) {
  return (vector<std::uint16_t, 8>)__builtin_ia32_vcvtps2ph256(v, 0);
}
#endif
#if LOCUS_CLONE_AVX512
LOCUS_VECTOR_FUNCTION vector<float, 16> floats_of(half, vector<std::uint16_t, 16> h) {
#if defined(__clang__)
  return __builtin_convertvector((vector<__fp16, 16>)h, vector<float, 16>);
#else  // g++'s mask is signed here
  return __builtin_ia32_vcvtph2ps512_mask((vector<short, 16>)h, vector<float, 16>{}, -1, 4);
#endif
}
LOCUS_VECTOR_FUNCTION vector<std::uint16_t, 16> narrowed(half, vector<float, 16> v) {
  return (vector<std::uint16_t, 16>)__builtin_ia32_vcvtps2ph512_mask(v, 0, vector<short, 16>{},
                                                                     all_lanes);
}
#endif

}  // namespace LOCUS_SPACE(simd)
LOCUS_VECTORS_END
#endif
