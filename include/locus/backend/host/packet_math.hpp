// SPDX-License-Identifier: Apache-2.0
// The packet forms of mathematical functions: the vector functions of simd/.
#if !defined(LOCUS_CLONE) && !defined(LOCUS_BACKEND_HOST_PACKET_MATH)
#define LOCUS_BACKEND_HOST_PACKET_MATH
#include <locus/backend/host/packet_form.hpp>  // packet_form
#include <locus/ops/softmax.hpp>               // softmax_exp_fn
#include <locus/simd/math_quotient.hpp>        // vector_quotient
#include <locus/simd/math_round.hpp>           // vector_floor

#define LOCUS_CLONED <locus/backend/host/packet_math.hpp>
#include <locus/simd/clones.hpp>  // reads this file once for each set of instructions
#elif defined(LOCUS_CLONE)
LOCUS_VECTORS_BEGIN
namespace LOCUS_SPACE(host) {

#define LOCUS_PACKET_MATH(name)                                      \
  template <>                                                        \
  struct packet_form<name##_fn> {                                    \
    template <class T, int N>                                        \
      requires is_floating_v<T>                                      \
    LOCUS_VECTOR_FUNCTION static packet<T, N> call(packet<T, N> a) { \
      return simd::by_registers<simd::vector_##name>(a);             \
    }                                                                \
  };
LOCUS_PACKET_MATH(exp)
LOCUS_PACKET_MATH(exp2)
LOCUS_PACKET_MATH(expm1)
LOCUS_PACKET_MATH(log)
LOCUS_PACKET_MATH(log2)
LOCUS_PACKET_MATH(log10)
LOCUS_PACKET_MATH(log1p)
LOCUS_PACKET_MATH(sin)
LOCUS_PACKET_MATH(cos)
LOCUS_PACKET_MATH(tanh)
LOCUS_PACKET_MATH(tan)
LOCUS_PACKET_MATH(asin)
LOCUS_PACKET_MATH(acos)
LOCUS_PACKET_MATH(atan)
LOCUS_PACKET_MATH(sinh)
LOCUS_PACKET_MATH(cosh)
LOCUS_PACKET_MATH(asinh)
LOCUS_PACKET_MATH(acosh)
LOCUS_PACKET_MATH(atanh)
LOCUS_PACKET_MATH(erf)
LOCUS_PACKET_MATH(erfc)
LOCUS_PACKET_MATH(cbrt)
LOCUS_PACKET_MATH(sigmoid)
LOCUS_PACKET_MATH(floor)
LOCUS_PACKET_MATH(ceil)
LOCUS_PACKET_MATH(trunc)
LOCUS_PACKET_MATH(round)
#undef LOCUS_PACKET_MATH

#define LOCUS_PACKET_MATH_OF_TWO(name)                                                          \
  template <>                                                                                   \
  struct packet_form<name##_fn> {                                                               \
    template <class A, int N, class B>                                                          \
      requires is_floating_v<promote_t<A, B>>                                                   \
    LOCUS_VECTOR_FUNCTION static auto call(packet<A, N> a, packet<B, N> b) {                    \
      using T = promote_t<A, B>;                                                                \
      return simd::by_registers<simd::vector_##name>(simd::convert<T>(a), simd::convert<T>(b)); \
    }                                                                                           \
  };
LOCUS_PACKET_MATH_OF_TWO(atan2)
LOCUS_PACKET_MATH_OF_TWO(pow)
LOCUS_PACKET_MATH_OF_TWO(hypot)
#undef LOCUS_PACKET_MATH_OF_TWO

template <>
struct packet_form<reciprocal_fn> {
  template <class T, int N>
    requires is_floating_v<T>
  LOCUS_VECTOR_FUNCTION static packet<T, N> call(packet<T, N> a) {
    return simd::divide(simd::broadcast<N>(T(1)), a);
  }
};
template <>
struct packet_form<rsqrt_fn> {
  template <class T, int N>
    requires is_floating_v<T>
  LOCUS_VECTOR_FUNCTION static packet<T, N> call(packet<T, N> a) {
    return simd::divide(simd::broadcast<N>(T(1)), simd::square_root(a));
  }
};
template <>
struct packet_form<sign_fn> {
  template <class T, int N>
  LOCUS_VECTOR_FUNCTION static packet<T, N> call(packet<T, N> a) {
    packet<T, N> const zero{}, one = simd::broadcast<N>(T(1));
    auto const below = simd::broadcast<N>(static_cast<T>(-1));
    return simd::select(simd::greater(a, zero), one, simd::select(simd::less(a, zero), below, a));
  }
};

#define LOCUS_PACKET_CLASS(name, comparison)                                      \
  template <>                                                                     \
  struct packet_form<name##_fn> {                                                 \
    template <class T, int N>                                                     \
      requires is_floating_v<T>                                                   \
    LOCUS_VECTOR_FUNCTION static auto call(packet<T, N> a) {                      \
      using B = simd::signed_of<int(sizeof(T))>;                                  \
      auto const inf = __builtin_bit_cast(B, static_cast<T>(__builtin_inff()));   \
      packet<B, N> const r{simd::bits_of(a).v & (std::numeric_limits<B>::max)()}; \
      return simd::comparison(r, simd::broadcast<N>(inf));                        \
    }                                                                             \
  };
LOCUS_PACKET_CLASS(isnan, greater)
LOCUS_PACKET_CLASS(isinf, equal)
LOCUS_PACKET_CLASS(isfinite, less)
#undef LOCUS_PACKET_CLASS

// The steps of softmax that have no fold in them.
template <>
struct packet_form<softmax_exp_fn> {
  template <class T, int N>
  LOCUS_VECTOR_FUNCTION static packet<T, N> call(packet<T, N> x, packet<T, N> m) {
    return packet_form<exp_fn>::call(simd::subtract(x, m));
  }
};
template <>
struct packet_form<softmax_fn> {
  template <class T, int N>
  LOCUS_VECTOR_FUNCTION static packet<T, N> call(packet<T, N> e, packet<T, N> s) {
    if constexpr (is_narrow_v<T>)
      return simd::divide(e, s);
    else
      return simd::by_registers<simd::vector_quotient>(e, s);
  }
};
template <>
struct packet_form<log_softmax_fn> {
  template <class T, int N>
  LOCUS_VECTOR_FUNCTION static packet<T, N> call(packet<T, N> x, packet<T, N> m, packet<T, N> s) {
    return simd::subtract(simd::subtract(x, m), packet_form<log_fn>::call(s));
  }
};

}  // namespace LOCUS_SPACE(host)
LOCUS_VECTORS_END
#endif
