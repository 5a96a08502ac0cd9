// SPDX-License-Identifier: Apache-2.0
// LayerNorm: each row along the last axis with mean 0 and variance 1, then gamma and beta.
#pragma once
#include <type_traits>  // type_identity

#include <locus/nn/layers/layer.hpp>          // batch_of, with
#include <locus/nn/layers/parameter.hpp>      // parameter, make_parameter
#include <locus/nn/layers/sum_over_rows.hpp>  // sum_over_rows
#include <locus/ops/math.hpp>                 // cast, rsqrt, square
#include <locus/ops/reduce.hpp>               // mean
#include <locus/tensor/eval.hpp>              // run

namespace locus::nn {

namespace detail {

/// means: x with elements of the type that computes sums and quotients: halves become floats
template <class X>
decltype(auto) widened(X const& x) {
  if constexpr (is_narrow_v<typename X::value_type>)
    return cast<float>(x);
  else
    return (x);
}
/// means: the result of widened numbers as elements of T
template <class T, class E>
auto narrowed(E const& e) {
  if constexpr (is_narrow_v<T>)
    return cast<T>(e);
  else
    return e;
}

/// the extents of a batch whose rows have one number each
template <int Rank>
struct one_for_each_row {
  static constexpr shape value = [] {
    shape s{Rank, {}};
    for (int a = 0; a < Rank; ++a) s.extent[a] = a + 1 < Rank ? dyn : 1;
    return s;
  }();
};

}  // namespace detail

/// The state of a LayerNorm: gamma and beta. It computes with plain expressions over the rows of
/// each replica. Without scale, gamma stays ones and is no parameter of the model; without center,
/// beta stays zeros.
template <class T, int Rank, class Replicas>
struct layer_norm_state {
  using batch = batch_of<T, Rank, Replicas>;
  using number = compute_t<T>;
  using row_numbers =
      Tensor<number, extents_of_shape_t<detail::one_for_each_row<Rank>>, rows_over<Replicas>>;
  static constexpr bool reads_y = false;
  struct kept {
    row_numbers mean = none(), inverse = none();  // inverse: 1 / deviation
    static row_numbers none() { return of(shape{Rank, {}}); }
    /// means: one number for each row of a batch with these extents
    static row_numbers of(shape rows) {
      rows.extent[Rank - 1] = 1;
      return row_numbers(typename row_numbers::extents_type(rows));
    }
  };

  parameter<T, Replicas> gamma, beta;
  double epsilon;
  bool scales, centers;
  shape in;  // one example

  shape output_extents() const { return in; }
  template <class F>
  void for_each_parameter(F&& f) {
    if (scales) f(gamma);
    if (centers) f(beta);
  }

  batch forward(batch const& x, kept& k, pass const& p) {
    auto const mean = named<"mean">(locus::mean<-1>(detail::widened(x), keep_dims));
    auto const centred = detail::widened(x) - mean;
    auto const inverse = named<"inverse">(
        rsqrt(locus::mean<-1>(square(centred), keep_dims) + static_cast<number>(epsilon)));
    auto const made = detail::narrowed<T>(centred * inverse * detail::widened(gamma.value) +
                                          detail::widened(beta.value));
    if (!p.training) return batch(made);
    batch y(x.extents());
    k.mean = kept::of(x.extents().as_shape()), k.inverse = kept::of(x.extents().as_shape());
    run(plan(into(y, made), into(k.mean, mean), into(k.inverse, inverse)));
    return y;
  }
  batch backward(batch const& x, batch const&, kept& k, batch dy, bool need_dx) {
    auto const normal = named<"normal">((detail::widened(x) - k.mean) * k.inverse);
    run(plan(into(gamma.gradient,
                  detail::narrowed<T>(detail::sum_over_rows<Rank>(detail::widened(dy) * normal))),
             into(beta.gradient,
                  detail::narrowed<T>(detail::sum_over_rows<Rank>(detail::widened(dy))))));
    if (!need_dx) return dy;
    return input_gradient(x, dy, k, dy);
  }
  /// means: dx alone
  batch input_gradient(batch const& x, batch const&, kept& k, batch const& dy) {
    auto const normal = named<"normal">((detail::widened(x) - k.mean) * k.inverse);
    auto const d = named<"d">(detail::widened(dy) * detail::widened(gamma.value));
    return batch(detail::narrowed<T>(
        (d - locus::mean<-1>(d, keep_dims) - normal * locus::mean<-1>(d * normal, keep_dims)) *
        k.inverse));
  }
};

/// means: y = (x - mean) / sqrt(variance + epsilon) * gamma + beta, with the mean and the variance of
///        each row along the last axis: LayerNorm{}, LayerNorm{}.with_epsilon(1e-6).without_center()
/// shape: as its examples, of one axis or more; gamma, beta (extent of the last axis)
/// device: rows stay on their replicas; gradients of gamma and beta are summed over the replicas
/// cost:  one kernel in a prediction. In training, three kernels forward and three backward, and
///        two numbers for each row between them
/// fails: at compile time, for examples without axes
/// after: keras.layers.LayerNormalization: epsilon 1e-3, variance of the population; Ba et al., Layer
///        normalization, 2016. Halves are added and divided as floats
struct LayerNorm {
  static constexpr char const* kind = "LayerNormalization";

  double epsilon = 1e-3;
  bool scale = true, center = true;  // Keras' names: there is a gamma, a beta
  initial gamma_begins = ones, beta_begins = zeros;

  constexpr LayerNorm with_epsilon(double added) const {
    return detail::with(*this, &LayerNorm::epsilon, added);
  }
  constexpr LayerNorm without_scale() const {
    return detail::with(*this, &LayerNorm::scale, false);
  }
  constexpr LayerNorm without_center() const {
    return detail::with(*this, &LayerNorm::center, false);
  }
  constexpr LayerNorm begin_with(initial gamma, initial beta = zeros) const {
    LayerNorm const l = detail::with(*this, &LayerNorm::gamma_begins, gamma);
    return detail::with(l, &LayerNorm::beta_begins, beta);
  }

  template <class In>
  static consteval auto output_type() {
    static_assert(In::rank() > 0,
                  "locus: a LayerNorm takes examples of at least one axis, whose last one it "
                  "normalises; put nn::Reshape in front of it");
    return std::type_identity<In>{};
  }
  template <class In>
  using output = typename decltype(output_type<In>())::type;
  template <class T, class In, class Replicas>
  using state = layer_norm_state<T, In::rank() + 1, Replicas>;

  template <class T, class In, class Replicas>
  auto make(shape const& in, std::uint64_t seed) const {
    shape const channels{1, {in.extent[in.rank - 1]}};
    return state<T, In, Replicas>{
        make_parameter<T, Replicas>("gamma", channels, scale ? gamma_begins : ones, seed),
        make_parameter<T, Replicas>("beta", channels, center ? beta_begins : zeros,
                                    derived_seed(seed, 1)),
        epsilon,
        scale,
        center,
        in};
  }
};

}  // namespace locus::nn
