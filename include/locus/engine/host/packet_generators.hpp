// SPDX-License-Identifier: Apache-2.0
// The packet forms of generators: functions of the indices of N elements.
#if !defined(LOCUS_CLONE) && !defined(LOCUS_ENGINE_HOST_PACKET_GENERATORS)
#define LOCUS_ENGINE_HOST_PACKET_GENERATORS
#include <locus/ops/generators.hpp>  // full_fn, iota_fn
#include <locus/simd/packet.hpp>     // packet, convert

#define LOCUS_CLONED <locus/engine/host/packet_generators.hpp>
#include <locus/simd/clones.hpp>  // reads this file once for each set of instructions
#elif defined(LOCUS_CLONE)
LOCUS_VECTORS_BEGIN
namespace LOCUS_SPACE(host) {

template <class F>
struct packet_form;

// The form of a functor with members: with(functor, packets...).
template <class T>
struct packet_form<full_fn<T>> {
  template <int N>
  LOCUS_VECTOR_FUNCTION static auto with(full_fn<T> const& f, simd::packet<std::int64_t, N>) {
    return simd::broadcast<N>(f.value);
  }
};
template <class T>
  requires(!is_narrow_v<T>)
struct packet_form<iota_fn<T>> {
  template <int N>
  LOCUS_VECTOR_FUNCTION static simd::packet<T, N> with(iota_fn<T> const& f,
                                                       simd::packet<std::int64_t, N> i) {
    if constexpr (is_floating_v<T>) {
      auto const wide = [](T x) { return simd::broadcast<N>(static_cast<double>(x)).v; };
      return simd::convert<T>(simd::packet<double, N>{
          simd::fused(simd::convert<double>(i).v, wide(f.by), wide(f.first))});
    } else
      return simd::add(simd::broadcast<N>(f.first),
                       simd::multiply(simd::convert<T>(i), simd::broadcast<N>(f.by)));
  }
};

}  // namespace LOCUS_SPACE(host)
LOCUS_VECTORS_END
#endif
