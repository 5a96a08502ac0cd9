// SPDX-License-Identifier: Apache-2.0
// Several reducers as one: a pack of totals and a pack of lanes.
#pragma once
#include <locus/core/macros.hpp>     // LOCUS_HOST_DEVICE
#include <locus/core/pack.hpp>       // pack
#include <locus/core/type_list.hpp>  // type_list

LOCUS_LEAN_BEGIN

namespace locus::cuda_side {
inline namespace LOCUS_MODE {

template <class Reducers>
struct totals_of;
template <class... Reducers>
struct totals_of<type_list<Reducers...>> {
  using total = pack<typename Reducers::total...>;
  using lane = pack<typename Reducers::lane...>;
  using results = pack<typename Reducers::result...>;
  static constexpr int count = sizeof...(Reducers);
  /// Values that a lane adds before it goes to the total: of equal values, only the third addition
  /// can round. One addition of doubles for 4 floats is hidden behind memory, even on a card with
  /// few units for doubles.
  static constexpr int adds = ((Reducers::block < 1 << 30) || ...) ? 4 : 1 << 30;

  LOCUS_HOST_DEVICE static constexpr total identity() { return {{Reducers::identity()}...}; }
  LOCUS_HOST_DEVICE static constexpr lane start() { return {{Reducers::start()}...}; }
  LOCUS_HOST_DEVICE static constexpr total combine(total const& a, total const& b) {
    return combine(a, b, each{});
  }
  /// means: adds the first results of r, one for each reducer
  template <class Values>
  LOCUS_HOST_DEVICE static constexpr void add(lane& to, Values const& r) {
    add(to, r, each{});
  }
  /// means: adds the lane to the total and restarts the lane
  LOCUS_HOST_DEVICE static constexpr void flush(total& to, lane& from) { flush(to, from, each{}); }
  LOCUS_HOST_DEVICE static constexpr results finish(total const& t, double const* counts) {
    return finish(t, counts, each{});
  }

 private:
  using each = std::index_sequence_for<Reducers...>;
  template <std::size_t... N>
  LOCUS_HOST_DEVICE static constexpr total combine(total const& a, total const& b,
                                                   std::index_sequence<N...>) {
    return {{Reducers::combine(get<N>(a), get<N>(b))}...};
  }
  template <class Values, std::size_t... N>
  LOCUS_HOST_DEVICE static constexpr void add(lane& to, Values const& r,
                                              std::index_sequence<N...>) {
    ((get<N>(to) = Reducers::add(get<N>(to), get<N>(r))), ...);
  }
  template <std::size_t... N>
  LOCUS_HOST_DEVICE static constexpr void flush(total& to, lane& from, std::index_sequence<N...>) {
    ((get<N>(to) = Reducers::combine(get<N>(to), Reducers::widen(get<N>(from)))), ...);
    from = start();
  }
  template <std::size_t... N>
  LOCUS_HOST_DEVICE static constexpr results finish(total const& t, double const* counts,
                                                    std::index_sequence<N...>) {
    return {{Reducers::finish(get<N>(t), counts[N])}...};
  }
};

}  // namespace LOCUS_MODE
}  // namespace locus::cuda_side

LOCUS_LEAN_END
