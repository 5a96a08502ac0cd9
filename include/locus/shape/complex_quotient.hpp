// SPDX-License-Identifier: Apache-2.0
// Where the quotient of complex numbers needs powers of two, and the quotient there.
#pragma once
#include <cstdint>  // uint64_t

#include <locus/core/macros.hpp>  // LOCUS_HOST_DEVICE

namespace locus::internal {

/// means: limits for Smith's quotient of a and b. No step of it underflows or overflows where the larger
///        part of a and the ratio of b's parts are at least `low`, or where one of them is 0, and
///        where the larger part of b is at least `low_divisor` and no part is above `high`
template <class T>
struct quotient_limits;
template <>
struct quotient_limits<float> {
  using bits = std::uint32_t;
  static constexpr float low = 0x1p-50f, low_divisor = 0x1p-100f, high = 0x1p126f;
};
template <>
struct quotient_limits<double> {
  using bits = std::uint64_t;
  static constexpr double low = 0x1p-480, low_divisor = 0x1p-960, high = 0x1p1022;
};

template <class T>
struct quotient_parts {
  T re, im;
};

/// means: k, for 2^k <= x < 2^(k + 1); any number below -1022 for 0, 1024 for infinity and NaN
LOCUS_HOST_DEVICE constexpr int exponent_of(double x) {
  bool const is_subnormal = x < 0x1p-1022;
  auto const bits = __builtin_bit_cast(std::uint64_t, is_subnormal ? x * 0x1p54 : x);
  return static_cast<int>(bits >> 52 & 2047) - 1023 - (is_subnormal ? 54 : 0);
}
/// means: 2^k x, for k between -4000 and 4000
LOCUS_HOST_DEVICE constexpr double times_two_to(int k, double x) {
  auto const two_to = [](int n) {
    return __builtin_bit_cast(double, static_cast<std::uint64_t>(n + 1023) << 52);
  };
  int const fourth = k / 4;
  double const by = two_to(fourth);
  return x * by * by * by * two_to(k - 3 * fourth);
}

/// means: (a_re + i a_im) / (b_re + i b_im) for all numbers: Smith's quotient of numbers without their
///        exponents, which are added at the end; floats by doubles
/// after: Baudin and Smith, A Robust Complex Division in Scilab (2012)
#if !defined(__CUDA_ARCH__)
[[gnu::cold, gnu::noinline]]
#endif
LOCUS_HOST_DEVICE constexpr quotient_parts<double> rare_quotient(double a_re, double a_im,
                                                                 double b_re, double b_im) {
  auto const size = [](double x) { return x < 0 ? -x : x; };
  bool const turned = !(size(b_re) >= size(b_im));
  double const larger = turned ? b_im : b_re, smaller = turned ? b_re : b_im;
  double const most = size(a_re) > size(a_im) ? size(a_re) : size(a_im);
  // a is made large, so that its smaller part keeps its digits; there is room for the sum
  int const of_a = exponent_of(most) - 1021, of_b = exponent_of(size(larger)),
            of_ratio = exponent_of(size(smaller)) - of_b;
  double const l = times_two_to(-of_b, larger), s = times_two_to(-of_b - of_ratio, smaller),
               ratio = smaller == 0 ? 0 : s / l,
               by = l + times_two_to(of_ratio, s) * times_two_to(of_ratio, ratio);
  double const x = times_two_to(-of_a, a_re), y = times_two_to(-of_a, a_im),
               x_small = times_two_to(of_ratio, x * ratio),
               y_small = times_two_to(of_ratio, y * ratio);
  double const re = turned ? x_small + y : x + y_small, im = turned ? y_small - x : y - x_small;
  return {times_two_to(of_a - of_b, re / by), times_two_to(of_a - of_b, im / by)};
}
LOCUS_HOST_DEVICE constexpr quotient_parts<float> rare_quotient(float a_re, float a_im, float b_re,
                                                                float b_im) {
  auto const q = rare_quotient(static_cast<double>(a_re), static_cast<double>(a_im),
                               static_cast<double>(b_re), static_cast<double>(b_im));
  return {static_cast<float>(q.re), static_cast<float>(q.im)};
}

}  // namespace locus::internal
