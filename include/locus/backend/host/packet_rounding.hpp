// SPDX-License-Identifier: Apache-2.0
// The packet forms of functors that the numerics of a plan ask for (kernel/rounding.hpp).
#pragma once
#include <locus/backend/host/packet_forms.hpp>  // packet_form
#include <locus/kernel/rounding.hpp>            // rounded_multiply_fn

LOCUS_VECTORS_BEGIN
namespace locus::host {
inline namespace LOCUS_MODE {

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

}  // namespace LOCUS_MODE
}  // namespace locus::host
LOCUS_VECTORS_END
