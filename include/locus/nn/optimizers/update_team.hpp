// SPDX-License-Identifier: Apache-2.0
// The rule of an optimizer over several weights, in one launch on a GPU.
#pragma once
#include <locus/core/macros.hpp>         // LOCUS_HOST_DEVICE
#include <locus/engine/gpu/vectors.hpp>  // vector_of, begins_vector

namespace locus::nn::detail {
inline namespace LOCUS_MODE {

template <class Rule, class T, int Weights>
struct update_team {
  static constexpr int arrays = Weights, vector = cuda_side::vector_elements<T>,
                       numbers = Rule::slot_count + 1;
  /// a weight, its slots and its gradient
  struct array {
    T const* from[numbers];
    T* to[numbers];  // may be equal to `from`
    T const* gradient;
    std::int64_t size;
    bool has_vectors;
  };
  Rule rule;
  T const* scale;  // a factor of all gradients; null: 1
  array of[Weights];

  LOCUS_HOST_DEVICE std::int64_t size(int k) const { return of[k].size; }
  LOCUS_HOST_DEVICE bool has_vectors(int k) const { return of[k].has_vectors; }
  template <int Size>
  LOCUS_HOST_DEVICE void apply(int k, std::int64_t i) const {
    using values = cuda_side::vector_of<T, Size>;
    array const& a = of[k];
    values x[numbers], g = *reinterpret_cast<values const*>(a.gradient + i);
    for (int n = 0; n < numbers; ++n) x[n] = *reinterpret_cast<values const*>(a.from[n] + i);
    T const by = scale ? *scale : T(1);
    for (int j = 0; j < Size; ++j) {
      T one[numbers];
      for (int n = 0; n < numbers; ++n) one[n] = x[n].element[j];
      rule(one, scale ? g.element[j] * by : g.element[j]);
      for (int n = 0; n < numbers; ++n) x[n].element[j] = one[n];
    }
    for (int n = 0; n < numbers; ++n) cuda_side::store_whole(a.to[n] + i, x[n]);
  }
  /// means: sets has_vectors: all arrays of a weight begin at the address of a vector; call it
  ///        before a launch
  void look_at_addresses() {
    for (array& a : of) {
      a.has_vectors = cuda_side::begins_vector(a.gradient);
      for (int n = 0; n < numbers; ++n)
        a.has_vectors = a.has_vectors && cuda_side::begins_vector(a.from[n]) &&
                        cuda_side::begins_vector(a.to[n]);
    }
  }
};

}  // namespace LOCUS_MODE
}  // namespace locus::nn::detail
