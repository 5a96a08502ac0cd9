// SPDX-License-Identifier: Apache-2.0
// Conv1D: y = a(x * kernel + bias) along one axis, channels last; with a MaxPool1D behind it one
// kernel does both.
#pragma once
#include <locus/nn/layers/conv1d_ops.hpp>  // conv1d_op, conv1d_gradient_op
#include <locus/nn/layers/dense.hpp>       // activate, activate_gradient
#include <locus/nn/layers/layer.hpp>       // batch_of
#include <locus/nn/layers/weights.hpp>     // weights, weighted
#include <locus/tensor/eval.hpp>           // run

namespace locus::nn {

/// What a trainer keeps of a Conv1D, or of one with the MaxPool1D behind it: kernel (taps, channels /
/// groups, filters), bias (filters).
template <class T, class Replicas, bool Pools>
struct conv1d_state : weights<T, Replicas> {
  using batch = batch_of<T, 3, Replicas>;
  struct winners : kept_end {  // which row of its pool each number was, a byte
    batch_of<std::uint8_t, 3, Replicas> of{Dextents<3>(0, 0, 0)};
  };
  using kept = std::conditional_t<Pools, winners, kept_end>;

  using weights<T, Replicas>::kernel, weights<T, Replicas>::bias, weights<T, Replicas>::how;

  conv1d_window window;  // relu is part of the kernel
  std::int64_t steps, channels;

  shape output_extents() const {
    return {2, {window.over(steps, channels).rows(), window.filters}};
  }

  batch forward(batch const& x, kept& k, pass const& p) {
    auto made = call(conv1d_op{window, this->biased}, x, kernel.value, bias.value);
    batch y(Dextents<3>(x.extent(0), output_extents().extent[0], window.filters));
    if constexpr (Pools) {
      if (p.training) {
        k.of = batch_of<std::uint8_t, 3, Replicas>(y.extents());
        run(plan(into(y, result<0>(made)), into(k.of, result<1>(made))));
      } else
        y = result<0>(made);
    } else
      y = result<0>(made);
    k.logits = p.logits;
    if (!window.relu && !p.logits) activate(y, how);
    return y;
  }
  batch backward(batch const& x, batch const& y, kept& k, batch dy, bool need_dx) {
    if (!window.relu && !k.logits) activate_gradient(y, dy, how);
    if constexpr (Pools)
      return backward_with(x, k.of, dy, need_dx);
    else
      return backward_with(x, y, dy, need_dx);
  }

 private:
  template <class Marks>
  batch backward_with(batch const& x, Marks const& marks, batch const& dy, bool need_dx) {
    auto made = call(conv1d_gradient_op{window}, x, kernel.value, marks, dy);
    batch dx(Dextents<3>(need_dx ? x.extent(0) : 0, steps, channels));
    if (need_dx)
      run(plan(into(dx, result<0>(made)), into(kernel.gradient, result<1>(made)),
               into(bias.gradient, result<2>(made))));
    else
      run(plan(into(kernel.gradient, result<1>(made)), into(bias.gradient, result<2>(made))));
    return dx;
  }
};

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
LOCUS_COLD_END
}  // namespace detail

/// means: y = a(x * kernel + bias): Conv1D<64, 5>{relu}, Conv1D<64, 5, padding::causal, 1, 2>{}
/// shape: (steps, channels) -> (steps', Filters); kernel (Taps, channels / Groups, Filters)
/// cost:  a multiply-add for each product; linear and relu are part of the kernel, and so is a MaxPool1D
///        behind it. The host copies no windows; a GPU copies them, a slab of 32 to 64 MiB at a time
/// fails: at compile time, for examples of another rank, groups that do not divide and windows that
///        do not fit; shape_error where sizes are known at run time
/// after: keras.layers.Conv1D: glorot_uniform, zeros
template <std::int64_t Filters, int Taps, padding Pad = padding::valid, int Stride = 1,
          int Dilation = 1, int Groups = 1>
struct Conv1D : weighted<Conv1D<Filters, Taps, Pad, Stride, Dilation, Groups>> {
  static_assert(Filters > 0 && Taps > 0 && Stride > 0 && Dilation > 0 && Groups > 0,
                "locus: a Conv1D has filters, a window and steps of at least 1; write "
                "nn::Conv1D<64, 5>{}");
  static_assert(Filters % Groups == 0, "locus: the filters of a Conv1D are no multiple of its "
                                       "groups; write as many filters for each group");
  static constexpr char const* kind = "Conv1D";
  static constexpr window_axes<1> steps{{{Taps, Stride, Dilation}}, Pad};

  constexpr Conv1D() = default;
  template <activation A>
  constexpr Conv1D(activation_constant<A>) : weighted<Conv1D>(A) {
    static_assert(A != activation::softmax,
                  "locus: a Conv1D has no softmax; put an nn::Activation behind it");
  }

  template <class In>
  static consteval auto output_type() {
    static_assert(
        In::rank() == 2,
        "locus: a Conv1D takes examples of two axes, (steps, channels); put nn::Embedding "
        "or nn::Reshape in front of it");
    if constexpr (In::rank() == 2) {
      constexpr shape in = In::pattern;
      constexpr std::int64_t n = steps.slid(in, Filters).extent[0];
      static_assert(in.extent[1] == dyn || in.extent[1] % Groups == 0,
                    "locus: the channels that a Conv1D takes are no multiple of its groups; change "
                    "the groups, or the layer before");
      static_assert(steps.has_room(in),
                    "locus: the window of a Conv1D is longer than its examples; write "
                    "padding::same, or a smaller window");
      return std::type_identity<Extents<n, Filters>>{};
    } else
      return std::type_identity<Extents<dyn, Filters>>{};
  }
  template <class In>
  using output = typename decltype(output_type<In>())::type;
  template <class T, class In, class Replicas>
  using state = conv1d_state<T, Replicas, false>;

  template <class T, class In, class Replicas>
  auto make(shape const& in, std::uint64_t seed) const {
    return make_with<T, Replicas, false>(in, seed, 1);
  }

  /// of this layer, and of the pair that it is with a pool of so many rows
  template <class T, class Replicas, bool Pools>
  auto make_with(shape const& in, std::uint64_t seed, std::int64_t pool) const {
    conv1d_window const w{Taps,   Stride, Dilation, Filters,
                          Groups, pool,   Pad,      this->how == activation::relu};
    conv1d_sizes const s = w.over(in.extent[0], in.extent[1]);
    if (in.extent[1] % Groups != 0 || s.windows < 1)
      detail::refuse_steps(kind, in, s.span(), Groups);
    if (s.rows() < 1) detail::refuse_steps("MaxPool1D", {2, {s.windows, Filters}}, pool, 1);
    return conv1d_state<T, Replicas, Pools>{
        this->template make_weights<T, Replicas>({3, {Taps, in.extent[1] / Groups, Filters}},
                                                 Filters, seed),
        w, in.extent[0], in.extent[1]};
  }
};

}  // namespace locus::nn
