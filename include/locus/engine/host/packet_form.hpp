// SPDX-License-Identifier: Apache-2.0
// packet_form<F>: the functor F on packets. A kernel with a functor without this form runs element
// by element.
#if !defined(LOCUS_CLONE) && !defined(LOCUS_ENGINE_HOST_PACKET_FORM)
#define LOCUS_ENGINE_HOST_PACKET_FORM
#include <locus/ops/functors.hpp>         // add_fn
#include <locus/simd/complex_packet.hpp>  // packets of complex numbers
#include <locus/simd/packet.hpp>          // packet, mask

#define LOCUS_CLONED <locus/engine/host/packet_form.hpp>
#include <locus/simd/clones.hpp>  // reads this file once for each set of instructions
#elif defined(LOCUS_CLONE)
LOCUS_VECTORS_BEGIN
namespace LOCUS_SPACE(host) {

using simd::mask;
using simd::packet;

/// means: call(packets...) has the bits of F on each lane
template <class F>
struct packet_form {};

/// means: F on each lane, one after another, for an F without a vector form
/// cost:  the scalar function for each lane; the other functors of the kernel stay on packets
template <class F, class T, int N>
LOCUS_VECTOR_FUNCTION packet<T, N> by_lanes(packet<T, N> a) {
  T in[N], out[N];
  simd::store(in, a);
  for (int j = 0; j < N; ++j) out[j] = F{}(in[j]);
  return simd::load<N>(out);
}
template <class F, class T, int N>
LOCUS_VECTOR_FUNCTION packet<T, N> by_lanes(packet<T, N> a, packet<T, N> b) {
  T left[N], right[N], out[N];
  simd::store(left, a), simd::store(right, b);
  for (int j = 0; j < N; ++j) out[j] = F{}(left[j], right[j]);
  return simd::load<N>(out);
}

}  // namespace LOCUS_SPACE(host)
LOCUS_VECTORS_END
#endif
