// SPDX-License-Identifier: Apache-2.0
// packet_form<F>: what a functor computes, on packets. A functor that has none runs element by
// element.
#if !defined(LOCUS_CLONE) && !defined(LOCUS_BACKEND_HOST_PACKET_FORM)
#define LOCUS_BACKEND_HOST_PACKET_FORM
#include <locus/ops/functors.hpp>  // add_fn
#include <locus/simd/packet.hpp>   // packet, mask

#define LOCUS_CLONED <locus/backend/host/packet_form.hpp>
#include <locus/simd/clones.hpp>  // reads this file once for each set of instructions
#elif defined(LOCUS_CLONE)
namespace LOCUS_SPACE(host) {

using simd::mask;
using simd::packet;

/// means: call(packets...) computes what F computes, lane by lane, to the bit
template <class F>
struct packet_form {};

}  // namespace LOCUS_SPACE(host)
#endif
