// SPDX-License-Identifier: Apache-2.0
// The loop_kernel of a stage: on packets if every functor has a packet form.
#if !defined(LOCUS_CLONE) && !defined(LOCUS_ENGINE_HOST_MAP_KERNEL)
#define LOCUS_ENGINE_HOST_MAP_KERNEL
#include <locus/engine/host/element_kernel.hpp>  // element_kernel
#include <locus/engine/host/loop_kernel.hpp>     // loop_kernel
#include <locus/engine/host/packet_kernel.hpp>   // packet_kernel

namespace locus::host {
inline namespace LOCUS_MODE {
/// means: size of an element in memory; 0: an index     units: bytes
template <class Kind>
inline constexpr int bytes_of_kind =
    std::is_same_v<Kind, kernel::own_offset> ? 0 : int(sizeof(typename Kind::type));
}  // namespace LOCUS_MODE
}  // namespace locus::host

#define LOCUS_CLONED <locus/engine/host/map_kernel.hpp>
#include <locus/simd/clones.hpp>  // reads this file once for each set of instructions
#elif defined(LOCUS_CLONE)
namespace LOCUS_SPACE(host) {

template <class Stage, class Folds, class Ins, class Outs>
struct map_kernel;
/// means: the kernel of a stage for one instruction set
template <class Stage, class Folds, class... Ins, class... Outs>
struct map_kernel<Stage, Folds, type_list<Ins...>, type_list<Outs...>> {
  static constexpr bool by_packets =
      runs_on_packets<lanes_of<Stage>, Stage> && (has_packet<typename Ins::type> && ... && true);
  using loop =
      std::conditional_t<by_packets,
                         packet_kernel<Stage, Folds, type_list<Ins...>, type_list<Outs...>>,
                         element_kernel<Stage, Folds, type_list<Ins...>, type_list<Outs...>>>;
  static constexpr float additions = by_packets ? 0.25f / lanes_of<Stage> : 0.5f;  // nanoseconds
  static constexpr int bytes[] = {bytes_of_kind<Ins>..., int(sizeof(Outs))...};
  static constexpr loop_kernel value{&loop::rows,
                                     int(sizeof...(Ins)),
                                     int(sizeof...(Outs)),
                                     by_packets ? lanes_of<Stage> : 0,
                                     kernel::cost_of<Stage>* additions,
                                     bytes};
};

}  // namespace LOCUS_SPACE(host)
#endif
