// SPDX-License-Identifier: Apache-2.0
// Pools over steps and over images, channels last: the largest or the mean of a window or of a
// whole example.
// A MaxPool1D behind a Conv1D is part of the convolution's kernel.
#pragma once
#include <locus/nn/layers/conv.hpp>        // Conv1D, images_behind, refuse_image, refuse_steps
#include <locus/nn/layers/pool_state.hpp>  // pool_state, global_pool_state

namespace locus::nn {

namespace detail {

/// means: examples In have N axes and channels
template <class In, int N>
consteval void require_axes() {
  static_assert(N == 2 || In::rank() == 2,
                "locus: a pool along one axis takes examples of two axes, (steps, channels); put "
                "nn::Reshape in front of it");
  static_assert(
      N == 1 || In::rank() == 3,
      "locus: a layer over images takes (H, W, channels); put nn::Reshape in front of it");
}

/// The base of pools with a window: over steps (N = 1, images that are one pixel high, PH = 1) or
/// over images (N = 2). Stride 0: windows lie side by side.
template <int N, int PH, int PW, int Stride, padding Pad, bool Max>
struct pool_description {
  static_assert(N == 1 || (PH > 0 && PW > 0 && Stride >= 0),
                "locus: a pool over images has a window of at least 1; write nn::MaxPool2D<2>{}");
  static_assert(N == 2 || (PW > 0 && Stride >= 0),
                "locus: a pool has a window of at least 1; write nn::MaxPool1D<2>{}");
  static_assert(N == 1 || Pad != padding::causal,
                "locus: images have no causal padding; write padding::same or padding::valid");
  static_assert(N == 2 || Pad != padding::causal,
                "locus: a pool has no causal padding; write padding::same or padding::valid");
  static constexpr pool2d_window window{
      {PH, Stride&& N == 2 ? Stride : PH, 1}, {PW, Stride ? Stride : PW, 1}, Pad};
  static constexpr auto axes = [] {
    if constexpr (N == 1)
      return window_axes<1>{{window.w}, Pad};
    else
      return window.axes();
  }();

  static constexpr std::int64_t channels_of(std::int64_t c) { return c; }
  template <class In>
  static consteval auto output_type() {
    require_axes<In, N>();
    static_assert(N == 2 || has_room<In>(axes),
                  "locus: the window of a pool is longer than its examples; write "
                  "padding::same, or a smaller window");
    static_assert(N == 1 || has_room<In>(axes),
                  "locus: the window of this layer is larger than its images; write "
                  "padding::same, or a smaller window");
    return extents_behind<pool_description, In>();
  }
  template <class In>
  using output = typename decltype(output_type<In>())::type;
  template <class T, class In, class Replicas>
  using state = pool_state<T, N, Max, Replicas>;
  template <class T, class In, class Replicas>
  auto make(shape const& in, std::uint64_t) const {
    constexpr char const* names[] = {"AveragePool1D", "AveragePool2D", "MaxPool1D", "MaxPool2D"};
    char const* const name = names[2 * Max + N - 1];
    if (N == 1 && !axes.has_room(in)) refuse_steps(name, in, PW, 1);
    if (N == 2 && !axes.has_room(in)) refuse_image(name, in);
    return state<T, In, Replicas>{
        {window, N == 1 ? shape{3, {1, in.extent[0], in.extent[1]}} : in}};
  }
};

template <int N, bool Max, bool KeepDims = false>
struct global_pool_description {
  template <class In>
  static consteval auto output_type() {
    require_axes<In, N>();
    if constexpr (In::rank() != N + 1)
      return std::type_identity<Extents<dyn>>{};
    else if constexpr (KeepDims)
      return std::type_identity<Extents<1, 1, In::pattern.extent[N]>>{};
    else
      return std::type_identity<Extents<In::pattern.extent[N]>>{};
  }
  template <class In>
  using output = typename decltype(output_type<In>())::type;
  template <class T, class In, class Replicas>
  using state = global_pool_state<T, N, KeepDims ? 4 : 2, Max, Replicas>;
  template <class T, class In, class Replicas>
  auto make(shape const& in, std::uint64_t) const {
    return state<T, In, Replicas>{{{{0, 1, 1}, {0, 1, 1}, padding::valid},
                                   N == 1 ? shape{3, {1, in.extent[0], in.extent[1]}} : in}};
  }
};

}  // namespace detail

/// means: the largest number of each window, channel by channel: MaxPool1D<2>{},
///        MaxPool1D<3, 1, padding::same>{}
/// shape: (steps, C) -> (steps', C)
/// cost:  a byte for each result, from the forward to the backward pass; the results of a Conv1D in
///        front of it are never stored
/// after: keras.layers.MaxPooling1D; the first of several largest gets the gradient
template <int Size, int Stride = 0, padding Pad = padding::valid>
struct MaxPool1D : detail::pool_description<1, 1, Size, Stride, Pad, true> {
  static_assert(Size <= 254,
                "locus: the window of a MaxPool1D has at most 254 steps; pool twice, or write "
                "nn::GlobalMaxPool1D");
  static constexpr char const* kind = "MaxPooling1D";
};

/// means: the mean over the steps of each window that lie in the example, channel by channel
/// shape: (steps, C) -> (steps', C)
/// after: keras.layers.AveragePooling1D: zeros of the padding do not count
template <int Size, int Stride = 0, padding Pad = padding::valid>
struct AveragePool1D : detail::pool_description<1, 1, Size, Stride, Pad, false> {
  static constexpr char const* kind = "AveragePooling1D";
};

/// means: the largest number of each window, channel by channel: MaxPool2D<2>{},
///        MaxPool2D<3, 3, 2, padding::same>{}; Stride 0: windows lie side by side
/// shape: (H, W, C) -> (H', W', C)
/// cost:  a byte for each result, from the forward to the backward pass
/// after: keras.layers.MaxPooling2D; the first of several largest gets the gradient
template <int PH, int PW = PH, int Stride = 0, padding Pad = padding::valid>
struct MaxPool2D : detail::pool_description<2, PH, PW, Stride, Pad, true> {
  static_assert(PH * PW <= 256, "locus: the window of a MaxPool2D has more than 256 elements; pool "
                                "twice, or write nn::GlobalMaxPool2D{}");
  static constexpr char const* kind = "MaxPooling2D";
};

/// means: the mean over the pixels of each window that lie in the image, channel by channel
/// shape: (H, W, C) -> (H', W', C)
/// after: keras.layers.AveragePooling2D: zeros of the padding do not count
template <int PH, int PW = PH, int Stride = 0, padding Pad = padding::valid>
struct AveragePool2D : detail::pool_description<2, PH, PW, Stride, Pad, false> {
  static constexpr char const* kind = "AveragePooling2D";
};

/// means: the mean, or the largest, of each channel of an example
/// shape: (steps, C) -> (C)
/// after: keras.layers.GlobalAveragePooling1D, GlobalMaxPooling1D; several largest numbers share
///        the gradient
struct GlobalAveragePool1D : detail::global_pool_description<1, false> {
  static constexpr char const* kind = "GlobalAveragePooling1D";
};
struct GlobalMaxPool1D : detail::global_pool_description<1, true> {
  static constexpr char const* kind = "GlobalMaxPooling1D";
};

/// means: the mean, or the largest, of each channel of an image
/// shape: (H, W, C) -> (C); (1, 1, C) with KeepDims
/// after: keras.layers.GlobalAveragePooling2D, GlobalMaxPooling2D; several largest numbers share
///        the gradient
template <bool KeepDims = false>
struct GlobalAveragePool2D : detail::global_pool_description<2, false, KeepDims> {
  static constexpr char const* kind = "GlobalAveragePooling2D";
};
template <bool KeepDims = false>
struct GlobalMaxPool2D : detail::global_pool_description<2, true, KeepDims> {
  static constexpr char const* kind = "GlobalMaxPooling2D";
};

// ---- one kernel for a Conv1D and a MaxPool1D behind it whose windows lie side by side ----

namespace detail {
template <class Conv, int Size>
struct conv1d_and_pool {
  static constexpr char const* kind = Conv::kind;
  Conv conv;
  template <class T, class In, class Replicas>
  using state = conv_state<T, 1, Replicas, true>;
  template <class T, class In, class Replicas>
  auto make(shape const& in, std::uint64_t seed) const {
    return conv.template make_with<T, Replicas, true>(in, seed, Size);
  }
};
}  // namespace detail

template <std::int64_t Filters, int Taps, padding Pad, int Stride, int Dilation, int Groups,
          int Size, int Step>
  requires(Size > 1 && (Step == 0 || Step == Size))
struct fused_pair<Conv1D<Filters, Taps, Pad, Stride, Dilation, Groups>,
                  MaxPool1D<Size, Step, padding::valid>> {
  using conv = Conv1D<Filters, Taps, Pad, Stride, Dilation, Groups>;
  static constexpr bool exists = true;
  using type = detail::conv1d_and_pool<conv, Size>;
  static constexpr type of(conv const& first, MaxPool1D<Size, Step, padding::valid> const&) {
    return {first};
  }
};

}  // namespace locus::nn
