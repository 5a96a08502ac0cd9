// SPDX-License-Identifier: Apache-2.0
// The packet forms of mathematical functions, from the table in ops/elementwise.hpp: vector
// functions of simd/.
#if !defined(LOCUS_CLONE) && !defined(LOCUS_ENGINE_HOST_PACKET_MATH)
#define LOCUS_ENGINE_HOST_PACKET_MATH
#include <locus/engine/host/packet_form.hpp>  // packet_form
#include <locus/ops/elementwise.hpp>          // LOCUS_ELEMENTWISE_MATH, _SPECIAL
#include <locus/ops/softmax.hpp>              // softmax_exp_fn
#include <locus/simd/math_quotient.hpp>       // vector_quotient
#include <locus/simd/math_round.hpp>          // vector_floor

#define LOCUS_CLONED <locus/engine/host/packet_math.hpp>
#include <locus/simd/clones.hpp>  // reads this file once for each set of instructions
#elif defined(LOCUS_CLONE)
LOCUS_VECTORS_BEGIN
namespace LOCUS_SPACE(host) {

// Inside a form: complex numbers, where the functor takes them.
#define LOCUS_COMPLEX_BY_LANES(name)                                \
  template <class T, int N, class F = name##_fn>                    \
    requires requires(F f, complex<T> z) { f(z); }                  \
  LOCUS_VECTOR_FUNCTION static auto call(packet<complex<T>, N> a) { \
    return by_lanes<F>(a);                                          \
  }

// The forms of the column `vector` in ops/elementwise.hpp.
#define LOCUS_PACKET_OF_one_by_vector(name)                          \
  template <>                                                        \
  struct packet_form<name##_fn> {                                    \
    template <class T, int N>                                        \
      requires is_floating_v<T>                                      \
    LOCUS_VECTOR_FUNCTION static packet<T, N> call(packet<T, N> a) { \
      return simd::by_registers<simd::vector_##name>(a);             \
    }                                                                \
    LOCUS_COMPLEX_BY_LANES(name)                                     \
  };
#define LOCUS_PACKET_OF_two_by_vector(name)                                                     \
  template <>                                                                                   \
  struct packet_form<name##_fn> {                                                               \
    template <class A, int N, class B>                                                          \
      requires is_floating_v<promote_t<A, B>>                                                   \
    LOCUS_VECTOR_FUNCTION static auto call(packet<A, N> a, packet<B, N> b) {                    \
      using T = promote_t<A, B>;                                                                \
      return simd::by_registers<simd::vector_##name>(simd::convert<T>(a), simd::convert<T>(b)); \
    }                                                                                           \
  };
#define LOCUS_PACKET_OF_one_of_floats(name, expression)              \
  template <>                                                        \
  struct packet_form<name##_fn> {                                    \
    template <class T, int N>                                        \
      requires is_floating_v<T>                                      \
    LOCUS_VECTOR_FUNCTION static packet<T, N> call(packet<T, N> a) { \
      return expression;                                             \
    }                                                                \
    LOCUS_COMPLEX_BY_LANES(name)                                     \
  };
#define LOCUS_PACKET_OF_one_class_of(name, comparison)                            \
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
#define LOCUS_PACKET_OF_one_by_lanes(name)                           \
  template <>                                                        \
  struct packet_form<name##_fn> {                                    \
    template <class T, int N>                                        \
      requires is_floating_v<T>                                      \
    LOCUS_VECTOR_FUNCTION static packet<T, N> call(packet<T, N> a) { \
      return by_lanes<name##_fn>(a);                                 \
    }                                                                \
  };
#define LOCUS_PACKET(operands, name, tensorflow, law, elements, cost, end, call, scalar, vector, \
                     derivative)                                                                 \
  LOCUS_CELL(LOCUS_PACKET_OF_##operands##_, name, LOCUS_BARE vector)
LOCUS_ELEMENTWISE_MATH(LOCUS_PACKET)
LOCUS_ELEMENTWISE_SPECIAL(LOCUS_PACKET)
#undef LOCUS_PACKET
#undef LOCUS_PACKET_OF_one_by_lanes
#undef LOCUS_PACKET_OF_one_by_vector
#undef LOCUS_PACKET_OF_two_by_vector
#undef LOCUS_PACKET_OF_one_of_floats
#undef LOCUS_PACKET_OF_one_class_of
#undef LOCUS_COMPLEX_BY_LANES

// The functors of softmax that contain no fold.
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
