// SPDX-License-Identifier: Apache-2.0
// The packet forms of the functors for numerics (work/rounding.hpp).
#if !defined(LOCUS_CLONE) && !defined(LOCUS_ENGINE_HOST_PACKET_ROUNDING)
#define LOCUS_ENGINE_HOST_PACKET_ROUNDING
#include <locus/engine/host/packet_forms.hpp>  // packet_form
#include <locus/work/rounding.hpp>             // rounded_multiply_fn

#define LOCUS_CLONED <locus/engine/host/packet_rounding.hpp>
#include <locus/simd/clones.hpp>  // reads this file once for each set of instructions
#elif defined(LOCUS_CLONE)
LOCUS_VECTORS_BEGIN
namespace LOCUS_SPACE(host) {

template <>
struct packet_form<kernel::rounded_multiply_fn> {
  template <class A, int N, class B>
    requires(!std::is_void_v<promote_t<A, B>>)
  LOCUS_VECTOR_FUNCTION static packet<promote_t<A, B>, N> call(packet<A, N> a, packet<B, N> b) {
    using T = promote_t<A, B>;
    auto r = simd::multiply(simd::convert<T>(a), simd::convert<T>(b));
    if constexpr (is_floating_v<T>) LOCUS_KEEP_APART(r.v);
    return r;
  }
};
template <>
struct packet_form<kernel::rounded_square_fn> {
  template <class T, int N>
  LOCUS_VECTOR_FUNCTION static packet<T, N> call(packet<T, N> a) {
    return packet_form<kernel::rounded_multiply_fn>::call(a, a);
  }
};
/// means: f on registers of floats; fewer lanes than a register are padded with 1
template <int N, class F>
LOCUS_VECTOR_FUNCTION packet<float, N> in_registers(packet<float, N> a, packet<float, N> b, F f) {
  constexpr int bytes = 4 * N;
  if constexpr (bytes < simd::least_bytes) {
    auto x = simd::every<simd::vector<float, simd::least_bytes / 4>>(1.f), y = x;
    __builtin_memcpy(&x, &a.v, bytes), __builtin_memcpy(&y, &b.v, bytes);
    x = f(x, y);
    __builtin_memcpy(&a.v, &x, bytes);
    return a;
  } else
    return {f(a.v, b.v)};
}
template <>
struct packet_form<kernel::relaxed_divide_fn> {
  template <class A, int N, class B>
    requires is_floating_v<promote_t<A, B>>
  LOCUS_VECTOR_FUNCTION static packet<promote_t<A, B>, N> call(packet<A, N> a, packet<B, N> b) {
    using T = promote_t<A, B>;
    if constexpr (std::is_same_v<T, float> && simd::has_estimates)
      return in_registers(a, b, [](auto x, auto y) __attribute__((always_inline)) {
        return simd::approximate_quotient(x, y);
      });
    else
      return packet_form<divide_fn>::call(a, b);
  }
};
template <>
struct packet_form<kernel::relaxed_sqrt_fn> {
  template <class T, int N>
    requires is_floating_v<T>
  LOCUS_VECTOR_FUNCTION static packet<T, N> call(packet<T, N> a) {
    if constexpr (std::is_same_v<T, float> && simd::has_estimates)
      return simd::by_registers<simd::relaxed_root>(a);
    else
      return packet_form<sqrt_fn>::call(a);
  }
};
template <>
struct packet_form<fma_fn> {
  template <class A, class B, class C, int N>
    requires is_floating_v<promote_t<promote_t<A, B>, C>>
  LOCUS_VECTOR_FUNCTION static auto call(packet<A, N> a, packet<B, N> b, packet<C, N> c) {
    using T = promote_t<promote_t<A, B>, C>;
    return packet<T, N>{
        simd::fused(simd::convert<T>(a).v, simd::convert<T>(b).v, simd::convert<T>(c).v)};
  }
};

}  // namespace LOCUS_SPACE(host)
LOCUS_VECTORS_END
#endif
