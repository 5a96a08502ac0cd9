// SPDX-License-Identifier: Apache-2.0
// Packets of complex numbers: real parts in one register, imaginary parts in another. In memory they
// alternate.
#if !defined(LOCUS_CLONE) && !defined(LOCUS_SIMD_COMPLEX_PACKET)
#define LOCUS_SIMD_COMPLEX_PACKET
#include <locus/simd/packet.hpp>  // packet

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
/// means: both cases of Smith's quotient are one formula, with the parts of b in the order of their
///        absolute values
template <class T, int N>
LOCUS_VECTOR_FUNCTION packet<complex<T>, N> divide(packet<complex<T>, N> a,
                                                   packet<complex<T>, N> b) {
  packet<T, N> const zero{};
  auto const size = [&](packet<T, N> x) __attribute__((always_inline)) {
    return select(less(x, zero), packet<T, N>{-x.v}, x);
  };
  auto const wide = size(b.re), high = size(b.im);
  auto const turned = widen<int(sizeof(T))>(mask<int(sizeof(T)), N>{~greater_equal(wide, high).v});
  auto const large = select(turned, b.im, b.re), small = select(turned, b.re, b.im);
  auto const none = equal(large, zero);
  auto const ratio = select(none, zero, packet<T, N>{small.v / large.v});
  // by = large + small ratio; numerators: re + im ratio and im - re ratio, or re ratio + im and
  // im ratio - re
  packet<T, N> const by{large.v + small.v * ratio.v};
  packet<T, N> const re{a.re.v + a.im.v * ratio.v}, im{a.im.v - a.re.v * ratio.v},
      re_turned{a.re.v * ratio.v + a.im.v}, im_turned{a.im.v * ratio.v - a.re.v};
  return {{select(turned, re_turned, re).v / by.v}, {select(turned, im_turned, im).v / by.v}};
}
template <class T, int N>
LOCUS_VECTOR_FUNCTION packet<complex<T>, N> divide(packet<T, N> a, packet<complex<T>, N> b) {
  return divide(packet<complex<T>, N>{a, {}}, b);
}

}  // namespace LOCUS_SPACE(simd)
LOCUS_VECTORS_END
#endif
