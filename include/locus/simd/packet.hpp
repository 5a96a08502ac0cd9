// SPDX-License-Identifier: Apache-2.0
// Packets: N values of one element type that are computed at once; and masks: N booleans. All
// packets of one expression have the same N, for all types. Functions of packets are inlined, so
// that no vector is passed by a calling convention.
#if !defined(LOCUS_CLONE) && !defined(LOCUS_SIMD_PACKET)
#define LOCUS_SIMD_PACKET
#include <cstdint>      // int32_t
#include <type_traits>  // conditional
#include <utility>      // index_sequence

#include <locus/shape/element.hpp>  // is_integer_v, promote_t
#include <locus/simd/narrow.hpp>    // floats_of, narrowed
#include <locus/simd/native.hpp>    // vector, sqrt_of

#define LOCUS_CLONED <locus/simd/packet.hpp>
#include <locus/simd/clones.hpp>  // reads this file once for each set of instructions
#elif defined(LOCUS_CLONE)
LOCUS_VECTORS_BEGIN
namespace LOCUS_SPACE(simd) {

template <int Bytes>
using signed_of = std::conditional_t<
    Bytes == 1, signed char,
    std::conditional_t<Bytes == 2, short,
                       std::conditional_t<Bytes == 4, std::int32_t, std::int64_t>>>;

/// means: N values of T; for half and bfloat16 their bits, to load, convert and store
template <class T, int N>
struct packet {
  using type = T;
  static constexpr int lanes = N;
  vector_in_packet<std::conditional_t<is_narrow_v<T>, std::uint16_t, T>, N> v;
};
/// means: N booleans, each a lane of Bytes bytes: 0 or -1; Bytes is the size of the values that
///        were compared
template <int Bytes, int N>
struct mask {
  using type = bool;
  static constexpr int lanes = N;
  vector_in_packet<signed_of<Bytes>, N> v;
};

template <int Bytes, int From, int N>
LOCUS_VECTOR_FUNCTION mask<Bytes, N> widen(mask<From, N> m) {
  if constexpr (Bytes == From)
    return m;
  else
    return {__builtin_convertvector(m.v, vector<signed_of<Bytes>, N>)};
}

/// means: every lane holds x
template <int N, class T>
LOCUS_VECTOR_FUNCTION auto broadcast(T x) {
  if constexpr (std::is_same_v<T, bool>)
    return mask<1, N>{vector<signed char, N>{} - static_cast<signed char>(x)};
  else if constexpr (is_narrow_v<T>)
    return packet<T, N>{vector<std::uint16_t, N>{} + x.bits};
  else
    return packet<T, N>{x - vector<T, N>{}};  // x - 0 is x, of -0 too
}

/// means: lane j = p[j]; a boolean is a byte, 0 or not
template <int N, class T>
LOCUS_VECTOR_FUNCTION auto load(T const* p) {
  if constexpr (std::is_same_v<T, bool>) {
    vector<unsigned char, N> bytes;
    __builtin_memcpy(&bytes, p, N);
    return mask<1, N>{(vector<signed char, N>)(bytes != 0)};
  } else {
    packet<T, N> r;
    __builtin_memcpy(&r.v, p, sizeof r.v);
    return r;
  }
}
/// means: p[j] = lane j
template <class T, int N>
LOCUS_VECTOR_FUNCTION void store(T* p, packet<T, N> x) {
  __builtin_memcpy(p, &x.v, sizeof x.v);
}
template <int Bytes, int N>
LOCUS_VECTOR_FUNCTION void store(bool* p, mask<Bytes, N> x) {
  vector<signed char, N> const bytes = -widen<1>(x).v;
  __builtin_memcpy(p, &bytes, N);
}

/// means: store without the caches, if the packet fills a register; p is a multiple of its size
template <class T, int N>
LOCUS_VECTOR_FUNCTION void store_past(T* p, packet<T, N> x) {
  if constexpr (sizeof x.v >= 16 && sizeof x.v <= native_bytes)
    stream(p, x.v);
  else
    store(p, x);
}
template <int Bytes, int N>
LOCUS_VECTOR_FUNCTION void store_past(bool* p, mask<Bytes, N> x) {
  store_past(reinterpret_cast<signed char*>(p), packet<signed char, N>{-widen<1>(x).v});
}

// no lambda: with --expt-relaxed-constexpr nvcc compiles for GPUs every lambda that could be
// constexpr, and its compiler crashes at a vector of constants
namespace detail {
template <class T, std::size_t... J>
LOCUS_VECTOR_FUNCTION packet<T, int(sizeof...(J))> lane_numbers_of(std::index_sequence<J...>) {
  return packet<T, int(sizeof...(J))>{vector<T, int(sizeof...(J))>{static_cast<T>(J)...}};
}
}  // namespace detail
/// means: lane j = j
template <class T, int N>
LOCUS_VECTOR_FUNCTION packet<T, N> lane_numbers() {
  return detail::lane_numbers_of<T>(std::make_index_sequence<std::size_t(N)>{});
}

/// means: each lane converted to To; integers wrap, booleans are 0 and 1. To half and bfloat16
///        through float: a number that float does not hold is rounded twice
template <class To, class T, int N>
LOCUS_VECTOR_FUNCTION packet<To, N> convert(packet<T, N> x) {
  if constexpr (std::is_same_v<To, T>)
    return x;
  else if constexpr (is_complex_v<To>)
    return {convert<real_t<To>>(x), packet<real_t<To>, N>{}};
  else if constexpr (is_narrow_v<T>)
    return convert<To>(packet<float, N>{floats_of(T{}, x.v)});
  else if constexpr (is_narrow_v<To>) {
    vector<float, N> const floats = convert<float>(x).v;  // a packet's is aligned as in memory
    return {narrowed(To{}, floats)};
  } else if constexpr (requires {  // a plain call for doubles would accept int, too
                         requires std::is_same_v<decltype(wider(x.v, To{})), vector<To, N>>;
                       })
    return {wider(x.v, To{})};
  else {
#if defined(__x86_64__) && !defined(__clang__)
    // g++ 12 would load a value that surely comes from memory element by element to widen it
    if constexpr (std::is_integral_v<T> && std::is_integral_v<To> && sizeof(To) > sizeof(T) &&
                  sizeof x.v >= 16 && sizeof x.v <= native_bytes)
      asm("" : "+v"(x.v));
#endif
    return {__builtin_convertvector(x.v, vector<To, N>)};
  }
}
template <class To, int Bytes, int N>
LOCUS_VECTOR_FUNCTION packet<To, N> convert(mask<Bytes, N> x) {
  if constexpr (is_narrow_v<To>)
    return convert<To>(convert<float>(x));
  else if constexpr (is_complex_v<To>)
    return {convert<real_t<To>>(x), packet<real_t<To>, N>{}};
  else
    return {__builtin_convertvector(-x.v, vector<To, N>)};
}

/// means: m ? a : b, lane by lane
template <int Bytes, class T, int N>
LOCUS_VECTOR_FUNCTION packet<T, N> select(mask<Bytes, N> m, packet<T, N> a, packet<T, N> b) {
  return {widen<int(sizeof(T))>(m).v ? a.v : b.v};
}

#define LOCUS_PACKET_COMPARISON(name, symbol)                                          \
  template <class T, int N>                                                            \
  LOCUS_VECTOR_FUNCTION mask<int(sizeof(T)), N> name(packet<T, N> a, packet<T, N> b) { \
    return {(vector<signed_of<int(sizeof(T))>, N>)(a.v symbol b.v)};                   \
  }
LOCUS_PACKET_COMPARISON(equal, ==)
LOCUS_PACKET_COMPARISON(not_equal, !=)
LOCUS_PACKET_COMPARISON(less, <)
LOCUS_PACKET_COMPARISON(less_equal, <=)
LOCUS_PACKET_COMPARISON(greater, >)
LOCUS_PACKET_COMPARISON(greater_equal, >=)
#undef LOCUS_PACKET_COMPARISON

// Integers wrap: computed unsigned.
#define LOCUS_PACKET_ARITHMETIC(name, symbol)                               \
  template <class T, int N>                                                 \
  LOCUS_VECTOR_FUNCTION packet<T, N> name(packet<T, N> a, packet<T, N> b) { \
    if constexpr (is_integer_v<T>) {                                        \
      using W = vector<std::make_unsigned_t<T>, N>;                         \
      return {(vector<T, N>)((W)a.v symbol(W) b.v)};                        \
    } else                                                                  \
      return {a.v symbol b.v};                                              \
  }
LOCUS_PACKET_ARITHMETIC(add, +)
LOCUS_PACKET_ARITHMETIC(subtract, -)
LOCUS_PACKET_ARITHMETIC(multiply, *)
#undef LOCUS_PACKET_ARITHMETIC

template <class T, int N>
  requires is_floating_v<T>
LOCUS_VECTOR_FUNCTION packet<T, N> divide(packet<T, N> a, packet<T, N> b) {
  return {a.v / b.v};
}
template <class T, int N>
  requires is_floating_v<T>
LOCUS_VECTOR_FUNCTION packet<T, N> square_root(packet<T, N> a) {
  return {sqrt_of(a.v)};
}
/// means: a > b || a != a ? a : b, and the same with <
template <class T, int N>
LOCUS_VECTOR_FUNCTION packet<T, N> larger(packet<T, N> a, packet<T, N> b) {
  if constexpr (is_floating_v<T>)
    return select(not_equal(a, a), a, packet<T, N>{larger_of(a.v, b.v)});
  else
    return select(greater(a, b), a, b);
}
template <class T, int N>
LOCUS_VECTOR_FUNCTION packet<T, N> smaller(packet<T, N> a, packet<T, N> b) {
  if constexpr (is_floating_v<T>)
    return select(not_equal(a, a), a, packet<T, N>{smaller_of(a.v, b.v)});
  else
    return select(less(a, b), a, b);
}
/// the bits of the lanes as integers, and back
template <class T, int N>
LOCUS_VECTOR_FUNCTION packet<signed_of<int(sizeof(T))>, N> bits_of(packet<T, N> x) {
  return {(vector<signed_of<int(sizeof(T))>, N>)x.v};
}
template <class T, class B, int N>
  requires(sizeof(T) == sizeof(B))
LOCUS_VECTOR_FUNCTION packet<T, N> from_bits(packet<B, N> x) {
  return {(vector<T, N>)x.v};
}
/// means: |a| with the sign of b
template <class T, int N>
  requires is_floating_v<T>
LOCUS_VECTOR_FUNCTION packet<T, N> with_sign_of(packet<T, N> a, packet<T, N> b) {
  using B = signed_of<int(sizeof(T))>;
  constexpr B sign = static_cast<B>(B(1) << (8 * sizeof(T) - 1));
  return from_bits<T>(packet<B, N>{(bits_of(a).v & ~sign) | (bits_of(b).v & sign)});
}
/// means: shift_left_fn and shift_right_fn (ops/functors.hpp) of each lane; a count that is not one
///        of 0 to bits - 1 leaves no bit of a
template <class T, int N>
  requires is_integer_v<T>
LOCUS_VECTOR_FUNCTION packet<T, N> shift_left(packet<T, N> a, packet<T, N> b) {
  using U = std::make_unsigned_t<T>;
  using W = vector<U, N>;
  constexpr U bits = 8 * sizeof(T), last = static_cast<U>(bits - 1);
  W const shifted = (W)a.v << ((W)b.v & last);
  return {(vector<T, N>)(shifted & (W)((W)b.v < bits))};
}
template <class T, int N>
  requires is_integer_v<T>
LOCUS_VECTOR_FUNCTION packet<T, N> shift_right(packet<T, N> a, packet<T, N> b) {
  using U = std::make_unsigned_t<T>;
  using W = vector<U, N>;
  constexpr U bits = 8 * sizeof(T), last = static_cast<U>(bits - 1);
  W const inside = (W)((W)b.v < bits);
  if constexpr (std::is_signed_v<T>)
    return {a.v >> (vector<T, N>)(((W)b.v & inside) | (~inside & last))};
  else
    return {(a.v >> ((W)b.v & last)) & inside};
}

/// means: x as an operand of an operation on T: a T, but real numbers beside complex ones stay real
template <class T, class From, int N>
LOCUS_VECTOR_FUNCTION auto as_term(packet<From, N> x) {
  if constexpr (is_complex_v<T> && !is_complex_v<From>)
    return convert<real_t<T>>(x);
  else
    return convert<T>(x);
}
template <class T, int Bytes, int N>
LOCUS_VECTOR_FUNCTION auto as_term(mask<Bytes, N> x) {
  return x;
}

}  // namespace LOCUS_SPACE(simd)
LOCUS_VECTORS_END
#endif
