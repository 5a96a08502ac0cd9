// SPDX-License-Identifier: Apache-2.0
// Dense<Units>: y = a(x W + b).
#pragma once
#include <locus/nn/layers/activate.hpp>  // activate_fn
#include <locus/nn/layers/layer.hpp>     // batch_of
#include <locus/nn/layers/weights.hpp>   // weights, weighted
#include <locus/ops/matmul.hpp>          // matmul
#include <locus/ops/softmax.hpp>         // softmax
#include <locus/tensor/eval.hpp>         // eval

namespace locus::nn {

/// means: y = softmax(x) along the last axis, and dx from y and dy
template <class T, int Rank, class Replicas>
batch_of<T, Rank, Replicas> softmax_rows(batch_of<T, Rank, Replicas> const& x) {
  return batch_of<T, Rank, Replicas>(locus::softmax(x));
}
template <class T, int Rank, class Replicas>
batch_of<T, Rank, Replicas> softmax_rows_gradient(batch_of<T, Rank, Replicas> const& y,
                                                  batch_of<T, Rank, Replicas> const& dy) {
  return batch_of<T, Rank, Replicas>(y * (dy - sum<-1>(y * dy, keep_dims)));
}

/// means: activate: x = a(x); activate_gradient: dy = dy * a'(x), from y = a(x)
/// cost:  nothing for linear
template <class Batch>
void activate(Batch& x, activation how) {
  if (how != activation::linear) x = map(activate_fn{how}, x);
}
template <class Batch>
void activate_gradient(Batch const& y, Batch& dy, activation how) {
  if (how != activation::linear) dy = map(activate_gradient_fn{how}, y, dy);
}

/// The state of a Dense: kernel (inputs, units), bias (units). Rows: softmax at the end.
template <class T, class Replicas, bool Rows>
struct dense_state : weights<T, Replicas> {
  using batch = batch_of<T, 2, Replicas>;
  using typename weights<T, Replicas>::kept;
  using weights<T, Replicas>::kernel, weights<T, Replicas>::bias, weights<T, Replicas>::how;

  activation ends_in() const { return Rows ? activation::softmax : how; }
  std::int64_t inputs() const { return kernel.extents.extent[0]; }
  std::int64_t units() const { return kernel.extents.extent[1]; }
  shape output_extents() const { return {1, {units()}}; }

  batch forward(batch const& x, kept& k, pass const& p) {
    k.logits = p.logits;
    auto const w = reshape(kernel.value, matrix());
    batch y(
        map(activate_fn{Rows || p.logits ? activation::linear : how}, matmul(x, w) + bias.value));
    if constexpr (Rows)
      if (!p.logits) y = softmax_rows<T, 2, Replicas>(y);
    return y;
  }
  batch backward(batch const& x, batch const& y, kept& k, batch dy, bool need_dx) {
    if (!k.logits) {
      if constexpr (Rows)
        dy = softmax_rows_gradient<T, 2, Replicas>(y, dy);
      else
        activate_gradient(y, dy, how);
    }
    run(plan(into(kernel.gradient, reshape<-1>(matmul(transpose(x), dy))),
             into(bias.gradient, sum<0>(dy))));
    if (!need_dx) return batch(Dextents<2>(0, inputs()));
    return batch(matmul(dy, transpose(reshape(kernel.value, matrix()))));
  }
  /// means: dx alone
  batch input_gradient(batch const&, batch const& y, kept& k, batch dy) {
    if (!k.logits) {
      if constexpr (Rows)
        dy = softmax_rows_gradient<T, 2, Replicas>(y, dy);
      else
        activate_gradient(y, dy, how);
    }
    return batch(matmul(dy, transpose(reshape(kernel.value, matrix()))));
  }

 private:
  Dextents<2> matrix() const { return Dextents<2>(kernel.extents); }
};

/// means: y = a(x W + b): Dense<64>{relu}, Dense<10, softmax>{}
/// shape: (inputs) -> (Units); kernel (inputs, Units), bias (Units)
/// fails: at compile time, for examples of another rank (put a Flatten in front), and for softmax
///        that is not part of the type
/// after: keras.layers.Dense: glorot_uniform, zeros
template <std::int64_t Units, activation Act = activation::linear>
struct Dense : weighted<Dense<Units, Act>> {
  static_assert(Units > 0, "locus: a Dense has no units; write Dense<64>{}");
  static constexpr char const* kind = "Dense";
  static constexpr activation last = Act;  // for a loss

  constexpr Dense() : weighted<Dense>(Act) {}
  template <activation A>
  constexpr Dense(activation_constant<A>) : weighted<Dense>(A) {
    static_assert(A != activation::softmax,
                  "locus: softmax stands in the type of a layer, since losses look for it there; "
                  "write Dense<10, nn::softmax>{}");
    static_assert(Act == activation::linear || A == Act,
                  "locus: a Dense has two activations; name one of them");
  }

  template <class In>
  static consteval auto output_type() {
    static_assert(In::rank() == 1,
                  "locus: Dense takes examples of one axis, (inputs); put nn::Flatten{} or a "
                  "global pool in front of it");
    return std::type_identity<Extents<Units>>{};
  }
  template <class In>
  using output = typename decltype(output_type<In>())::type;
  template <class T, class In, class Replicas>
  using state = dense_state<T, Replicas, Act == activation::softmax>;

  template <class T, class In, class Replicas>
  auto make(shape const& in, std::uint64_t seed) const {
    return state<T, In, Replicas>{
        this->template make_weights<T, Replicas>({2, {in.extent[0], Units}}, Units, seed)};
  }
};

}  // namespace locus::nn
