// SPDX-License-Identifier: Apache-2.0
// Layers without parameters: Input, Flatten, Reshape, Activation, Dropout.
#pragma once
#include <locus/core/is_finite.hpp>   // is_nan
#include <locus/nn/layers/dense.hpp>  // activate, softmax_rows
#include <locus/ops/generators.hpp>   // uniform
#include <locus/tensor/relabel.hpp>   // relabel

namespace locus::nn {

/// means: the extents of one example, for a model whose first layer does not say them:
///        Sequential{Input<28, 28, 1>{}, ...}; the object gives the extents that are dyn:
///        Input<dyn>{300}
template <std::int64_t... E>
struct Input {
  using extents = Extents<E...>;
  static constexpr char const* kind = "InputLayer";
  shape given = extents().as_shape();

  constexpr Input() {
    static_assert(extents::pattern.is_static(),
                  "locus: an Input leaves an extent open; give it: nn::Input<dyn>{300}");
  }
  template <std::integral... N>
    requires(sizeof...(N) > 0 && int(sizeof...(N)) == extents::rank_dynamic())
  constexpr explicit Input(N... n) : given(extents(n...).as_shape()) {}
};

namespace detail {

/// means: the memory of x as a batch of examples with other extents
template <class To, class From>
To relabelled_rows(From const& x, shape const& example) {
  shape s{example.rank + 1, {x.extent(0)}};
  for (int a = 0; a < example.rank; ++a) s.extent[a + 1] = example.extent[a];
  return locus::internal::relabel<To>(x, s);
}

/// the number of elements of one example; dyn if an extent is dyn
constexpr std::int64_t size_of(shape const& s) {
  for (int a = 0; a < s.rank; ++a)
    if (s.extent[a] == dyn) return dyn;
  return s.size();
}

}  // namespace detail

/// The state of a Flatten or a Reshape: the extents of its examples and of its results.
template <class T, int From, int To, class Replicas>
struct reshape_state {
  using kept = nothing;
  static constexpr bool reads_x = false, reads_y = false;
  using in_batch = batch_of<T, From, Replicas>;
  using out_batch = batch_of<T, To, Replicas>;
  shape in, out;

  shape output_extents() const { return out; }
  template <class F>
  void for_each_parameter(F&&) {}
  out_batch forward(in_batch const& x, kept&, pass const&) {
    return detail::relabelled_rows<out_batch>(x, out);
  }
  in_batch backward(in_batch const&, out_batch const&, kept&, out_batch dy, bool) {
    return detail::relabelled_rows<in_batch>(dy, in);
  }
};

/// means: each example as a vector, in row order
/// cost:  none: x and y share memory
struct Flatten {
  static constexpr char const* kind = "Flatten";
  template <class In>
  using output = Extents<detail::size_of(In::pattern)>;
  template <class T, class In, class Replicas>
  using state = reshape_state<T, In::rank() + 1, 2, Replicas>;
  template <class T, class In, class Replicas>
  auto make(shape const& in, std::uint64_t) const {
    return state<T, In, Replicas>{in, {1, {in.size()}}};
  }
};

/// means: each example with other extents, in row order
/// cost:  none: x and y share memory
template <std::int64_t... E>
struct Reshape {
  static_assert(Extents<E...>::pattern.is_static(),
                "locus: nn::Reshape leaves an extent open; name all of them");
  static constexpr char const* kind = "Reshape";
  static constexpr shape to = Extents<E...>::pattern;

  template <class In>
  static consteval auto output_type() {
    constexpr std::int64_t n = detail::size_of(In::pattern);
    static_assert(n == dyn || n == to.size(),
                  "locus: nn::Reshape changes the number of elements of an example; name extents "
                  "whose product is that of the layer before");
    return std::type_identity<Extents<E...>>{};
  }
  template <class In>
  using output = typename decltype(output_type<In>())::type;
  template <class T, class In, class Replicas>
  using state = reshape_state<T, In::rank() + 1, sizeof...(E) + 1, Replicas>;
  template <class T, class In, class Replicas>
  auto make(shape const& in, std::uint64_t) const {
    if (in.size() != to.size()) {
      message text;
      throw shape_error(text << "locus: nn::Reshape makes " << to << " of examples with extents "
                             << in << "; the number of elements must stay");
    }
    return state<T, In, Replicas>{in, to};
  }
};

/// The state of an Activation. Rows: softmax.
template <class T, int Rank, class Replicas, bool Rows>
struct activation_state {
  using kept = kept_end;
  static constexpr bool reads_x = false;
  using batch = batch_of<T, Rank, Replicas>;
  activation how;
  shape extents;

  activation ends_in() const { return how; }
  shape output_extents() const { return extents; }
  template <class F>
  void for_each_parameter(F&&) {}
  batch forward(batch const& x, kept& k, pass const& p) {
    k.logits = p.logits;
    if (p.logits) return locus::internal::relabel<batch>(x, x.extents().as_shape());
    if constexpr (Rows)
      return softmax_rows<T, Rank, Replicas>(x);
    else
      return batch(map(activate_fn{how}, x));
  }
  batch backward(batch const&, batch const& y, kept& k, batch dy, bool need_dx) {
    if (k.logits) return dy;
    if constexpr (Rows)
      return softmax_rows_gradient<T, Rank, Replicas>(y, dy);
    else if (need_dx)
      activate_gradient(y, dy, how);
    return dy;
  }
};

/// means: y = a(x), element by element; softmax along the last axis
/// after: keras.layers.Activation
template <activation Act>
struct Activation {
  static constexpr char const* kind = "Activation";
  static constexpr activation last = Act;
  constexpr Activation() = default;
  constexpr explicit Activation(activation_constant<Act>) {}

  template <class In>
  using output = In;
  template <class T, class In, class Replicas>
  using state = activation_state<T, In::rank() + 1, Replicas, Act == activation::softmax>;
  template <class T, class In, class Replicas>
  auto make(shape const& in, std::uint64_t) const {
    return state<T, In, Replicas>{Act, in};
  }
};

/// The state of a Dropout: its rate and its seed.
template <class T, int Rank, class Replicas>
struct dropout_state {
  struct kept {
    std::uint64_t seed = 0;
  };
  static constexpr bool reads_x = false, reads_y = false;
  using batch = batch_of<T, Rank, Replicas>;
  double rate;
  std::uint64_t seed;
  shape extents;

  shape output_extents() const { return extents; }
  template <class F>
  void for_each_parameter(F&&) {}
  batch forward(batch const& x, kept& k, pass const& p) {
    k.seed = derived_seed(seed ^ p.seed, p.step);
    if (!p.training || rate == 0) return locus::internal::relabel<batch>(x, x.extents().as_shape());
    return dropped(x, k.seed);
  }
  batch backward(batch const&, batch const&, kept& k, batch dy, bool need_dx) {
    if (!need_dx || rate == 0) return dy;
    return dropped(dy, k.seed);
  }

 private:
  /// means: r[i] = number i of the seed's stream < rate ? 0 : x[i] / (1 - rate)
  batch dropped(batch const& x, std::uint64_t stream) const {
    return batch(where(uniform<T>(x.extents(), locus::seed{stream}) >= T(rate),
                       x * T(1 / (1 - rate)), T(0)));
  }
};

/// means: in training each element becomes 0 with probability `rate`, and else is divided by 1 -
///        rate
/// cost:  keeps no mask: the backward pass draws the numbers again
/// after: keras.layers.Dropout; the mask is a function of seed, step and the element's number in
///        the global batch: the same for every number of replicas. The places of a shared Dropout
///        have masks of their own
struct Dropout {
  static constexpr char const* kind = "Dropout";
  double rate = 0.5;

  template <class In>
  using output = In;
  template <class T, class In, class Replicas>
  using state = dropout_state<T, In::rank() + 1, Replicas>;
  template <class T, class In, class Replicas>
  auto make(shape const& in, std::uint64_t seed) const {
    if (locus::internal::is_nan(rate) || !(rate >= 0 && rate < 1)) {
      message text;
      throw configuration_error(text << "locus: the rate of a Dropout is not in [0, 1); it is the "
                                        "share of elements that become 0");
    }
    return state<T, In, Replicas>{rate, seed, in};
  }
};

}  // namespace locus::nn
