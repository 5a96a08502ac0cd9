// SPDX-License-Identifier: Apache-2.0
// Conv2D and DepthwiseConv2D: y = a(x * kernel + bias) over images, channels last.
#pragma once
#include <locus/nn/layers/conv2d_ops.hpp>  // conv2d_op
#include <locus/nn/layers/dense.hpp>       // activate_gradient
#include <locus/nn/layers/layer.hpp>       // batch_of
#include <locus/nn/layers/weights.hpp>     // weights, weighted
#include <locus/tensor/eval.hpp>           // run

namespace locus::nn {

/// What a trainer keeps of a Conv2D: kernel (KH, KW, channels / groups, filters), bias (filters).
template <class T, class Replicas>
struct conv2d_state : weights<T, Replicas> {
  using batch = batch_of<T, 4, Replicas>;
  using typename weights<T, Replicas>::kept;
  using weights<T, Replicas>::kernel, weights<T, Replicas>::bias, weights<T, Replicas>::how,
      weights<T, Replicas>::biased;

  conv2d_window window;
  shape in;  // one image

  shape output_extents() const { return window.axes().slid(in, window.filters); }

  batch forward(batch const& x, kept& k, pass const& p) {
    k.logits = p.logits;
    bool const fused = detail::has_bounds(how);
    batch y(call(conv2d_op{window, biased, fused ? how : activation::linear}, x, kernel.value,
                 bias.value));
    if (!fused && !p.logits) activate(y, how);
    return y;
  }
  batch backward(batch const& x, batch const& y, kept& k, batch dy, bool need_dx) {
    if (!k.logits) activate_gradient(y, dy, how);
    auto const dw = call(conv2d_kernel_gradient_op{window}, x, dy);
    if (biased)
      run(plan(into(kernel.gradient, dw), into(bias.gradient, sum<0, 1, 2>(dy))));
    else
      kernel.gradient = dw;
    if (!need_dx) return batch(Dextents<4>(0, in.extent[0], in.extent[1], in.extent[2]));
    return batch(call(conv2d_input_gradient_op{window, in}, dy, kernel.value));
  }
};

namespace detail {

/// means: the extents behind a layer whose window moves over images In; the layer says how many
///        channels it makes of theirs
template <class Layer, class In>
consteval auto images_behind() {
  static_assert(
      In::rank() == 3,
      "locus: a layer over images takes (H, W, channels); put nn::Reshape in front of it");
  if constexpr (In::rank() == 3) {
    constexpr window_axes<2> axes = Layer::window.axes();
    static_assert(axes.has_room(In::pattern),
                  "locus: the window of this layer is larger than its images; write "
                  "padding::same, or a smaller window");
    constexpr shape out = axes.slid(In::pattern, Layer::channels_of(In::pattern.extent[2]));
    return std::type_identity<Extents<out.extent[0], out.extent[1], out.extent[2]>>{};
  } else
    return std::type_identity<Extents<dyn, dyn, dyn>>{};
}
[[noreturn, gnu::cold]] inline void refuse_image(char const* kind, shape const& in) {
  message text;
  throw shape_error(text << "locus: nn::" << std::string_view(kind)
                         << " does not fit images of extents " << in
                         << "; channels are multiples of the groups, and with "
                         << "padding::valid the window is no larger than the image");
}

/// What Conv2D and DepthwiseConv2D share.
template <class Derived>
struct conv2d_description : weighted<Derived> {
  constexpr conv2d_description() = default;
  template <activation A>
  constexpr conv2d_description(activation_constant<A>) : weighted<Derived>(A) {
    static_assert(A != activation::softmax, "locus: a convolution over images has no softmax; put "
                                            "nn::Activation{nn::softmax} behind it");
  }

 protected:
  template <class T, class Replicas>
  conv2d_state<T, Replicas> made(conv2d_window const& w, shape const& in,
                                 shape const& kernel_extents, std::uint64_t seed) const {
    if (in.extent[2] % w.groups != 0 || !w.axes().has_room(in)) refuse_image(Derived::kind, in);
    return {this->template make_weights<T, Replicas>(kernel_extents, w.filters, seed), w, in};
  }
};

}  // namespace detail

/// means: y = a(x * kernel + bias): Conv2D<32, 3>{relu}, Conv2D<64, 3, 3, padding::same, 2>{}
/// shape: (H, W, channels) -> (H', W', Filters); kernel (KH, KW, channels / Groups, Filters)
/// cost:  a multiply-add for each product; linear, relu and relu6 are part of the kernel. A GPU copies
///        windows of several pixels, a slab of 32 to 64 MiB at a time
/// fails: at compile time, for examples of another rank, groups that do not divide and windows that
///        do not fit; shape_error where sizes are known at run time
/// after: keras.layers.Conv2D: padding as TensorFlow pads, glorot_uniform, zeros
template <std::int64_t Filters, int KH, int KW = KH, padding Pad = padding::valid, int Stride = 1,
          int Dilation = 1, int Groups = 1>
struct Conv2D : detail::conv2d_description<Conv2D<Filters, KH, KW, Pad, Stride, Dilation, Groups>> {
  static_assert(
      Filters > 0 && KH > 0 && KW > 0 && Stride > 0 && Dilation > 0 && Groups > 0,
      "locus: a layer over images has a window and steps of at least 1; write nn::Conv2D<32, 3>{}");
  static_assert(
      Filters % Groups == 0,
      "locus: filters and channels of a Conv2D are no multiples of its groups; take other numbers");
  static_assert(Pad != padding::causal,
                "locus: images have no causal padding; write padding::same or padding::valid");
  static constexpr char const* kind = "Conv2D";
  static constexpr conv2d_window window{
      {KH, Stride, Dilation}, {KW, Stride, Dilation}, Pad, Filters, Groups};

  using detail::conv2d_description<Conv2D>::conv2d_description;

  static constexpr std::int64_t channels_of(std::int64_t) { return Filters; }
  template <class In>
  static consteval auto output_type() {
    if constexpr (In::rank() == 3) {
      constexpr std::int64_t channels = In::pattern.extent[2];
      static_assert(channels == dyn || channels % Groups == 0,
                    "locus: filters and channels of a Conv2D are no multiples of its groups; take "
                    "other numbers");
    }
    return detail::images_behind<Conv2D, In>();
  }
  template <class In>
  using output = typename decltype(output_type<In>())::type;
  template <class T, class In, class Replicas>
  using state = conv2d_state<T, Replicas>;

  template <class T, class In, class Replicas>
  auto make(shape const& in, std::uint64_t seed) const {
    return this->template made<T, Replicas>(window, in,
                                            {4, {KH, KW, in.extent[2] / Groups, Filters}}, seed);
  }
};

/// means: each channel by itself: filter c * Multiplier + j reads channel c
/// shape: (H, W, channels) -> (H', W', channels * Multiplier); kernel (KH, KW, channels, Multiplier)
/// after: keras.layers.DepthwiseConv2D
template <int KH, int KW = KH, padding Pad = padding::valid, int Stride = 1, int Dilation = 1,
          int Multiplier = 1>
struct DepthwiseConv2D
    : detail::conv2d_description<DepthwiseConv2D<KH, KW, Pad, Stride, Dilation, Multiplier>> {
  static_assert(
      KH > 0 && KW > 0 && Stride > 0 && Dilation > 0 && Multiplier > 0,
      "locus: a layer over images has a window and steps of at least 1; write nn::Conv2D<32, 3>{}");
  static_assert(Pad != padding::causal,
                "locus: images have no causal padding; write padding::same or padding::valid");
  static constexpr char const* kind = "DepthwiseConv2D";
  // filters and groups follow from the channels of the images
  static constexpr conv2d_window window{{KH, Stride, Dilation}, {KW, Stride, Dilation}, Pad};

  using detail::conv2d_description<DepthwiseConv2D>::conv2d_description;

  static constexpr std::int64_t channels_of(std::int64_t c) {
    return c == dyn ? dyn : c * Multiplier;
  }
  template <class In>
  using output = typename decltype(detail::images_behind<DepthwiseConv2D, In>())::type;
  template <class T, class In, class Replicas>
  using state = conv2d_state<T, Replicas>;

  template <class T, class In, class Replicas>
  auto make(shape const& in, std::uint64_t seed) const {
    std::int64_t const c = in.extent[2];
    return this->template made<T, Replicas>({window.h, window.w, Pad, c * Multiplier, c}, in,
                                            {4, {KH, KW, c, Multiplier}}, seed);
  }
};

}  // namespace locus::nn
