// SPDX-License-Identifier: Apache-2.0
// Activations as functors of one plan: which one is a number that the kernel gets, so that all
// layers of a kind share their kernels. Their gradients are functions of what they made.
#pragma once
#include <locus/backend/host/packet_forms.hpp>  // packet_form
#include <locus/nn/activation.hpp>              // activation
#include <locus/ops/math_functors.hpp>          // tanh_fn

LOCUS_VECTORS_BEGIN
namespace locus::nn {

/// means: a(x) for all activations but softmax
struct activate_fn {
  static constexpr auto name = "activate";
  static constexpr auto kernels = on_both;
  activation how = activation::linear;
  template <class T>
  LOCUS_HOST_DEVICE T operator()(T x) const {
    switch (how) {
    case activation::relu: return x < T(0) ? T(0) : x;
    case activation::relu6: return x < T(0) ? T(0) : x > T(6) ? T(6) : x;
    case activation::leaky_relu: return x < T(0) ? T(0.2) * x : x;
    case activation::elu: return x < T(0) ? expm1_fn{}(x) : x;
    case activation::softplus:  // log(1 + e^x) without overflow
      return (x > T(0) ? x : T(0)) + log1p_fn{}(exp_fn{}(x > T(0) ? -x : x));
    case activation::tanh: return tanh_fn{}(x);
    case activation::sigmoid: return sigmoid_fn{}(x);
    default: return x;
    }
  }
};

/// means: dx of y = a(x), from y and dy
struct activate_gradient_fn {
  static constexpr auto name = "activate.gradient";
  static constexpr auto kernels = on_both;
  activation how = activation::linear;
  template <class T>
  LOCUS_HOST_DEVICE T operator()(T y, T dy) const {
    switch (how) {
    case activation::relu: return y > T(0) ? dy : T(0);
    case activation::relu6: return y > T(0) && y < T(6) ? dy : T(0);
    case activation::leaky_relu: return y > T(0) ? dy : T(0.2) * dy;
    case activation::elu: return y > T(0) ? dy : dy * (y + T(1));
    case activation::softplus: return dy * -expm1_fn{}(-y);
    case activation::tanh: return dy * (T(1) - y * y);
    case activation::sigmoid: return dy * (y * (T(1) - y));
    default: return dy;
    }
  }
};

}  // namespace locus::nn

namespace locus::host {
inline namespace LOCUS_MODE {

template <>
struct packet_form<nn::activate_fn> {
  template <class T, int N>
    requires is_floating_v<T>
  LOCUS_VECTOR_FUNCTION static packet<T, N> with(nn::activate_fn const& f, packet<T, N> x) {
    packet<T, N> const zero{}, six = simd::broadcast<N>(T(6));
    auto const below = simd::less(x, zero);
    switch (f.how) {
    case nn::activation::relu: return simd::select(below, zero, x);
    case nn::activation::relu6:
      return simd::select(below, zero, simd::select(simd::greater(x, six), six, x));
    case nn::activation::leaky_relu:
      return simd::select(below, simd::multiply(simd::broadcast<N>(T(0.2)), x), x);
    case nn::activation::elu: return simd::select(below, packet_form<expm1_fn>::call(x), x);
    case nn::activation::softplus: {
      auto const negative = simd::select(simd::greater(x, zero), simd::subtract(zero, x), x);
      return simd::add(simd::select(simd::greater(x, zero), x, zero),
                       packet_form<log1p_fn>::call(packet_form<exp_fn>::call(negative)));
    }
    case nn::activation::tanh: return packet_form<tanh_fn>::call(x);
    case nn::activation::sigmoid: return packet_form<sigmoid_fn>::call(x);
    default: return x;
    }
  }
};

template <>
struct packet_form<nn::activate_gradient_fn> {
  template <class T, int N>
    requires is_floating_v<T>
  LOCUS_VECTOR_FUNCTION static packet<T, N> with(nn::activate_gradient_fn const& f, packet<T, N> y,
                                                 packet<T, N> dy) {
    packet<T, N> const zero{}, one = simd::broadcast<N>(T(1));
    auto const above = simd::greater(y, zero);
    switch (f.how) {
    case nn::activation::relu: return simd::select(above, dy, zero);
    case nn::activation::relu6:
      return simd::select(above, simd::select(simd::less(y, simd::broadcast<N>(T(6))), dy, zero),
                          zero);
    case nn::activation::leaky_relu:
      return simd::select(above, dy, simd::multiply(simd::broadcast<N>(T(0.2)), dy));
    case nn::activation::elu: return simd::select(above, dy, simd::multiply(dy, simd::add(y, one)));
    case nn::activation::softplus:
      return simd::multiply(
          dy, simd::subtract(zero, packet_form<expm1_fn>::call(simd::subtract(zero, y))));
    case nn::activation::tanh: return simd::multiply(dy, simd::subtract(one, simd::multiply(y, y)));
    case nn::activation::sigmoid:
      return simd::multiply(dy, simd::multiply(y, simd::subtract(one, y)));
    default: return dy;
    }
  }
};

}  // namespace LOCUS_MODE
}  // namespace locus::host
LOCUS_VECTORS_END
