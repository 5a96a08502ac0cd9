// SPDX-License-Identifier: Apache-2.0
// Conv1D, Conv2D and DepthwiseConv2D: y = a(x * kernel + bias), channels last.
#pragma once
#include <locus/nn/layers/conv_state.hpp>  // conv_state
#include <locus/nn/layers/weights.hpp>     // weighted

namespace locus::nn {

namespace detail {
LOCUS_COLD_BEGIN
[[noreturn]] inline void refuse_steps(char const* kind, shape const& in, std::int64_t span,
                                      std::int64_t groups) {
  message text;
  text << "locus: nn::" << std::string_view(kind) << " does not fit examples of extents " << in
       << ": a window has " << span << " steps";
  if (groups > 1) text << ", and channels are a multiple of " << groups << " groups";
  throw shape_error(text << "; write padding::same, or a smaller window");
}
[[noreturn]] inline void refuse_image(char const* kind, shape const& in) {
  message text;
  throw shape_error(text << "locus: nn::" << std::string_view(kind)
                         << " does not fit images of extents " << in
                         << "; channels are multiples of the groups, and with "
                         << "padding::valid the window is no larger than the image");
}
LOCUS_COLD_END

/// means: the extents behind a layer whose window, Layer::axes, moves over images In
template <class Layer, class In>
consteval auto images_behind() {
  static_assert(
      In::rank() == 3,
      "locus: a layer over images takes (H, W, channels); put nn::Reshape in front of it");
  static_assert(has_room<In>(Layer::axes),
                "locus: the window of this layer is larger than its images; write "
                "padding::same, or a smaller window");
  return extents_behind<Layer, In>();
}

/// The base of convolutions over examples of N axes.
template <class Derived, int N>
struct conv_description : weighted<Derived> {
  constexpr conv_description() = default;
  template <activation A>
  constexpr conv_description(activation_constant<A>) : weighted<Derived>(A) {
    static_assert(N == 2 || A != activation::softmax,
                  "locus: a Conv1D has no softmax; put an nn::Activation behind it");
    static_assert(N == 1 || A != activation::softmax,
                  "locus: a convolution over images has no softmax; put "
                  "nn::Activation{nn::softmax} behind it");
  }

  template <class T, class In, class Replicas>
  using state = conv_state<T, N, Replicas>;

 protected:
  template <class T, class Replicas, bool Pools = false>
  conv_state<T, N, Replicas, Pools> made(conv_window const& w, shape const& in,
                                         shape const& kernel_extents, std::uint64_t seed) const {
    if (N == 2 && (in.extent[2] % w.groups != 0 || !w.axes().has_room(in)))
      refuse_image(Derived::kind, in);
    return {this->template make_weights<T, Replicas>(kernel_extents, w.filters, seed), w, in};
  }
};

}  // namespace detail

/// means: y = a(x * kernel + bias): Conv1D<64, 5>{relu}, Conv1D<64, 5, padding::causal, 1, 2>{}
/// shape: (steps, channels) -> (steps', Filters); kernel (Taps, channels / Groups, Filters)
/// cost:  a multiply-add for each product; the kernel includes linear, relu, and a MaxPool1D behind
///        it. The host copies no windows; a GPU copies them, a slab of 32 to 64 MiB at a time
/// fails: at compile time, for examples of another rank, groups that do not divide the channels and
///        windows that do not fit; shape_error for sizes that are open at compile time
/// after: keras.layers.Conv1D: glorot_uniform, zeros
template <std::int64_t Filters, int Taps, padding Pad = padding::valid, int Stride = 1,
          int Dilation = 1, int Groups = 1>
struct Conv1D : detail::conv_description<Conv1D<Filters, Taps, Pad, Stride, Dilation, Groups>, 1> {
  static_assert(Filters > 0 && Taps > 0 && Stride > 0 && Dilation > 0 && Groups > 0,
                "locus: a Conv1D has filters, a window and steps of at least 1; write "
                "nn::Conv1D<64, 5>{}");
  static_assert(Filters % Groups == 0, "locus: the filters of a Conv1D are no multiple of its "
                                       "groups; write as many filters for each group");
  static constexpr char const* kind = "Conv1D";
  static constexpr window_axes<1> axes{{{Taps, Stride, Dilation}}, Pad};

  using detail::conv_description<Conv1D, 1>::conv_description;

  static constexpr std::int64_t channels_of(std::int64_t) { return Filters; }
  template <class In>
  static consteval auto output_type() {
    static_assert(
        In::rank() == 2,
        "locus: a Conv1D takes examples of two axes, (steps, channels); put nn::Embedding "
        "or nn::Reshape in front of it");
    static_assert(are_multiples<In, 1>(Groups),
                  "locus: the channels that a Conv1D takes are no multiple of its groups; change "
                  "the groups, or the layer before");
    static_assert(has_room<In>(axes),
                  "locus: the window of a Conv1D is longer than its examples; write "
                  "padding::same, or a smaller window");
    return extents_behind<Conv1D, In>();
  }
  template <class In>
  using output = typename decltype(output_type<In>())::type;
  template <class T, class In, class Replicas>
  auto make(shape const& in, std::uint64_t seed) const {
    return make_with<T, Replicas, false>(in, seed, 1);
  }

  /// the state of this layer, or, with Pools, of its fused pair with a pool of `pool` rows
  template <class T, class Replicas, bool Pools>
  auto make_with(shape const& in, std::uint64_t seed, std::int64_t pool) const {
    conv_window const w{
        axes.along[0], {}, Pad, Filters, Groups, pool, this->how == activation::relu};
    conv_geometry const g = w.over(1, in.extent[0], 1, in.extent[1]);
    if (in.extent[1] % Groups != 0 || g.h.out < 1)
      detail::refuse_steps(kind, in, g.h.span(), Groups);
    if (g.rows() < 1) detail::refuse_steps("MaxPool1D", {2, {g.h.out, Filters}}, pool, 1);
    return this->template made<T, Replicas, Pools>(
        w, in, {3, {Taps, in.extent[1] / Groups, Filters}}, seed);
  }
};

/// means: y = a(x * kernel + bias): Conv2D<32, 3>{relu}, Conv2D<64, 3, 3, padding::same, 2>{}
/// shape: (H, W, channels) -> (H', W', Filters); kernel (KH, KW, channels / Groups, Filters)
/// cost:  a multiply-add for each product; the kernel includes linear, relu and relu6. A GPU copies
///        windows of several pixels, a slab of 32 to 64 MiB at a time
/// fails: at compile time, for examples of another rank, groups that do not divide the channels and
///        windows that do not fit; shape_error for sizes that are open at compile time
/// after: keras.layers.Conv2D: padding as TensorFlow pads, glorot_uniform, zeros
template <std::int64_t Filters, int KH, int KW = KH, padding Pad = padding::valid, int Stride = 1,
          int Dilation = 1, int Groups = 1>
struct Conv2D
    : detail::conv_description<Conv2D<Filters, KH, KW, Pad, Stride, Dilation, Groups>, 2> {
  static_assert(
      Filters > 0 && KH > 0 && KW > 0 && Stride > 0 && Dilation > 0 && Groups > 0,
      "locus: a layer over images has a window and steps of at least 1; write nn::Conv2D<32, 3>{}");
  static_assert(
      Filters % Groups == 0,
      "locus: filters and channels of a Conv2D are no multiples of its groups; take other numbers");
  static_assert(Pad != padding::causal,
                "locus: images have no causal padding; write padding::same or padding::valid");
  static constexpr char const* kind = "Conv2D";
  static constexpr window_axes<2> axes{{{KH, Stride, Dilation}, {KW, Stride, Dilation}}, Pad};

  using detail::conv_description<Conv2D, 2>::conv_description;

  static constexpr std::int64_t channels_of(std::int64_t) { return Filters; }
  template <class In>
  static consteval auto output_type() {
    static_assert(are_multiples<In, 2>(Groups),
                  "locus: filters and channels of a Conv2D are no multiples of its groups; take "
                  "other numbers");
    return detail::images_behind<Conv2D, In>();
  }
  template <class In>
  using output = typename decltype(output_type<In>())::type;
  template <class T, class In, class Replicas>
  auto make(shape const& in, std::uint64_t seed) const {
    conv_window const w{axes.along[0], axes.along[1], Pad, Filters, Groups};
    return this->template made<T, Replicas>(w, in, {4, {KH, KW, in.extent[2] / Groups, Filters}},
                                            seed);
  }
};

/// means: a Conv2D whose filter c * Multiplier + j reads channel c alone
/// shape: (H, W, channels) -> (H', W', channels * Multiplier); kernel (KH, KW, channels, Multiplier)
/// after: keras.layers.DepthwiseConv2D
template <int KH, int KW = KH, padding Pad = padding::valid, int Stride = 1, int Dilation = 1,
          int Multiplier = 1>
struct DepthwiseConv2D
    : detail::conv_description<DepthwiseConv2D<KH, KW, Pad, Stride, Dilation, Multiplier>, 2> {
  static_assert(
      KH > 0 && KW > 0 && Stride > 0 && Dilation > 0 && Multiplier > 0,
      "locus: a layer over images has a window and steps of at least 1; write nn::Conv2D<32, 3>{}");
  static_assert(Pad != padding::causal,
                "locus: images have no causal padding; write padding::same or padding::valid");
  static constexpr char const* kind = "DepthwiseConv2D";
  static constexpr window_axes<2> axes{{{KH, Stride, Dilation}, {KW, Stride, Dilation}}, Pad};

  using detail::conv_description<DepthwiseConv2D, 2>::conv_description;

  static constexpr std::int64_t channels_of(std::int64_t c) {
    return c == dyn ? dyn : c * Multiplier;
  }
  template <class In>
  using output = typename decltype(detail::images_behind<DepthwiseConv2D, In>())::type;
  template <class T, class In, class Replicas>
  auto make(shape const& in, std::uint64_t seed) const {
    std::int64_t const c = in.extent[2];
    conv_window const w{axes.along[0], axes.along[1], Pad, c * Multiplier, c};
    return this->template made<T, Replicas>(w, in, {4, {KH, KW, c, Multiplier}}, seed);
  }
};

}  // namespace locus::nn
