// SPDX-License-Identifier: Apache-2.0
// Activations as functors: the activation is a number in the functor, so layers with different
// activations share their kernels. The gradients are functions of the result y.
#if !defined(LOCUS_CLONE) && !defined(LOCUS_NN_LAYERS_ACTIVATE)
#define LOCUS_NN_LAYERS_ACTIVATE
#include <locus/engine/host/packet_forms.hpp>  // packet_form
#include <locus/nn/layers/activation.hpp>      // activation
#include <locus/ops/math_functors.hpp>         // tanh_fn

namespace locus::nn {

/// means: a(x) for all activations but softmax
struct activate_fn {
  static constexpr auto name = "activate";
  static constexpr auto kernels = on_both;
  static constexpr auto ends_product = product_end::chosen;
  activation how = activation::linear;
  constexpr product_end end_of_product() const {
    return how == activation::linear ? product_end::none
           : how == activation::relu ? product_end::relu
                                     : product_end::chosen;
  }
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

#define LOCUS_CLONED <locus/nn/layers/activate.hpp>
#include <locus/simd/clones.hpp>  // reads this file once for each set of instructions
#elif defined(LOCUS_CLONE)
LOCUS_VECTORS_BEGIN
namespace LOCUS_SPACE(host) {

template <>
struct packet_form<nn::activate_fn> {
  static constexpr bool takes_functor = true;
  /// the activations with exp and log: compiled once, and not into every kernel that ends with an
  /// activation
  template <class T, int N>
  [[gnu::noinline]] static void smooth(nn::activation how, T* values) {
    packet<T, N> const zero{}, x = simd::load<N>(values);
    auto const below = simd::less(x, zero);
    packet<T, N> y = x;
    switch (how) {
    case nn::activation::elu: y = simd::select(below, packet_form<expm1_fn>::call(x), x); break;
    case nn::activation::softplus: {
      auto const negative = simd::select(below, x, simd::subtract(zero, x));
      y = simd::add(simd::select(below, zero, x),
                    packet_form<log1p_fn>::call(packet_form<exp_fn>::call(negative)));
      break;
    }
    case nn::activation::tanh: y = packet_form<tanh_fn>::call(x); break;
    case nn::activation::sigmoid: y = packet_form<sigmoid_fn>::call(x); break;
    default: break;
    }
    simd::store(values, y);
  }
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
    case nn::activation::linear: return x;
    default: break;
    }
    T values[N];
    simd::store(values, x);
    smooth<T, N>(f.how, values);
    return simd::load<N>(values);
  }
};

template <>
struct packet_form<nn::activate_gradient_fn> {
  static constexpr bool takes_functor = true;
  template <class T, int N>
  [[gnu::noinline]] static void put_slope(T* y) {
    packet<T, N> const zero{};
    simd::store(y, simd::subtract(
                       zero, packet_form<expm1_fn>::call(simd::subtract(zero, simd::load<N>(y)))));
  }
  template <class T, int N>
  LOCUS_VECTOR_FUNCTION static packet<T, N> slope_of_softplus(packet<T, N> y) {
    T values[N];
    simd::store(values, y);
    put_slope<T, N>(values);
    return simd::load<N>(values);
  }
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
    case nn::activation::softplus: return simd::multiply(dy, slope_of_softplus(y));
    case nn::activation::tanh: return simd::multiply(dy, simd::subtract(one, simd::multiply(y, y)));
    case nn::activation::sigmoid:
      return simd::multiply(dy, simd::multiply(y, simd::subtract(one, y)));
    default: return dy;
    }
  }
};

}  // namespace LOCUS_SPACE(host)
LOCUS_VECTORS_END
#endif
