// SPDX-License-Identifier: Apache-2.0
// The state of a convolution, over steps or over images.
#pragma once
#include <locus/nn/layers/conv1d_ops.hpp>  // conv1d_op, conv1d_gradient_op
#include <locus/nn/layers/conv2d_ops.hpp>  // conv2d_op, conv2d_kernel_gradient_op
#include <locus/nn/layers/dense.hpp>       // activate, activate_gradient
#include <locus/nn/layers/layer.hpp>       // batch_of, batch_with
#include <locus/nn/layers/weights.hpp>     // weights
#include <locus/tensor/eval.hpp>           // run

namespace locus::nn {

/// The state of a convolution over examples of N axes. Pools: of a fused pair with a MaxPool1D.
/// shape: kernel (taps, channels / groups, filters) or (KH, KW, channels / groups, filters), bias
///        (filters)
template <class T, int N, class Replicas, bool Pools = false>
struct conv_state : weights<T, Replicas> {
  using batch = batch_of<T, N + 2, Replicas>;
  using marks = batch_of<std::uint8_t, N + 2, Replicas>;
  struct winners : kept_end {  // a byte for each result: its row in the pool
    marks of = batch_with<marks>(0, {N + 1, {}});
  };
  using kept = std::conditional_t<Pools, winners, kept_end>;

  using weights<T, Replicas>::kernel, weights<T, Replicas>::bias, weights<T, Replicas>::how,
      weights<T, Replicas>::biased;

  conv_window window;
  shape in;  // one example

  shape output_extents() const {
    if (N == 2) return window.axes().slid(in, window.filters);
    return {2, {window.over(1, in.extent[0], 1, in.extent[1]).rows(), window.filters}};
  }

  batch forward(batch const& x, kept& k, pass const& p) {
    k.logits = p.logits;
    bool const fused = N == 1 ? window.relu : detail::has_bounds(how);
    batch y = convolve(x, k, p.training, fused);
    if (!fused && !p.logits) activate(y, how);
    return y;
  }
  batch backward(batch const& x, batch const& y, kept& k, batch dy, bool need_dx) {
    if (!window.relu && !k.logits) activate_gradient(y, dy, how);
    if constexpr (Pools)
      return steps_backward(x, k.of, dy, need_dx);
    else if constexpr (N == 1)
      return steps_backward(x, y, dy, need_dx);
    else {
      auto const dw = call(conv2d_kernel_gradient_op{window}, x, dy);
      if (biased)
        run(plan(into(kernel.gradient, dw), into(bias.gradient, sum<0, 1, 2>(dy))));
      else
        kernel.gradient = dw;
      if (!need_dx) return batch_with<batch>(0, in);
      return batch(call(conv2d_input_gradient_op{window, in}, dy, kernel.value));
    }
  }
  /// means: dx alone
  batch input_gradient(batch const&, batch const& y, kept& k, batch dy)
    requires(N == 2 && !Pools)
  {
    if (!k.logits) activate_gradient(y, dy, how);
    return batch(call(conv2d_input_gradient_op{window, in}, dy, kernel.value));
  }

 private:
  batch convolve(batch const& x, [[maybe_unused]] kept& k, [[maybe_unused]] bool training,
                 [[maybe_unused]] bool fused) {
    if constexpr (N == 2) {
      conv2d_op const op{window, biased, fused ? how : activation::linear};
      return batch(call(op, x, kernel.value, bias.value));
    } else {
      auto made = call(conv1d_op{window, biased}, x, kernel.value, bias.value);
      batch y = batch_with<batch>(x.extent(0), output_extents());
      if constexpr (Pools)
        if (training) {
          k.of = batch_with<marks>(x.extent(0), output_extents());
          run(plan(into(y, result<0>(made)), into(k.of, result<1>(made))));
          return y;
        }
      y = result<0>(made);
      return y;
    }
  }
  template <class Marks>
  batch steps_backward(batch const& x, Marks const& of, batch const& dy, bool need_dx) {
    auto made = call(conv1d_gradient_op{window}, x, kernel.value, of, dy);
    batch dx = batch_with<batch>(need_dx ? x.extent(0) : 0, in);
    if (need_dx)
      run(plan(into(dx, result<0>(made)), into(kernel.gradient, result<1>(made)),
               into(bias.gradient, result<2>(made))));
    else
      run(plan(into(kernel.gradient, result<1>(made)), into(bias.gradient, result<2>(made))));
    return dx;
  }
};

}  // namespace locus::nn
