// SPDX-License-Identifier: Apache-2.0
// What a layer is: a description that a user writes, and the state that a trainer keeps.
//
//     template <int Units>
//     struct Dense {                                     // the description: cheap, an aggregate
//       static constexpr char const* kind = "Dense";     // as Keras' summary prints it
//       template <class In> using output = Extents<...>; // of one example; static_asserts say what
//                                                        // does not fit; In may hold dyn
//       template <class T, class In, class Replicas> using state = dense_state<T, Replicas>;
//       template <class T, class In, class Replicas>
//       auto make(shape const& in, std::uint64_t seed) const -> state<T, In, Replicas>;
//     };
//     struct dense_state {                               // depends on ranks, not on sizes
//       using kept = nothing;      // what one forward leaves for its backward: winners of a pool
//       static constexpr bool reads_x = true, reads_y = true;  // backward does (default: both)
//       shape output_extents() const;                    // of one example
//       template <class F> void for_each_parameter(F&& f);  // f(parameter<T, Replicas>&)
//       Y forward(X const& x, kept& k, pass const& p);
//       X backward(X const& x, Y const& y, kept& k, Y dy, bool need_dx);
//     };
//
// The model owns x and y of each layer and frees them when nobody reads them any more, so that a
// tensor between two layers is there once; a state keeps parameters alone. That is also why one
// state can stand at several places of a model: what belongs to one use lies in its `kept`.
// backward writes the gradient of every trainable parameter (one plan for all of a layer: one
// bucket), and returns dx, which may be a tensor without rows where need_dx is false. dy is its own
// to overwrite. make checks sizes that were dyn, and throws shape_error naming the layer.
//
// A layer with a kernel, a bias and an activation has its bases in nn/layers/weights.hpp. A layer that plain
// expressions make has no kernels of its own: nn/layers/layer_norm.hpp is one.
#pragma once
#include <type_traits>  // type_identity

#include <locus/nn/layers/activation.hpp>  // activation
#include <locus/nn/layers/parameter.hpp>   // parameter
#include <locus/tensor/rows_over.hpp>      // rows_over

namespace locus::nn {

/// means: what flows between layers: rows are examples, cut over the replicas
template <class T, int Rank, class Replicas>
using batch_of = Tensor<T, Dextents<Rank>, rows_over<Replicas>>;

/// means: a batch of so many examples     shape: example: of one
template <class Batch>
Batch batch_with(std::int64_t rows, shape const& example) {
  shape s{example.rank + 1, {rows}};
  for (int a = 0; a < example.rank; ++a) s.extent[a + 1] = example.extent[a];
  return Batch(typename Batch::extents_type(s));
}

/// Who looks at what each layer makes.
struct pass_watch {
  virtual void saw(std::string_view layer, tensor_block const& y) = 0;
};

/// One forward of a model.
struct pass {
  bool training = false;
  std::uint64_t step = 0, seed = 0;  // random numbers are a function of both, and of the element
  pass_watch* watch = nullptr;
  bool logits = false;  // the last layer leaves its softmax or sigmoid to the loss
};

/// A layer whose backward needs no more than x and y keeps this.
struct nothing {};
/// A layer that ends in an activation keeps whether its forward left that to the loss: then dy is the
/// gradient of what is in front of it. Its state says which activation that is: ends_in().
struct kept_end {
  bool logits = false;
};

/// means: a seed of its own for part n of what has that seed
/// after: the finaliser of SplitMix64
constexpr std::uint64_t derived_seed(std::uint64_t seed, std::uint64_t n) {
  std::uint64_t z = seed + (n + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

namespace detail {
/// means: d with that value of a member
template <class Description, class Owner, class Value>
constexpr Description with(Description d, Value Owner::* member,
                           std::type_identity_t<Value> const& value) {
  d.*member = value;
  return d;
}
}  // namespace detail

template <class Description>
concept layer = requires { Description::kind; };

/// means: the extents of one example behind a layer
template <layer Description, class In>
using output_of = typename Description::template output<In>;
template <layer Description, class T, class In, class Replicas>
using state_of = typename Description::template state<T, In, Replicas>;

/// means: two layers that one kernel serves, as a convolution and the pool behind it
/// Specialised: exists = true, type (a description), and static type of(First const&, Second const&)
/// A trainer keeps the state of type, whose first_extents() are those of an example between the two;
/// its parameters are First's, then Second's.
template <class First, class Second>
struct fused_pair {
  static constexpr bool exists = false;
};

/// means: elements of x that a layer takes; T unless its state says so (`using element = ...`)
template <class State, class T>
struct element_taken {
  using type = T;
};
template <class State, class T>
  requires requires { typename State::element; }
struct element_taken<State, T> {
  using type = typename State::element;
};

template <class State>
constexpr bool reads_x() {
  if constexpr (requires { State::reads_x; })
    return State::reads_x;
  else
    return true;
}
template <class State>
constexpr bool reads_y() {
  if constexpr (requires { State::reads_y; })
    return State::reads_y;
  else
    return true;
}

}  // namespace locus::nn
