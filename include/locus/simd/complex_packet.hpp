// SPDX-License-Identifier: Apache-2.0
// Packets of complex numbers: real parts in one register, imaginary parts in another. In memory they
// alternate.
#if !defined(LOCUS_CLONE) && !defined(LOCUS_SIMD_COMPLEX_PACKET)
#define LOCUS_SIMD_COMPLEX_PACKET
#include <locus/shape/complex_quotient.hpp>  // quotient_limits, rare_quotient
#include <locus/simd/math.hpp>               // magnitude, lanes_of
#include <locus/simd/packet.hpp>             // packet

#define LOCUS_CLONED <locus/simd/complex_packet.hpp>
#include <locus/simd/clones.hpp>  // reads this file once for each set of instructions
#elif defined(LOCUS_CLONE)
LOCUS_VECTORS_BEGIN
namespace LOCUS_SPACE(simd) {

/// means: N complex numbers
template <class T, int N>
struct packet<complex<T>, N> {
  using type = complex<T>;
  static constexpr int lanes = N;
  packet<T, N> re, im;
};

namespace detail {
template <int First, class T, int Twice, int... J>
LOCUS_VECTOR_FUNCTION packet<T, Twice / 2> every_second(packet<T, Twice> x,
                                                        std::integer_sequence<int, J...>) {
  if constexpr (Twice == 2) {  // nvcc rejects a list of one
    packet<T, 1> r{};
    r.v[0] = x.v[First];
    return r;
  } else
    return {vector<T, Twice / 2>{x.v[First + 2 * J]...}};
}
template <class T, int N, int... J>
LOCUS_VECTOR_FUNCTION packet<T, 2 * N> alternating(packet<complex<T>, N> x,
                                                   std::integer_sequence<int, J...>) {
  return {vector<T, 2 * N>{(J % 2 == 0 ? x.re.v[J / 2] : x.im.v[J / 2])...}};
}
}  // namespace detail

/// means: re 0, im 0, re 1, im 1, ..., as in memory
template <class T, int N>
LOCUS_VECTOR_FUNCTION packet<T, 2 * N> alternating(packet<complex<T>, N> x) {
  return detail::alternating(x, std::make_integer_sequence<int, 2 * N>{});
}

template <int N, class T>
LOCUS_VECTOR_FUNCTION auto broadcast(complex<T> x) {
  return packet<complex<T>, N>{broadcast<N>(x.re), broadcast<N>(x.im)};
}
template <int N, class T>
LOCUS_VECTOR_FUNCTION auto load(complex<T> const* p) {
  auto const both = load<2 * N>(&p->re);
  return packet<complex<T>, N>{detail::every_second<0>(both, std::make_integer_sequence<int, N>{}),
                               detail::every_second<1>(both, std::make_integer_sequence<int, N>{})};
}
template <class T, int N>
LOCUS_VECTOR_FUNCTION void store(complex<T>* p, packet<complex<T>, N> x) {
  store(&p->re, alternating(x));
}
template <class T, int N>
LOCUS_VECTOR_FUNCTION void store_past(complex<T>* p, packet<complex<T>, N> x) {
  store_past(&p->re, alternating(x));
}
template <class To, class T, int N>
LOCUS_VECTOR_FUNCTION packet<To, N> convert(packet<complex<T>, N> x) {
  return {convert<real_t<To>>(x.re), convert<real_t<To>>(x.im)};
}
template <int Bytes, class T, int N>
LOCUS_VECTOR_FUNCTION packet<complex<T>, N> select(mask<Bytes, N> m, packet<complex<T>, N> a,
                                                   packet<complex<T>, N> b) {
  return {select(m, a.re, b.re), select(m, a.im, b.im)};
}
template <class T, int N>
LOCUS_VECTOR_FUNCTION mask<int(sizeof(T)), N> equal(packet<complex<T>, N> a,
                                                    packet<complex<T>, N> b) {
  return {equal(a.re, b.re).v & equal(a.im, b.im).v};
}
template <class T, int N>
LOCUS_VECTOR_FUNCTION mask<int(sizeof(T)), N> not_equal(packet<complex<T>, N> a,
                                                        packet<complex<T>, N> b) {
  return {~equal(a, b).v};
}

// operators, of complex numbers and of one beside real numbers, as shape/complex.hpp has them
#define LOCUS_COMPLEX_SUM(name, symbol, imaginary_alone)                                      \
  template <class T, int N>                                                                   \
  LOCUS_VECTOR_FUNCTION packet<complex<T>, N> name(packet<complex<T>, N> a,                   \
                                                   packet<complex<T>, N> b) {                 \
    return {{a.re.v symbol b.re.v}, {a.im.v symbol b.im.v}};                                  \
  }                                                                                           \
  template <class T, int N>                                                                   \
  LOCUS_VECTOR_FUNCTION packet<complex<T>, N> name(packet<complex<T>, N> a, packet<T, N> b) { \
    return {{a.re.v symbol b.v}, a.im};                                                       \
  }                                                                                           \
  template <class T, int N>                                                                   \
  LOCUS_VECTOR_FUNCTION packet<complex<T>, N> name(packet<T, N> a, packet<complex<T>, N> b) { \
    return {{a.v symbol b.re.v}, {imaginary_alone b.im.v}};                                   \
  }
LOCUS_COMPLEX_SUM(add, +, )
LOCUS_COMPLEX_SUM(subtract, -, -)
#undef LOCUS_COMPLEX_SUM
template <class T, int N>
LOCUS_VECTOR_FUNCTION packet<complex<T>, N> multiply(packet<complex<T>, N> a,
                                                     packet<complex<T>, N> b) {
  return {{a.re.v * b.re.v - a.im.v * b.im.v}, {a.re.v * b.im.v + a.im.v * b.re.v}};
}
template <class T, int N>
LOCUS_VECTOR_FUNCTION packet<complex<T>, N> multiply(packet<complex<T>, N> a, packet<T, N> b) {
  return {{a.re.v * b.v}, {a.im.v * b.v}};
}
template <class T, int N>
LOCUS_VECTOR_FUNCTION packet<complex<T>, N> multiply(packet<T, N> a, packet<complex<T>, N> b) {
  return {{a.v * b.re.v}, {a.v * b.im.v}};
}
template <class T, int N>
LOCUS_VECTOR_FUNCTION packet<complex<T>, N> divide(packet<complex<T>, N> a, packet<T, N> b) {
  return {{a.re.v / b.v}, {a.im.v / b.v}};
}
namespace detail {
/// means: the lanes of q where rare is not 0 become those of a / b
template <class T, int N>
[[gnu::cold, gnu::noinline]] void rare_quotients(
    T (&q)[2][N], T const (&a)[2][N], T const (&b)[2][N],
    typename internal::quotient_limits<T>::bits (&rare)[N]) {
  for (int j = 0; j < N; ++j) {
    if (rare[j] == 0) continue;
    auto const r = internal::rare_quotient(a[0][j], a[1][j], b[0][j], b[1][j]);
    q[0][j] = r.re, q[1][j] = r.im;
  }
}
/// means: a / b: both cases of Smith's quotient are one formula, with the parts of b in the order of
///        their absolute values; rare lanes are computed one by one. With the bits of
///        shape/complex.hpp
template <class T, class V>
LOCUS_VECTOR_FUNCTION void divide_registers(V& a_re, V& a_im, V const& b_re, V const& b_im) {
  using limits = internal::quotient_limits<T>;
  V const wide = magnitude(b_re), high = magnitude(b_im);
  auto const turned = wide < high;
  V const larger = turned ? b_im : b_re, smaller = turned ? b_re : b_im, ratio = smaller / larger;
  V const of_a = larger_of(magnitude(a_re), magnitude(a_im)), of_b = larger_of(wide, high);
  V const rest = smaller_of(wide, high);
  auto const fits =
      ((smaller_of(of_a, magnitude(ratio)) >= limits::low) | (smaller_of(of_a, rest) == T(0))) &
      (of_b >= limits::low_divisor) & (larger_of(of_a, of_b) <= limits::high);
  // by = larger + smaller ratio; numerators: re + im ratio and im - re ratio, or re ratio + im and
  // im ratio - re
  V const by = larger + smaller * ratio;
  V const re = a_re + a_im * ratio, im = a_im - a_re * ratio, re_turned = a_re * ratio + a_im,
          im_turned = a_im * ratio - a_re;
  V q_re = (turned ? re_turned : re) / by, q_im = (turned ? im_turned : im) / by;
  using U = vector<typename limits::bits, lanes_of<V>>;
  U const rare = (U)~fits;
  if (__builtin_expect(any_above(rare, U{}), 0)) {
    constexpr int n = lanes_of<V>;
    T q[2][n], a[2][n], b[2][n];
    typename limits::bits which[n];
    __builtin_memcpy(q[0], &q_re, sizeof q_re), __builtin_memcpy(q[1], &q_im, sizeof q_im);
    __builtin_memcpy(a[0], &a_re, sizeof a_re), __builtin_memcpy(a[1], &a_im, sizeof a_im);
    __builtin_memcpy(b[0], &b_re, sizeof b_re), __builtin_memcpy(b[1], &b_im, sizeof b_im);
    __builtin_memcpy(which, &rare, sizeof rare);
    rare_quotients(q, a, b, which);
    __builtin_memcpy(&q_re, q[0], sizeof q_re), __builtin_memcpy(&q_im, q[1], sizeof q_im);
  }
  a_re = q_re, a_im = q_im;
}
}  // namespace detail

template <class T, int N>
LOCUS_VECTOR_FUNCTION packet<complex<T>, N> divide(packet<complex<T>, N> a,
                                                   packet<complex<T>, N> b) {
  if constexpr (N == 1) {
    auto const q = complex<T>(a.re.v[0], a.im.v[0]) / complex<T>(b.re.v[0], b.im.v[0]);
    a.re.v[0] = q.re, a.im.v[0] = q.im;
  } else if constexpr (N == 2 && sizeof(T) == 4) {  // a register has twice as many lanes
    using V = vector<T, 4>;
    auto const twice = [](packet<T, N> x) __attribute__((always_inline)) {
      return V{x.v[0], x.v[1], x.v[0], x.v[1]};
    };
    V re = twice(a.re), im = twice(a.im);
    detail::divide_registers<T>(re, im, twice(b.re), twice(b.im));
    a.re.v = vector<T, 2>{re[0], re[1]}, a.im.v = vector<T, 2>{im[0], im[1]};
  } else {
    vector<T, N> re = a.re.v, im = a.im.v;
    detail::divide_registers<T, vector<T, N>>(re, im, b.re.v, b.im.v);
    a.re.v = re, a.im.v = im;
  }
  return a;
}
template <class T, int N>
LOCUS_VECTOR_FUNCTION packet<complex<T>, N> divide(packet<T, N> a, packet<complex<T>, N> b) {
  return divide(packet<complex<T>, N>{a, {}}, b);
}

}  // namespace LOCUS_SPACE(simd)
LOCUS_VECTORS_END
#endif
