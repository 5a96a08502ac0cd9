// SPDX-License-Identifier: Apache-2.0
// Sequential{layers...}: a model that runs its layers in order; its extents are part of its type.
#pragma once
#include <locus/nn/layers/chain.hpp>          // chain
#include <locus/nn/layers/simple_layers.hpp>  // Input

LOCUS_COLD_BEGIN

namespace locus::nn {

namespace detail {

template <class Layer>
inline constexpr bool is_input = false;
template <std::int64_t... E>
inline constexpr bool is_input<Input<E...>> = true;

/// a layer that names the extents of its examples (`using input = ...`); void: a Sequential leaves
/// them open
template <class Layer>
concept names_input = requires { typename Layer::input; } && !std::is_void_v<typename Layer::input>;

/// the extents of a model's examples: those of its Input, or of its first layer (`using input =
/// ...`)
template <class First>
struct input_of {
  static_assert(always_false<First>,
                "locus: nothing says what the examples of this Sequential are; begin it with "
                "nn::Input<...>{}, the extents of one example");
};
template <class First>
  requires(is_input<First>)
struct input_of<First> {
  using type = typename First::extents;
  static shape given(First const& first) { return first.given; }
};
template <class First>
  requires(!is_input<First> && names_input<First>)
struct input_of<First> {
  using type = typename First::input;
  static shape given(First const& first) {
    if constexpr (requires { first.input_extents(); })
      return first.input_extents();
    else
      return type::pattern;
  }
};

template <class... Layers>
consteval bool require_layers() {
  static_assert(sizeof...(Layers) > 0,
                "locus: a Sequential has no layers; write nn::Sequential{nn::Dense<10>{}, ...}");
  static_assert(((layer<Layers> || is_input<Layers>) && ...),
                "locus: a Sequential holds layers alone, as nn::Dense<10>{}; optimizer, loss and "
                "metrics go to nn::compile");
  return true;
}

template <class First, class... Rest>
struct layers_behind_input {
  using list = type_list<First, Rest...>;
};
template <class First, class... Rest>
  requires(is_input<First>)
struct layers_behind_input<First, Rest...> {
  static_assert(sizeof...(Rest) > 0,
                "locus: a Sequential has an Input and no layer; name its layers behind it");
  static_assert(!(is_input<Rest> || ...),
                "locus: an Input stands behind another layer; a Sequential begins with it");
  using list = type_list<Rest...>;
};
template <class List>
struct chain_of;
template <class... Layers>
struct chain_of<type_list<Layers...>> {
  using type = chain<Layers...>;
  using layers = pack<Layers...>;
};

}  // namespace detail

/// means: a model that runs its layers in order; also a layer itself
/// shape: static where Input and layers give static extents; extents that are dyn are checked once,
///        when a trainer is made
/// fails: at compile time, if a layer does not take the extents of the layer before it
/// after: keras.Sequential
template <class... Layers>
class Sequential {
  using checked = std::bool_constant<detail::require_layers<Layers...>()>;
  using body = typename detail::layers_behind_input<Layers...>::list;
  using chain_type = typename detail::chain_of<body>::type;
  static constexpr int skipped = int(sizeof...(Layers)) - body::size;

 public:
  static constexpr char const* kind = "Sequential";
  static constexpr int size = body::size;
  using layer_types = body;
  template <int K>
  using layer_at = at_t<K, body>;
  std::string_view name = "sequential";
  std::uint64_t seed = 1;  // initial weights are a function of it

  constexpr Sequential(Layers... layers) : layers_{{layers}...} {
    if constexpr (has_input) static_cast<void>(sizeof(output<input>));  // the sizes fit
  }
  /// means: the same model under another name
  constexpr Sequential named(std::string_view other) const {
    Sequential s = *this;
    s.name = other;
    return s;
  }
  /// means: the same model with other initial weights
  constexpr Sequential seeded(std::uint64_t other) const {
    Sequential s = *this;
    s.seed = other;
    return s;
  }

  /// the layers without Input
  constexpr auto layers() const {
    return [&]<std::size_t... K>(std::index_sequence<K...>) {
      return typename detail::chain_of<body>::layers{{get<K + std::size_t(skipped)>(layers_)}...};
    }(std::make_index_sequence<std::size_t(size)>{});
  }

  /// means: a Sequential of f(layer) for each layer, Input too
  template <class F>
  constexpr auto each_layer(F const& f) const {
    return [&]<std::size_t... K>(std::index_sequence<K...>) {
      return Sequential<decltype(f(get<K>(layers_)))...>(f(get<K>(layers_))...);
    }(std::index_sequence_for<Layers...>{});
  }

  // ---- as a model: the extents of an example ----
  using first = at_t<0, type_list<Layers...>>;
  static constexpr bool has_input = detail::is_input<first> || detail::names_input<first>;
  template <class First = first>
  using input_type = typename detail::input_of<First>::type;
  using input = typename decltype([] {
    if constexpr (has_input)
      return std::type_identity<typename detail::input_of<first>::type>{};
    else
      return std::type_identity<void>{};
  }())::type;
  shape input_extents() const { return detail::input_of<first>::given(get<0>(layers_)); }

  // ---- as a layer ----
  template <class In>
  using output = typename chain_type::template output<In>;
  template <class T, class In, class Replicas>
  using made = typename chain_type::template made<T, In, Replicas>;
  template <class T, class In, class Replicas>
  using state = typename made<T, In, Replicas>::type;
  template <class T, class In, class Replicas>
  auto make(shape const& in, std::uint64_t from) const {
    return made<T, In, Replicas>::make(layers(), in, from);
  }

 private:
  pack<Layers...> layers_;
};

}  // namespace locus::nn

LOCUS_COLD_END
