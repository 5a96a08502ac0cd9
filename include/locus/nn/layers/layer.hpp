// SPDX-License-Identifier: Apache-2.0
// A layer: a description that a user writes, and a state that a trainer keeps.
//
//     template <int Units>
//     struct Dense {                                     // the description: cheap, an aggregate
//       static constexpr char const* kind = "Dense";     // as Keras' summary prints it
//       template <class In> using output = Extents<...>; // of one example; static_asserts refuse
//                                                        // wrong extents; In may hold dyn
//       template <class T, class In, class Replicas> using state = dense_state<T, Replicas>;
//       template <class T, class In, class Replicas>
//       auto make(shape const& in, std::uint64_t seed) const -> state<T, In, Replicas>;
//     };
//     struct dense_state {                               // depends on ranks, not on sizes
//       using kept = nothing;      // data from a forward for its backward, as a pool's winners
//       static constexpr bool reads_x = true, reads_y = true;  // by backward (default: both)
//       shape output_extents() const;                    // of one example
//       template <class F> void for_each_parameter(F&& f);  // f(parameter<T, Replicas>&)
//       Y forward(X const& x, kept& k, pass const& p);
//       X backward(X const& x, Y const& y, kept& k, Y dy, bool need_dx);
//     };
//
// The model owns x and y of each layer and frees them after their last reader, so a tensor between
// two layers exists once; a state keeps parameters alone. So one state can stand at several places
// of a model: the data of one place lie in its `kept`. backward writes the gradient of every
// trainable parameter (one plan for all parameters of a layer, so one bucket), and returns dx,
// which may be a tensor without rows if need_dx is false. backward may overwrite dy. make checks
// extents that are dyn, and throws shape_error that names the layer.
//
// The bases of layers with a kernel, a bias and an activation are in nn/layers/weights.hpp. A layer
// of plain expressions has no kernels of its own: nn/layers/layer_norm.hpp is one.
#pragma once
#include <type_traits>  // type_identity

#include <locus/nn/layers/activation.hpp>  // activation
#include <locus/nn/layers/parameter.hpp>   // parameter
#include <locus/tensor/rows_over.hpp>      // rows_over

namespace locus::nn {

/// means: a batch between two layers: rows are examples, cut over the replicas
template <class T, int Rank, class Replicas>
using batch_of = Tensor<T, Dextents<Rank>, rows_over<Replicas>>;

/// means: a batch of `rows` examples with these extents
template <class Batch>
Batch batch_with(std::int64_t rows, shape const& example) {
  shape s{example.rank + 1, {rows}};
  for (int a = 0; a < example.rank; ++a) s.extent[a + 1] = example.extent[a];
  return Batch(typename Batch::extents_type(s));
}

/// A listener that gets the result of each layer.
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

/// The `kept` of a layer whose backward needs x and y alone.
struct nothing {};
/// The `kept` of a layer that ends in an activation, which its state names: ends_in(). logits:
/// forward left the activation to the loss, so dy is the gradient of the numbers in front of the
/// activation.
struct kept_end {
  bool logits = false;
};

/// means: the seed of part n of a model with that seed
/// after: the finaliser of SplitMix64
constexpr std::uint64_t derived_seed(std::uint64_t seed, std::uint64_t n) {
  std::uint64_t z = seed + (n + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

namespace detail {
/// means: a copy of d whose member has this value
template <class Description, class Owner, class Value>
constexpr Description with(Description d, Value Owner::* member,
                           std::type_identity_t<Value> const& value) {
  d.*member = value;
  return d;
}
}  // namespace detail

/// means: a description of a layer
template <class Description>
concept layer = requires { Description::kind; };

/// means: the extents of one example behind a layer
template <layer Description, class In>
using output_of = typename Description::template output<In>;
/// means: the state of a layer for examples In
template <layer Description, class T, class In, class Replicas>
using state_of = typename Description::template state<T, In, Replicas>;

/// means: two layers that one kernel serves, as a convolution and the pool behind it.
/// A specialisation has exists = true, `type` (a description), and static type of(First const&,
/// Second const&). A trainer keeps the state of `type`; its first_extents() are those of an example
/// between the two layers; its parameters are First's, then Second's.
template <class First, class Second>
struct fused_pair {
  static constexpr bool exists = false;
};

/// means: the element type of a layer's x: T, unless its state names another (`using element =
///        ...`)
template <class State, class T>
struct element_taken {
  using type = T;
};
template <class State, class T>
  requires requires { typename State::element; }
struct element_taken<State, T> {
  using type = typename State::element;
};

/// means: the backward pass of a state reads x; reads_y: it reads y. Default: true
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
/// means: a backward pass through this state has gradients to write: one of its parameters is trainable. A state
///        whose parameters are those of another place says so itself: bool learns()
template <class State>
bool learns(State& s) {
  if constexpr (requires { s.learns(); })
    return s.learns();
  else {
    bool any = false;
    s.for_each_parameter([&any](auto const& p) { any |= p.trainable; });
    return any;
  }
}
/// means: weights of a state have penalties, which the loss grows by
template <class State>
constexpr bool regularizes() {
  if constexpr (requires { State::regularizes; })
    return State::regularizes;
  else
    return false;
}

}  // namespace locus::nn
