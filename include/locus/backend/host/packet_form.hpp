// SPDX-License-Identifier: Apache-2.0
// packet_form<F>: what a functor computes, on packets. A functor that has none runs element by
// element.
#pragma once
#include <locus/ops/functors.hpp>  // add_fn
#include <locus/simd/packet.hpp>   // packet, mask

namespace locus::host {
inline namespace LOCUS_MODE {

using simd::mask;
using simd::packet;

/// means: call(packets...) computes what F computes, lane by lane, to the bit
template <class F>
struct packet_form {};

}  // namespace LOCUS_MODE
}  // namespace locus::host
