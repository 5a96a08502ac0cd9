// SPDX-License-Identifier: Apache-2.0
// The extents behind a window over examples of one axis or two, in types and at run time.
#pragma once
#include <type_traits>  // type_identity
#include <utility>      // index_sequence

#include <locus/nn/kernels/window.hpp>  // window_steps, padding
#include <locus/shape/extents.hpp>      // Extents
#include <locus/shape/shape.hpp>        // shape, dyn

namespace locus::nn {

/// A window over examples of N axes and channels: of steps, N = 1, or of images, N = 2.
template <int N>
struct window_axes {
  static constexpr int rank = N;
  window_steps along[N];
  padding pad = padding::valid;

  /// means: the extents behind the window, with so many channels
  /// shape: (n_1, ..., n_N, C) -> (n_1', ..., n_N', channels); an open extent stays open
  constexpr shape slid(shape const& example, std::int64_t channels) const {
    shape s{N + 1, {}};
    for (int a = 0; a < N; ++a) {
      std::int64_t const n = example.extent[a];
      s.extent[a] = n == dyn ? dyn : along[a].over(n, pad).out;
    }
    s.extent[N] = channels;
    return s;
  }
  /// means: the window fits along each axis whose extent is not open
  constexpr bool has_room(shape const& example) const {
    shape const s = slid(example, 1);
    for (int a = 0; a < N; ++a)
      if (s.extent[a] == 0) return false;
    return true;
  }
};

/// means: the window fits along each axis of examples In; are_multiples: groups divide their
///        channels. Both are true for another rank
template <class In, int N>
consteval bool has_room(window_axes<N> const& window) {
  if constexpr (In::rank() == N + 1) return window.has_room(In::pattern);
  return true;
}
template <class In, int N>
consteval bool are_multiples(std::int64_t groups) {
  if constexpr (In::rank() == N + 1)
    return In::pattern.extent[N] == dyn || In::pattern.extent[N] % groups == 0;
  return true;
}
/// means: the type of the Extents behind the window Layer::axes over examples In;
///        Layer::channels_of(C): the channels behind the layer for C channels in front
template <class Layer, class In, int N = decltype(Layer::axes)::rank>
consteval auto extents_behind() {
  return []<std::size_t... A>(std::index_sequence<A...>) {
    if constexpr (In::rank() == N + 1) {
      constexpr shape s = Layer::axes.slid(In::pattern, Layer::channels_of(In::pattern.extent[N]));
      return std::type_identity<Extents<s.extent[A]...>>{};
    } else
      return std::type_identity<Extents<(static_cast<void>(A), dyn)...>>{};
  }(std::make_index_sequence<N + 1>{});
}

}  // namespace locus::nn
