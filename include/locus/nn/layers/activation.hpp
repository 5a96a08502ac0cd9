// SPDX-License-Identifier: Apache-2.0
// Activations: as values, and as constants whose type names the activation.
#pragma once
#include <string_view>  // string_view

#include <locus/core/compiler.hpp>  // C++20, 64 bits, exceptions

namespace locus::nn {

/// The function that a layer applies to each element of its result; softmax: to each row.
enum class activation : unsigned char {
  linear,
  relu,
  relu6,
  leaky_relu,  // 0.2 x below 0, Keras' slope
  elu,
  softplus,
  tanh,
  sigmoid,
  softmax
};
inline constexpr std::string_view activation_names[] = {
    "linear", "relu", "relu6", "leaky_relu", "elu", "softplus", "tanh", "sigmoid", "softmax"};
constexpr std::string_view name_of(activation a) { return activation_names[int(a)]; }

/// An activation that is known from its type: nn::Dense<10>{nn::relu}, nn::Dense<10,
/// nn::softmax>{}.
template <activation A>
struct activation_constant {
  static constexpr activation value = A;
  constexpr operator activation() const { return A; }
};
inline constexpr activation_constant<activation::linear> linear{};
inline constexpr activation_constant<activation::relu> relu{};
inline constexpr activation_constant<activation::relu6> relu6{};
inline constexpr activation_constant<activation::leaky_relu> leaky_relu{};
inline constexpr activation_constant<activation::elu> elu{};
inline constexpr activation_constant<activation::softplus> softplus{};
inline constexpr activation_constant<activation::tanh> tanh{};
inline constexpr activation_constant<activation::sigmoid> sigmoid{};
inline constexpr activation_constant<activation::softmax> softmax{};

}  // namespace locus::nn
