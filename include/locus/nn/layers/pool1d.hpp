// SPDX-License-Identifier: Apache-2.0
// Pools along one axis: those over images, of examples seen as images one pixel high. MaxPool1D behind
// a Conv1D is part of the convolution's kernel.
#pragma once
#include <locus/nn/layers/conv1d.hpp>  // conv1d_state, fused_pair
#include <locus/nn/layers/pool2d.hpp>  // max_pool2d_state, average_pool2d_state, global_pool2d_state
#include <locus/tensor/relabel.hpp>    // relabel

namespace locus::nn {

/// What a trainer keeps of a pool along one axis: that of the pool over images that does it.
/// Rank: of a batch of results
template <class Images, class T, int Rank, class Replicas>
struct pool1d_state {
  using in_batch = batch_of<T, 3, Replicas>;
  using out_batch = batch_of<T, Rank, Replicas>;
  using images = batch_of<T, 4, Replicas>;
  using kept = typename Images::kept;
  static constexpr bool reads_x = nn::reads_x<Images>(), reads_y = nn::reads_y<Images>();
  Images pool;  // of images (1, steps, channels)

  shape output_extents() const {
    shape const y = pool.output_extents();
    return Rank == 2 ? y : shape{2, {y.extent[1], y.extent[2]}};
  }
  template <class F>
  void for_each_parameter(F&&) {}
  out_batch forward(in_batch const& x, kept& k, pass const& p) {
    auto y = pool.forward(as_images(x), k, p);
    if constexpr (Rank == 2)
      return y;
    else
      return as_steps(y);
  }
  in_batch backward(in_batch const& x, out_batch const& y, kept& k, out_batch dy, bool need_dx) {
    if (!need_dx) return in_batch(Dextents<3>(0, pool.in.extent[1], pool.in.extent[2]));
    images const read = reads_x ? as_images(x) : images(Dextents<4>(0, 0, 0, 0));
    if constexpr (Rank == 2)
      return as_steps(pool.backward(read, y, k, std::move(dy), true));
    else  // none of these reads y
      return as_steps(pool.backward(read, images(Dextents<4>(0, 0, 0, 0)), k, as_images(dy), true));
  }

 private:
  static images as_images(in_batch const& x) {
    return locus::detail::relabel<images>(x, {4, {x.extent(0), 1, x.extent(1), x.extent(2)}});
  }
  static in_batch as_steps(images const& x) {
    return locus::detail::relabel<in_batch>(x, {3, {x.extent(0), x.extent(2), x.extent(3)}});
  }
};

namespace detail {

/// What MaxPool1D and AveragePool1D share. Stride 0: windows side by side.
template <int Size, int Stride, padding Pad>
struct pool1d_description {
  static_assert(Size > 0 && Stride >= 0,
                "locus: a pool has a window of at least 1; write nn::MaxPool1D<2>{}");
  static_assert(Pad != padding::causal,
                "locus: a pool has no causal padding; write padding::same or padding::valid");
  static constexpr int step = Stride ? Stride : Size;
  static constexpr pool2d_window window{{1, 1, 1}, {Size, step, 1}, Pad};
  static constexpr window_axes<1> steps{{window.w}, Pad};

  template <class In>
  static consteval auto output_type() {
    static_assert(In::rank() == 2,
                  "locus: a pool along one axis takes examples of two axes, (steps, channels); put "
                  "nn::Reshape in front of it");
    if constexpr (In::rank() == 2) {
      constexpr shape in = In::pattern;
      constexpr shape out = steps.slid(in, in.extent[1]);
      static_assert(steps.has_room(in),
                    "locus: the window of a pool is longer than its examples; write "
                    "padding::same, or a smaller window");
      return std::type_identity<Extents<out.extent[0], out.extent[1]>>{};
    } else
      return std::type_identity<Extents<dyn, dyn>>{};
  }
  template <class In>
  using output = typename decltype(output_type<In>())::type;

 protected:
  static shape image_of(char const* kind, shape const& in) {
    if (!steps.has_room(in)) refuse_steps(kind, in, Size, 1);
    return {3, {1, in.extent[0], in.extent[1]}};
  }
};

}  // namespace detail

/// means: the largest number of each window, channel by channel: MaxPool1D<2>{},
///        MaxPool1D<3, 1, padding::same>{}
/// shape: (steps, C) -> (steps', C)
/// cost:  a byte for each result, between forward and backward; behind a Conv1D its rows are never
///        stored
/// after: keras.layers.MaxPooling1D; the first of several largest gets the gradient
template <int Size, int Stride = 0, padding Pad = padding::valid>
struct MaxPool1D : detail::pool1d_description<Size, Stride, Pad> {
  static_assert(Size <= 254,
                "locus: the window of a MaxPool1D has at most 254 steps; pool twice, or write "
                "nn::GlobalMaxPool1D");
  static constexpr char const* kind = "MaxPooling1D";
  template <class T, class In, class Replicas>
  using state = pool1d_state<max_pool2d_state<T, Replicas>, T, 3, Replicas>;
  template <class T, class In, class Replicas>
  auto make(shape const& in, std::uint64_t) const {
    return state<T, In, Replicas>{{this->window, this->image_of("MaxPool1D", in)}};
  }
};

/// means: the mean of what each window has in the example, channel by channel
/// shape: (steps, C) -> (steps', C)
/// after: keras.layers.AveragePooling1D: zeros of the padding do not count
template <int Size, int Stride = 0, padding Pad = padding::valid>
struct AveragePool1D : detail::pool1d_description<Size, Stride, Pad> {
  static constexpr char const* kind = "AveragePooling1D";
  template <class T, class In, class Replicas>
  using state = pool1d_state<average_pool2d_state<T, Replicas>, T, 3, Replicas>;
  template <class T, class In, class Replicas>
  auto make(shape const& in, std::uint64_t) const {
    return state<T, In, Replicas>{{this->window, this->image_of("AveragePool1D", in)}};
  }
};

namespace detail {
template <bool Max>
struct global_pool1d_description {
  template <class In>
  static consteval auto output_type() {
    static_assert(In::rank() == 2,
                  "locus: a pool along one axis takes examples of two axes, (steps, channels); put "
                  "nn::Reshape in front of it");
    if constexpr (In::rank() == 2)
      return std::type_identity<Extents<In::pattern.extent[1]>>{};
    else
      return std::type_identity<Extents<dyn>>{};
  }
  template <class In>
  using output = typename decltype(output_type<In>())::type;
  template <class T, class In, class Replicas>
  using state = pool1d_state<global_pool2d_state<T, 2, Max, Replicas>, T, 2, Replicas>;
  template <class T, class In, class Replicas>
  auto make(shape const& in, std::uint64_t) const {
    return state<T, In, Replicas>{{shape{3, {1, in.extent[0], in.extent[1]}}}};
  }
};
}  // namespace detail

/// means: the mean, or the largest, of each channel of an example
/// shape: (steps, C) -> (C)
/// after: keras.layers.GlobalAveragePooling1D, GlobalMaxPooling1D; as large ones share the gradient
struct GlobalAveragePool1D : detail::global_pool1d_description<false> {
  static constexpr char const* kind = "GlobalAveragePooling1D";
};
struct GlobalMaxPool1D : detail::global_pool1d_description<true> {
  static constexpr char const* kind = "GlobalMaxPooling1D";
};

// ---- a Conv1D and the MaxPool1D behind it, windows side by side: one kernel ----

namespace detail {
template <class Conv, int Size>
struct conv1d_and_pool {
  static constexpr char const* kind = Conv::kind;
  Conv conv;
  template <class T, class In, class Replicas>
  using state = conv1d_state<T, Replicas, true>;
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
