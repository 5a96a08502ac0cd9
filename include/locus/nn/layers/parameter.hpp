// SPDX-License-Identifier: Apache-2.0
// parameter: a weight of a layer with its gradient, equal on every replica; and the laws of its
// initial values.
#pragma once
#include <locus/ops/normal.hpp>         // inverse_normal
#include <locus/ops/philox.hpp>         // random_bits
#include <locus/tensor/move_block.hpp>  // move_block
#include <locus/tensor/tensor.hpp>      // Tensor

namespace locus::nn {

/// A weight of a layer and its gradient, each a flat block for every shape.
template <class T, class Replicas>
struct parameter {
  using element = T;
  using tensor = Tensor<T, Dextents<1>, Replicas>;
  tensor value{Dextents<1>(0)};
  tensor gradient{
      Dextents<1>(0)};    // of the global batch, summed over replicas; empty if not trainable
  shape extents{};        // Keras' shape
  char const* name = "";  // Keras' name: "kernel", "bias", "gamma", ...
  bool trainable = true;
  // true for an embedding: its gradient is `rows`, the different row numbers in rising order, and
  // `row_values`, their summed rows, equal on every replica; `gradient` has no elements then
  bool sparse = false;
  Tensor<std::int32_t, Dextents<1>, Replicas> rows{Dextents<1>(0)};
  Tensor<T, Dextents<2>, Replicas> row_values{Dextents<2>(0, 0)};

  std::int64_t size() const { return extents.size(); }
};

/// The initial values of a parameter.
struct initial {
  enum class law : unsigned char { constant, uniform, normal, truncated_normal } draws;
  enum class scale : unsigned char { given, fan_in, fan_average } by = scale::given;
  // given: the constant, the limit of the uniform numbers or the deviation of the normal ones;
  // otherwise the variance times that fan
  double value = 0;
};
// Keras' names
inline constexpr initial zeros{initial::law::constant};
inline constexpr initial ones{initial::law::constant, initial::scale::given, 1};
inline constexpr initial glorot_uniform{initial::law::uniform, initial::scale::fan_average, 1};
inline constexpr initial glorot_normal{initial::law::truncated_normal, initial::scale::fan_average,
                                       1};
inline constexpr initial he_uniform{initial::law::uniform, initial::scale::fan_in, 2};
inline constexpr initial he_normal{initial::law::truncated_normal, initial::scale::fan_in, 2};
inline constexpr initial lecun_normal{initial::law::truncated_normal, initial::scale::fan_in, 1};
constexpr initial constant(double value) {
  return {initial::law::constant, initial::scale::given, value};
}
constexpr initial random_uniform(double limit = 0.05) {
  return {initial::law::uniform, initial::scale::given, limit};
}
constexpr initial random_normal(double deviation = 0.05) {
  return {initial::law::normal, initial::scale::given, deviation};
}

namespace detail {

LOCUS_COLD_BEGIN

/// units: in: numbers that one element of the result reads; out: results that one number goes into
struct fans {
  double in = 1, out = 1;
};
/// after: Keras: the last two axes are channels in and out, those before them a window
constexpr fans fans_of(shape const& s) {
  if (s.rank == 0) return {};
  if (s.rank == 1) return {double(s.extent[0]), double(s.extent[0])};
  double window = 1;
  for (int a = 0; a + 2 < s.rank; ++a) window *= double(s.extent[a]);
  return {window * double(s.extent[s.rank - 2]), window * double(s.extent[s.rank - 1])};
}

/// the limit of uniform numbers, or the deviation of normal numbers before they are cut
inline double spread_of(initial const& how, shape const& extents) {
  if (how.by == initial::scale::given) return how.value;
  fans const f = fans_of(extents);
  double const fan = how.by == initial::scale::fan_in ? f.in : (f.in + f.out) / 2;
  double const variance = how.value / (fan > 1 ? fan : 1);
  if (how.draws == initial::law::uniform) return __builtin_sqrt(3 * variance);
  // the deviation of standard normal numbers that are cut at two deviations
  return __builtin_sqrt(variance) /
         (how.draws == initial::law::truncated_normal ? .87962566103423978 : 1);
}

/// means: element i, a function of `how`, `spread`, the seed and i
inline double drawn(initial const& how, double spread, std::uint64_t seed, std::int64_t i) {
  switch (how.draws) {
  case initial::law::constant: return how.value;
  case initial::law::uniform:
    return (static_cast<double>(random_bits(seed, i) >> 11) * 0x1p-52 - 1) * spread;
  case initial::law::normal: return inverse_normal(random_bits(seed, i)) * spread;
  case initial::law::truncated_normal: break;
  }
  for (std::uint64_t turn = 0;; ++turn) {  // draws 1 of 22 numbers again
    double const z = inverse_normal(random_bits(seed ^ (turn << 56), i));
    if (z >= -2 && z <= 2) return z * spread;
  }
}

LOCUS_COLD_END

}  // namespace detail

/// means: a parameter of those extents, with memory for its gradient if it is trainable
/// shape: extents as Keras prints them; elements are flat
/// cost:  makes the elements on the host, then copies them to each replica
/// after: Philox by seed and element number: the same for every number of replicas
template <class T, class Replicas>
parameter<T, Replicas> make_parameter(char const* name, shape const& extents, initial const& how,
                                      std::uint64_t seed, bool trainable = true) {
  parameter<T, Replicas> p;
  p.name = name, p.extents = extents, p.trainable = trainable;
  std::int64_t const n = extents.size();
  Tensor<T, Dextents<1>, CpuDevice> host{Dextents<1>(n)};
  double const spread = detail::spread_of(how, extents);
  for (std::int64_t i = 0; i < n; ++i)
    host.data()[i] = static_cast<T>(detail::drawn(how, spread, seed, i));
  p.value = typename parameter<T, Replicas>::tensor{Dextents<1>(n)};
  locus::internal::move_block(*host.block.get(), *p.value.block.get());
  if (trainable) p.gradient = typename parameter<T, Replicas>::tensor{Dextents<1>(n)};
  return p;
}

}  // namespace locus::nn
