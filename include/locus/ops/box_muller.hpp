// SPDX-License-Identifier: Apache-2.0
// Two normal floats from two random words, with the same bits on every device. (ops/normal.hpp
// makes normal doubles.)
#pragma once
#include <locus/ops/normal.hpp>  // fused, polynomial
#include <locus/ops/philox.hpp>  // random_block

namespace locus {

namespace detail {

/// means: the natural logarithm of a normal float in (0, 1], within 2 ulp; 0 at 1
LOCUS_HOST_DEVICE inline float portable_log(float x) {
  auto const bits = __builtin_bit_cast(std::uint32_t, x);
  // 0x3f2aaaab is 2/3: the mantissa goes to [2/3, 4/3)
  auto const exponent = (bits - 0x3f2aaaabu) & 0xff800000u;
  float const f = __builtin_bit_cast(float, bits - exponent) - 1.f;
  float const series =
      polynomial(f, -0x1.fffff6p-2f, 0x1.55554cp-2f, -0x1.000adep-2f, 0x1.99ad6cp-3f,
                 -0x1.51927cp-3f, 0x1.21249ap-3f, -0x1.3408ecp-3f, 0x1.12f598p-3f);
  auto const n = static_cast<float>(static_cast<std::int32_t>(exponent));  // times 2^23
  return fused(n, 0x1.62e43p-24f, fused(f * f, series, f));
}

/// means: x, or -x where the top bit of `sign` is set
LOCUS_HOST_DEVICE inline float with_sign(float x, std::uint32_t sign) {
  return __builtin_bit_cast(float, __builtin_bit_cast(std::uint32_t, x) ^ (sign & 0x80000000u));
}

}  // namespace detail

struct normal_pair {
  float first, second;
};
/// means: two independent normal numbers, r cos(t) and r sin(t), each within 5 ulp: r^2 = -2
///        log(u), where u is (a + 1/2) / 2^32 rounded to a float, and t = 2 pi b / 2^32. Where u is
///        1, r is 0
/// cost:  a logarithm, a square root and two short polynomials for both
/// after: Box and Muller, A note on the generation of random normal deviates, 1958
LOCUS_HOST_DEVICE inline normal_pair box_muller(std::uint32_t a, std::uint32_t b) {
  using detail::fused, detail::polynomial;
  float const u = fused(static_cast<float>(a), 0x1p-32f, 0x1p-33f);
  float const r = LOCUS_MATH(sqrtf)(-2.f * detail::portable_log(u));
  // t = k quarters of a turn + an angle between -1/8 and 1/8 of a turn
  std::uint32_t const turned = b + 0x20000000u;
  float const y = static_cast<float>(static_cast<std::int32_t>(b << 2)) * 0x1p-32f;
  float const t = y * y;
  float const s =
      y * polynomial(t, 0x1.921fb6p+0f, -0x1.4abbbap-1f, 0x1.465ec4p-4f, -0x1.2d9b4p-8f);
  float const c =
      polynomial(t, 1.f, -0x1.3bd3ccp+0f, 0x1.03c1eap-2f, -0x1.55cb98p-6f, 0x1.db6492p-11f);
  bool const is_odd = (turned & 0x40000000u) != 0;
  float const cosine = is_odd ? s : c, sine = is_odd ? c : s;
  return {r * detail::with_sign(cosine, turned + 0x40000000u), r * detail::with_sign(sine, turned)};
}

/// means: element i of a stream of normal floats; one block of random words makes four elements
LOCUS_HOST_DEVICE inline float random_normal(std::uint64_t seed, std::int64_t i) {
  philox_block const block = random_block(seed, i >> 2);
  bool const second = (i & 2) != 0;
  normal_pair const z =
      box_muller(second ? block.word[2] : block.word[0], second ? block.word[3] : block.word[1]);
  return (i & 1) != 0 ? z.second : z.first;
}

}  // namespace locus
