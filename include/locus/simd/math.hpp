// SPDX-License-Identifier: Apache-2.0
// Common parts of the vector functions exp, log, sin, ...: packets in registers, polynomials, the
// nearest integer, and rare arguments. Each function computes all lanes in the same way, so that a
// result does not depend on the index of its element.
#if !defined(LOCUS_CLONE) && !defined(LOCUS_SIMD_MATH)
#define LOCUS_SIMD_MATH
#include <cstdint>  // uint32_t

#include <locus/simd/packet.hpp>  // packet, vector

#define LOCUS_CLONED <locus/simd/math.hpp>
#include <locus/simd/clones.hpp>  // reads this file once for each set of instructions
#elif defined(LOCUS_CLONE)
LOCUS_VECTORS_BEGIN
namespace LOCUS_SPACE(simd) {

template <class V>
using lane_of = std::remove_cvref_t<decltype(V{}[0])>;
template <class V>
inline constexpr int lanes_of = int(sizeof(V) / sizeof(lane_of<V>));

/// the bit layout of a number of type T, and constants for the algorithms
template <class T>
struct float_traits;
template <>
struct float_traits<float> {
  using bits = std::uint32_t;
  static constexpr int digits = 23, bias = 127;
  static constexpr float magic = 0x1.8p23f;  // rounds x + magic to an integer
  static constexpr bits magic_bits = 0x4b400000, one = 0x3f800000, sign = 0x80000000;
};
template <>
struct float_traits<double> {
  using bits = std::uint64_t;
  static constexpr int digits = 52, bias = 1023;
  static constexpr double magic = 0x1.8p52;
  static constexpr bits magic_bits = 0x4338000000000000, one = 0x3ff0000000000000,
                        sign = 0x8000000000000000;
};
template <class V>
using bits_vector = vector<typename float_traits<lane_of<V>>::bits, lanes_of<V>>;

template <class V>
LOCUS_VECTOR_FUNCTION V every(lane_of<V> x) {
  return x - V{};
}
/// means: c[0] + c[1] x + c[2] x^2 + ...
template <class V>
LOCUS_VECTOR_FUNCTION V polynomial(V, lane_of<V> c) {
  return every<V>(c);
}
template <class V, class... More>
LOCUS_VECTOR_FUNCTION V polynomial(V x, lane_of<V> c, More... higher) {
  return multiply_add(polynomial(x, higher...), x, every<V>(c));
}

/// means: n = the integer nearest to a x + b; `bits` has n in its lowest digits
template <class V>
struct nearest {
  V n;
  bits_vector<V> bits;
  static constexpr auto magic = float_traits<lane_of<V>>::magic;

  LOCUS_VECTOR_FUNCTION static nearest of(V x, lane_of<V> a) {
    return from(as_written(multiply_add(x, every<V>(a), every<V>(magic))));
  }
  LOCUS_VECTOR_FUNCTION static nearest of(V x) { return from(as_written(x + magic)); }

 private:
  LOCUS_VECTOR_FUNCTION static nearest from(V t) { return {t - magic, (bits_vector<V>)t}; }
};
/// means: x clamped to [low, high]; NaN stays
template <class V>
LOCUS_VECTOR_FUNCTION V held(V x, lane_of<V> low, lane_of<V> high) {
  return greatest(every<V>(low), least(every<V>(high), x));
}
/// the bits of T(2^e)
template <class T>
inline constexpr auto bits_of_two_to = [](int e) {
  return typename float_traits<T>::bits(float_traits<T>::bias + e) << float_traits<T>::digits;
};
/// means: y >= 0 with the sign of x
template <class V>
LOCUS_VECTOR_FUNCTION V with_sign_of(V x, V y) {
  using B = bits_vector<V>;
  return (V)((B)y | ((B)x & float_traits<lane_of<V>>::sign));
}
template <class V>
LOCUS_VECTOR_FUNCTION V magnitude(V x) {
  return (V)((bits_vector<V>)x & ~float_traits<lane_of<V>>::sign);
}

template <class V>
LOCUS_VECTOR_FUNCTION V loaded(lane_of<V> const* p) {
  V x;
  __builtin_memcpy(&x, p, sizeof x);
  return x;
}
template <class F, class V, class... X>
[[gnu::cold, gnu::noinline]] void rare_register(lane_of<V>* y, X const*... x) {
  V out;
  __builtin_memcpy(&out, y, sizeof out);
  out = F::rare(loaded<V>(x)..., out);
  __builtin_memcpy(y, &out, sizeof out);
}
template <class V>
struct lanes_in_memory {
  lane_of<V> v[lanes_of<V>];
  LOCUS_VECTOR_FUNCTION explicit lanes_in_memory(V x) { __builtin_memcpy(v, &x, sizeof x); }
};
/// means: y, and F::rare(x..., y) in lanes where key > limit. Code for arguments of every size that
///        few registers need stays out of the loop; lanes below the limit keep y
template <class F, class V, class... X>
LOCUS_VECTOR_FUNCTION V rare_by_key(V y, bits_vector<V> key, lane_of<bits_vector<V>> limit,
                                    X... x) {
  if (__builtin_expect(any_above(key, limit - bits_vector<V>{}), 0)) {
    lanes_in_memory<V> out(y);
    rare_register<F, V>(out.v, lanes_in_memory<V>(x).v...);
    __builtin_memcpy(&y, out.v, sizeof y);
  }
  return y;
}
template <class F, class V>
LOCUS_VECTOR_FUNCTION V unless_rare(V x, V y, bits_vector<V> key, lane_of<bits_vector<V>> limit) {
  return rare_by_key<F>(y, key, limit, x);
}
/// the same for a function of a and b
template <class F, class V>
LOCUS_VECTOR_FUNCTION V unless_rare(V a, V b, V y, bits_vector<V> key,
                                    lane_of<bits_vector<V>> limit) {
  return rare_by_key<F>(y, key, limit, a, b);
}

/// means: the lanes of x, then ones, up to a whole register
template <class V, class T, int N>
LOCUS_VECTOR_FUNCTION V filled_up(packet<T, N> x) {
  V whole = every<V>(T(1));
  __builtin_memcpy(&whole, &x.v, sizeof x.v);
  return whole;
}
template <int Which, class T, int N>
LOCUS_VECTOR_FUNCTION packet<T, N / 2> half_in_memory(packet<T, N> x) {
  packet<T, N / 2> half[2];
  __builtin_memcpy(half, &x.v, sizeof x.v);
  return half[Which];
}
/// means: F::of(x, more...), in as many registers as x needs; a smaller packet fills one register
template <class F, class T, int N, class... More>
LOCUS_VECTOR_FUNCTION packet<T, N> by_registers(packet<T, N> x, More... more) {
  if constexpr (int(sizeof x.v) > native_bytes) {
    packet<T, N / 2> const half[] = {
        by_registers<F>(half_in_memory<0>(x), half_in_memory<0>(more)...),
        by_registers<F>(half_in_memory<1>(x), half_in_memory<1>(more)...)};
    __builtin_memcpy(&x.v, half, sizeof x.v);
    return x;
  } else if constexpr (int(sizeof x.v) < least_bytes) {
    using V = vector<T, least_bytes / int(sizeof(T))>;
    V const whole = F::of(filled_up<V>(x), filled_up<V>(more)...);
    __builtin_memcpy(&x.v, &whole, sizeof x.v);
    return x;
  } else
    return {F::of(x.v, more.v...)};
}
/// means: F of a single element, with the bits of a lane
template <class F, class T, class... More>
[[gnu::noinline]] T by_element(T x, More... more) {
  using V = vector<T, least_bytes / int(sizeof(T))>;
  return F::of(every<V>(x), every<V>(more)...)[0];
}

}  // namespace LOCUS_SPACE(simd)
LOCUS_VECTORS_END
#endif
