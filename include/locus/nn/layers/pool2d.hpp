// SPDX-License-Identifier: Apache-2.0
// Pools over images, channels last: MaxPool2D, AveragePool2D, and over whole images.
#pragma once
#include <locus/nn/layers/conv2d.hpp>      // images_behind, refuse_image
#include <locus/nn/layers/pool2d_ops.hpp>  // max_pool2d_op
#include <locus/tensor/relabel.hpp>        // relabel

namespace locus::nn {

/// What a trainer keeps of a MaxPool2D: nothing but the winners of a forward.
template <class T, class Replicas>
struct max_pool2d_state {
  using batch = batch_of<T, 4, Replicas>;
  static constexpr bool reads_x = false, reads_y = false;
  struct kept {
    batch_of<std::uint8_t, 4, Replicas> winners{Dextents<4>(0, 0, 0, 0)};
  };
  pool2d_window window;
  shape in;  // one image

  shape output_extents() const { return window.axes().slid(in, in.extent[2]); }
  template <class F>
  void for_each_parameter(F&&) {}
  batch forward(batch const& x, kept& k, pass const& p) {
    shape const e = output_extents();
    Dextents<4> const extents(x.extent(0), e.extent[0], e.extent[1], e.extent[2]);
    batch y(extents);
    if (p.training) k.winners = batch_of<std::uint8_t, 4, Replicas>(extents);
    auto const pooled = call(max_pool2d_op{window}, x);
    if (p.training)
      run(plan(into(y, result<0>(pooled)), into(k.winners, result<1>(pooled))));
    else
      y = result<0>(pooled);
    return y;
  }
  batch backward(batch const&, batch const&, kept& k, batch dy, bool need_dx) {
    if (!need_dx) return batch(Dextents<4>(0, in.extent[0], in.extent[1], in.extent[2]));
    return batch(call(max_pool2d_gradient_op{window, in}, dy, k.winners));
  }
};

/// What a trainer keeps of an AveragePool2D: nothing.
template <class T, class Replicas>
struct average_pool2d_state {
  using batch = batch_of<T, 4, Replicas>;
  using kept = nothing;
  static constexpr bool reads_x = false, reads_y = false;
  pool2d_window window;
  shape in;  // one image

  shape output_extents() const { return window.axes().slid(in, in.extent[2]); }
  template <class F>
  void for_each_parameter(F&&) {}
  batch forward(batch const& x, kept&, pass const&) {
    return batch(call(average_pool2d_op{window}, x));
  }
  batch backward(batch const&, batch const&, kept&, batch dy, bool need_dx) {
    if (!need_dx) return batch(Dextents<4>(0, in.extent[0], in.extent[1], in.extent[2]));
    return batch(call(average_pool2d_gradient_op{window, in}, dy));
  }
};

/// What a trainer keeps of a pool over whole images. Rank: of a batch of its results, 2, or 4 where the
/// axes stay.
template <class T, int Rank, bool Max, class Replicas>
struct global_pool2d_state {
  using in_batch = batch_of<T, 4, Replicas>;
  using out_batch = batch_of<T, Rank, Replicas>;
  using kept = nothing;
  static constexpr bool reads_x = Max, reads_y = Max;
  static constexpr pool2d_window window{{0, 1, 1}, {0, 1, 1}, padding::valid};
  shape in;  // one image

  shape output_extents() const {
    return Rank == 2 ? shape{1, {in.extent[2]}} : shape{3, {1, 1, in.extent[2]}};
  }
  template <class F>
  void for_each_parameter(F&&) {}
  out_batch forward(in_batch const& x, kept&, pass const&) {
    if constexpr (Max)
      return relabelled<out_batch>(in_batch(max<1, 2>(x, keep_dims)));
    else
      return relabelled<out_batch>(in_batch(call(average_pool2d_op{window}, x)));
  }
  in_batch backward(in_batch const& x, out_batch const& y, kept&, out_batch dy, bool need_dx) {
    if (!need_dx) return in_batch(Dextents<4>(0, in.extent[0], in.extent[1], in.extent[2]));
    in_batch const d = relabelled<in_batch>(dy);
    if constexpr (Max)
      return in_batch(call(global_max_gradient_op{}, x, relabelled<in_batch>(y), d));
    else
      return in_batch(call(average_pool2d_gradient_op{window, in}, d));
  }

 private:
  /// the same numbers as (rows, 1, 1, C) or as (rows, C)
  template <class To, class From>
  To relabelled(From const& x) const {
    bool const wide = std::is_same_v<To, in_batch>;
    shape const as = wide || Rank == 4 ? shape{4, {x.extent(0), 1, 1, in.extent[2]}}
                                       : shape{2, {x.extent(0), in.extent[2]}};
    return locus::detail::relabel<To>(x, as);
  }
};

namespace detail {

template <int PH, int PW, int Stride, padding Pad>
struct pool2d_description {
  static_assert(
      PH > 0 && PW > 0 && Stride >= 0,
      "locus: a layer over images has a window and steps of at least 1; write nn::Conv2D<32, 3>{}");
  static_assert(Pad != padding::causal,
                "locus: images have no causal padding; write padding::same or padding::valid");
  static constexpr pool2d_window window{
      {PH, Stride ? Stride : PH, 1}, {PW, Stride ? Stride : PW, 1}, Pad};

  static constexpr std::int64_t channels_of(std::int64_t c) { return c; }
  template <class In>
  using output = typename decltype(images_behind<pool2d_description, In>())::type;

 protected:
  static pool2d_window window_over(char const* kind, shape const& in) {
    if (!window.axes().has_room(in)) refuse_image(kind, in);
    return window;
  }
};

template <bool Max, bool KeepDims>
struct global_pool2d_description {
  template <class In>
  static consteval auto output_type() {
    static_assert(
        In::rank() == 3,
        "locus: a layer over images takes (H, W, channels); put nn::Reshape in front of it");
    if constexpr (In::rank() != 3)
      return std::type_identity<Extents<dyn>>{};
    else if constexpr (KeepDims)
      return std::type_identity<Extents<1, 1, In::pattern.extent[2]>>{};
    else
      return std::type_identity<Extents<In::pattern.extent[2]>>{};
  }
  template <class In>
  using output = typename decltype(output_type<In>())::type;
  template <class T, class In, class Replicas>
  using state = global_pool2d_state<T, KeepDims ? 4 : 2, Max, Replicas>;
  template <class T, class In, class Replicas>
  auto make(shape const& in, std::uint64_t) const {
    return state<T, In, Replicas>{in};
  }
};

}  // namespace detail

/// means: the largest number of each window, channel by channel: MaxPool2D<2>{},
///        MaxPool2D<3, 3, 2, padding::same>{}; Stride 0: windows side by side
/// shape: (H, W, C) -> (H', W', C)
/// cost:  a byte for each result, between forward and backward
/// after: keras.layers.MaxPooling2D; the first of several largest gets the gradient
template <int PH, int PW = PH, int Stride = 0, padding Pad = padding::valid>
struct MaxPool2D : detail::pool2d_description<PH, PW, Stride, Pad> {
  static_assert(PH * PW <= 256, "locus: the window of a MaxPool2D has more than 256 elements; pool "
                                "twice, or write nn::GlobalMaxPool2D{}");
  static constexpr char const* kind = "MaxPooling2D";
  template <class T, class In, class Replicas>
  using state = max_pool2d_state<T, Replicas>;
  template <class T, class In, class Replicas>
  auto make(shape const& in, std::uint64_t) const {
    return state<T, In, Replicas>{this->window_over("MaxPool2D", in), in};
  }
};

/// means: the mean of what each window has in the image, channel by channel
/// shape: (H, W, C) -> (H', W', C)
/// after: keras.layers.AveragePooling2D: zeros of the padding do not count
template <int PH, int PW = PH, int Stride = 0, padding Pad = padding::valid>
struct AveragePool2D : detail::pool2d_description<PH, PW, Stride, Pad> {
  static constexpr char const* kind = "AveragePooling2D";
  template <class T, class In, class Replicas>
  using state = average_pool2d_state<T, Replicas>;
  template <class T, class In, class Replicas>
  auto make(shape const& in, std::uint64_t) const {
    return state<T, In, Replicas>{this->window_over("AveragePool2D", in), in};
  }
};

/// means: the mean, or the largest, of each channel of an image
/// shape: (H, W, C) -> (C); (1, 1, C) where the axes are kept
/// after: keras.layers.GlobalAveragePooling2D, GlobalMaxPooling2D; as large ones share the gradient
template <bool KeepDims = false>
struct GlobalAveragePool2D : detail::global_pool2d_description<false, KeepDims> {
  static constexpr char const* kind = "GlobalAveragePooling2D";
};
template <bool KeepDims = false>
struct GlobalMaxPool2D : detail::global_pool2d_description<true, KeepDims> {
  static constexpr char const* kind = "GlobalMaxPooling2D";
};

}  // namespace locus::nn
