// SPDX-License-Identifier: Apache-2.0
// erf and erfc of vectors. erf: x + x P(x^2) near zero, 1 - Q(x)^(8 or 16) beyond; one polynomial
// computes both, with coefficients chosen by lane. erfc: e^(-x^2) G(t) / (x + a), t = (x - a) / (x
// + a), and 2 minus that for negative x.
#if !defined(LOCUS_CLONE) && !defined(LOCUS_SIMD_MATH_ERF)
#define LOCUS_SIMD_MATH_ERF
#include <locus/simd/math_exp.hpp>      // exp_parts, times_two_to
#include <locus/simd/math_twofold.hpp>  // product_of

#define LOCUS_CLONED <locus/simd/math_erf.hpp>
#include <locus/simd/clones.hpp>  // reads this file once for each set of instructions
#elif defined(LOCUS_CLONE)
LOCUS_VECTORS_BEGIN
namespace LOCUS_SPACE(simd) {

// inner: minimax of erf(x) / x - 1 in x^2 for x < border, relative to erf(x). outer: of
// erfc(x)^(1 / power) in x - middle for border < x < top, for an absolute error of erf.
// first + t factor: of (x + a) e^(x^2) erfc(x), relative; a makes the error of `first` nearly 0.
template <class T>
struct erf_constants;
template <>
struct erf_constants<float> {
  static constexpr int terms = 7, power = 8;
  static constexpr float border = 1.1f, middle = 2.5f, top = 3.95f;
  static constexpr float inner[terms] = {0x1.06eba8p-3f, -0x1.812734p-2f, 0x1.ce2aa6p-4f,
                                         -0x1.b7cdep-6f, 0x1.52ac24p-8f,  -0x1.9a3dep-11f,
                                         0x1.2f80b2p-14f};
  static constexpr float outer[terms] = {0x1.81eab4p-2f, -0x1.02341ap-2f, 0x1.46e0ep-5f,
                                         0x1.54aa3p-7f,  -0x1.f5d646p-9f, -0x1.7318cap-13f,
                                         0x1.50742ap-13f};
  static constexpr float a = 2.3125f, last = 10.2f;
  static constexpr float first = 0x1.0b3444p+0f;
  template <class V>
  LOCUS_VECTOR_FUNCTION static V factor(V t) {
    return polynomial(t, -0x1.8845bp-1f, 0x1.92798cp-2f, -0x1.e522c6p-4f, 0x1.a38708p-9f,
                      0x1.804dd6p-7f, -0x1.f5209ap-10f, -0x1.89782cp-10f, 0x1.eff70cp-13f,
                      0x1.e5c7ap-13f, 0x1.c58608p-16f);
  }
};
template <>
struct erf_constants<double> {
  static constexpr int terms = 17, power = 16;
  static constexpr double border = 1.4, middle = 3.5, top = 5.95;
  static constexpr double inner[terms] = {
      0x1.06eba8214db68p-3,  -0x1.812746b0379a2p-2,  0x1.ce2f21a04078ap-4,  -0x1.b82ce312121e1p-6,
      0x1.565bcd01d80b7p-8,  -0x1.c02db2675ecacp-11, 0x1.f9a3053fb23dbp-14, -0x1.f4d0773a2a806p-17,
      0x1.b9d3b65075ef7p-20, -0x1.5eebf3bc77c06p-23, 0x1.f761a54ef0c48p-27, -0x1.3ec1563cf15aap-30,
      0x1.42e2f823b03dcp-34, -0x1.7f42c6ed71223p-39};
  static constexpr double outer[terms] = {
      0x1.a7e0a2fea62c6p-2,   -0x1.80fdf3febb137p-3,  0x1.21900d77be92ap-6,  0x1.38104083a4af9p-8,
      -0x1.07b06e77689fdp-10, -0x1.48e99e3c2e359p-15, 0x1.a637644ccd82ep-16, -0x1.2f01ce6a0ebd3p-20,
      -0x1.384f705f0501fp-22, 0x1.a3da5c45ef082p-26,  0x1.a26d4b125c0cap-29, -0x1.e0d23bf7185c9p-32,
      0x1.afdddbc64a88p-36,   0x1.41a1c66a6fd56p-35,  0x1.47af08d9dd095p-37, 0x1.fb2701c9d0535p-40,
      0x1.4bd0399574eadp-44};
  static constexpr double a = 3.828125, last = 27.3;
  static constexpr double first = 0x1.17e0b58faf99dp+0;
  template <class V>
  LOCUS_VECTOR_FUNCTION static V factor(V t) {
    return polynomial(
        t, -0x1.ede1d05b76e9cp-1, 0x1.7f2bb910d083fp-1, -0x1.037198d0664eap-1, 0x1.2e8addd337d84p-2,
        -0x1.28c38a8a722ep-3, 0x1.d4784ef2a96c4p-5, -0x1.0c74234054267p-6, 0x1.27fe647548195p-9,
        0x1.41fcf4c526624p-11, -0x1.bb018f3a1f629p-12, 0x1.f1239e105ea11p-15, 0x1.0cd62e851b8afp-15,
        -0x1.d93ea523d5e14p-17, -0x1.6b029bfa2ea6bp-20, 0x1.1525922c318bp-19, -0x1.42cb2156d63fp-24,
        -0x1.34a32a5bf1c79p-22, 0x1.cf861faa8b95p-26, 0x1.622564789f0a3p-25, -0x1.c0ffe70440d13p-30,
        -0x1.4862b777c7484p-28, -0x1.88d677f501332p-31);
  }
};

struct vector_erf {
  template <class V>
  LOCUS_VECTOR_FUNCTION static V of(V x) {
    using C = erf_constants<lane_of<V>>;
    V const a = magnitude(x);
    auto const near_zero = a < every<V>(C::border);
    V const beyond = as_written(least(every<V>(C::top), a) - C::middle);
    V const p = series<0>(near_zero ? a * a : beyond, near_zero);
    V root = p * p;  // raised to `power` by squaring
    for (int k = 4; k < C::power; k *= 2) root = root * root;
    V const y = near_zero ? multiply_add(a, p, a) : multiply_add(-root, root, every<V>(1));
    return with_sign_of(x, y);
  }

 private:
  template <int K, class V, class Mask>
  LOCUS_VECTOR_FUNCTION static V series(V v, Mask near_zero) {
    using C = erf_constants<lane_of<V>>;
    V const c = near_zero ? every<V>(C::inner[K]) : every<V>(C::outer[K]);
    if constexpr (K + 1 == C::terms)
      return c;
    else
      return multiply_add(series<K + 1>(v, near_zero), v, c);
  }
};
/// The factor and its product keep their rounding errors: four roundings would exceed 3 ulp.
struct vector_erfc {
  template <class V>
  LOCUS_VECTOR_FUNCTION static V of(V x) {
    using T = lane_of<V>;
    using C = erf_constants<T>;
    V const a = least(every<V>(C::last), magnitude(x));
    auto const [square, lost] = product_of(a, a);
    auto const e = exp_parts<V, true>::of(-square);
    auto const d = sum_of(a, every<V>(C::a));
    V const over = 1 / d.high;
    V const below = multiply_add(
        over, multiply_add(-d.low, over, multiply_add(-d.high, over, every<V>(1))), over);
    V const t = multiply_add(a * below, every<V>(2), every<V>(-1));
    auto const rest = product_of(t, C::factor(t));
    auto const factor = sum_of(every<V>(C::first), rest.high);
    auto const g = product_of(factor.high, below);
    V const g_low = multiply_add(as_written(factor.low + rest.low), below, g.low);
    V const gone = multiply_add(lost, e.p, lost);  // (1 + p) lost
    V const low = multiply_add(g.high, e.p, multiply_add(-g.high, gone, g_low));
    V const y = times_two_to(g.high + low, e.n);
    return x < 0 ? 2 - y : y;
  }
};

}  // namespace LOCUS_SPACE(simd)
LOCUS_VECTORS_END
#endif
