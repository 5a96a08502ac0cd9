// SPDX-License-Identifier: Apache-2.0
// Layers in order: their extents in types, fused pairs, and the state that runs them forward and
// backward.
#pragma once
#include <locus/core/pack.hpp>                // pack, get
#include <locus/core/type_list.hpp>           // type_list, at_t
#include <locus/nn/layers/layer.hpp>          // state_of, fused_pair
#include <locus/nn/layers/model_builder.hpp>  // making

LOCUS_COLD_BEGIN

namespace locus::nn {

namespace detail {

/// means: Count layers from number First on as one description: a layer, or a fused pair
template <class Description, int First, int Count, int Number>
struct unit {
  using description = Description;
  static constexpr int first = First, count = Count, number = Number;
};

template <class Done, int At, class... Layers>
struct units_of {
  using type = Done;
};
template <class... Done, int At, class A, class B, class... Rest>
  requires(fused_pair<A, B>::exists)
struct units_of<type_list<Done...>, At, A, B, Rest...>
    : units_of<
          type_list<Done..., unit<typename fused_pair<A, B>::type, At, 2, int(sizeof...(Done))>>,
          At + 2, Rest...> {};
template <class... Done, int At, class A, class... Rest>
struct units_of<type_list<Done...>, At, A, Rest...>
    : units_of<type_list<Done..., unit<A, At, 1, int(sizeof...(Done))>>, At + 1, Rest...> {};

/// In, and the extents behind each layer
template <class Done, class Last, class... Layers>
struct outputs_of {
  using type = Done;
  using last = Last;
};
template <class... Done, class Last, class A, class... Rest>
struct outputs_of<type_list<Done...>, Last, A, Rest...>
    : outputs_of<type_list<Done..., output_of<A, Last>>, output_of<A, Last>, Rest...> {};

/// a unit's state, and the types of its batches
template <class State, class X, class Y>
struct link {
  using state = State;
  using x = X;
  using y = Y;
};

template <class T, class Replicas, class Outputs, class... Units>
struct links_of;
template <class T, class Replicas, class... Extents, class... Units>
struct links_of<T, Replicas, type_list<Extents...>, Units...> {
  using outputs = type_list<Extents...>;
  template <class U>
  using in = at_t<U::first, outputs>;
  template <class U>
  using out = at_t<U::first + U::count, outputs>;
  template <class U>
  using state = state_of<typename U::description, T, in<U>, Replicas>;
  using type = type_list<
      link<state<Units>,
           batch_of<typename element_taken<state<Units>, T>::type, in<Units>::rank() + 1, Replicas>,
           batch_of<T, out<Units>::rank() + 1, Replicas>>...>;
};

/// means: an empty batch, in place of one without further readers
template <class Batch>
Batch no_batch() {
  return Batch(typename Batch::extents_type(shape{Batch::rank(), {}}));
}

}  // namespace detail

/// The names of a layer: "conv1d_1", "Conv1D"; for a fused pair, of both layers.
struct layer_label {
  std::string name, second_name;
  char const *kind = "", *second_kind = nullptr;
};

/// means: the states of layers in order
/// device: batches are cut over the replicas
/// cost:  the sum of the layers' costs; one tensor between two layers, which is freed as soon as no
///        backward reads it
template <class T, class Replicas, class Links>
struct chain_state;
template <class T, class Replicas, class... Links>
struct chain_state<T, Replicas, type_list<Links...>> {
  static constexpr int size = sizeof...(Links);
  using links = type_list<Links...>;
  template <int K>
  using state_at = typename at_t<K, links>::state;
  using element = typename at_t<0, links>::x::value_type;
  using in_batch = typename at_t<0, links>::x;
  using out_batch = typename at_t<size - 1, links>::y;
  // the backward pass reads the first x, the last y
  static constexpr bool reads_x = nn::reads_x<state_at<0>>();
  static constexpr bool reads_y = nn::reads_y<state_at<size - 1>>();
  static constexpr bool regularizes = (nn::regularizes<typename Links::state>() || ... || false);

  template <class Link>
  struct step {
    typename Link::state::kept own{};
    typename Link::y y = detail::no_batch<typename Link::y>();  // empty at the last link
  };
  using kept = pack<step<Links>...>;

  pack<typename Links::state...> states;
  layer_label labels[size];

  shape output_extents() const { return get<size - 1>(states).output_extents(); }
  /// the activation that the last link can leave to a loss (pass::logits); linear: none
  activation ends_in() const {
    if constexpr (requires { get<size - 1>(states).ends_in(); })
      return get<size - 1>(states).ends_in();
    else
      return activation::linear;
  }
  template <class F>
  void for_each_parameter(F&& f) {
    for_each_index<size>([&](auto k) { get<std::size_t(k)>(states).for_each_parameter(f); });
  }
  bool learns() { return learns_before(size); }
  /// means: f(label, state) for every layer, also for layers inside of layers
  template <class F>
  void visit(F&& f) {
    for_each_index<size>([&](auto k) {
      auto& s = get<std::size_t(k)>(states);
      if constexpr (requires { s.visit(f); })
        s.visit(f);
      else
        f(labels[k], s);
    });
  }

  out_batch forward(in_batch const& x, kept& k, pass const& p) { return run_from<0>(x, k, p); }
  in_batch backward(in_batch const& x, out_batch const& y, kept& k, out_batch dy, bool need_dx) {
    return backward_from<size - 1>(x, y, k, std::move(dy), need_dx, nothing{});
  }
  /// means: the same; calls done(k) after the backward pass of link k
  template <class Done>
  in_batch backward(in_batch const& x, out_batch const& y, kept& k, out_batch dy, bool need_dx,
                    Done const& done) {
    return backward_from<size - 1>(x, y, k, std::move(dy), need_dx, done);
  }

 private:
  template <int K, class X>
  out_batch run_from(X const& x, kept& k, pass const& p) {
    auto& s = get<std::size_t(K)>(states);
    auto& mine = get<std::size_t(K)>(k);
    pass here = p;
    here.logits = p.logits && K + 1 == size;
    auto y = s.forward(x, mine.own, here);
    if (p.watch) p.watch->saw(labels[K].name, *y.block.get());
    if constexpr (K + 1 == size)
      return y;
    else {
      mine.y = std::move(y);
      if constexpr (K > 0) {  // x is the batch of the link before
        bool const read = nn::reads_x<state_at<K>>() || nn::reads_y<state_at<K - 1>>();
        if (!p.training || !read) drop(get<std::size_t(K - 1)>(k).y);
      }
      return run_from<K + 1>(mine.y, k, p);
    }
  }
  template <int K, class Dy, class Done>
  in_batch backward_from(in_batch const& x, out_batch const& y, kept& k, Dy dy, bool need_dx,
                         Done const& done) {
    auto& s = get<std::size_t(K)>(states);
    auto& mine = get<std::size_t(K)>(k);
    auto const& made = [&]() -> auto const& {
      if constexpr (K + 1 == size)
        return y;
      else
        return mine.y;
    }();
    auto const& read = [&]() -> auto const& {
      if constexpr (K == 0)
        return x;
      else
        return get<std::size_t(K - 1)>(k).y;
    }();
    bool const pass_on = K > 0 ? need_dx || learns_before(K) : need_dx;
    if constexpr (K == 0) {
      auto dx = backward_of(s, read, made, mine.own, std::move(dy), pass_on);
      tell<K>(done);
      return dx;
    } else {
      auto dx = s.backward(read, made, mine.own, std::move(dy), pass_on);
      tell<K>(done);
      if constexpr (K + 1 < size) drop(mine.y);
      if (!pass_on) return detail::no_batch<in_batch>();
      return backward_from<K - 1>(x, y, k, std::move(dx), need_dx, done);
    }
  }
  /// the backward of the first link, whose examples may have no gradient, as tokens
  template <class S, class X, class Y, class Kept, class Dy>
  static in_batch backward_of(S& s, X const& x, Y const& y, Kept& own, Dy dy, bool need_dx) {
    using Dx = decltype(s.backward(x, y, own, std::move(dy), need_dx));
    if constexpr (std::is_same_v<Dx, in_batch>)
      return s.backward(x, y, own, std::move(dy), need_dx);
    else {
      static_cast<void>(s.backward(x, y, own, std::move(dy), need_dx));
      return detail::no_batch<in_batch>();
    }
  }
  template <int K, class Done>
  static void tell(Done const& done) {
    if constexpr (!std::is_same_v<Done, nothing>) done(K);
  }
  template <class Batch>
  static void drop(Batch& b) {
    b = detail::no_batch<Batch>();
  }
  /// means: a link before number k learns
  bool learns_before(int k) {
    bool any = false;
    for_each_index<size>([&](auto j) { any |= j < k && nn::learns(get<std::size_t(j)>(states)); });
    return any;
  }
};

/// means: the descriptions of layers in order: their extents, and a function that makes their
///        states
template <class... Layers>
struct chain {
  using units = typename detail::units_of<type_list<>, 0, Layers...>::type;
  /// In, and the extents behind each layer
  template <class In>
  using outputs = typename detail::outputs_of<type_list<In>, In, Layers...>::type;
  template <class In>
  using output = typename detail::outputs_of<type_list<In>, In, Layers...>::last;

  template <class T, class In, class Replicas, class Units>
  struct state_of_units;
  template <class T, class In, class Replicas, class... Units>
  struct state_of_units<T, In, Replicas, type_list<Units...>> {
    using type = chain_state<T, Replicas,
                             typename detail::links_of<T, Replicas, outputs<In>, Units...>::type>;
    static type make(pack<Layers...> const& layers, shape in, std::uint64_t seed) {
      layer_label labels[sizeof...(Units)];
      layer_label* next = labels;
      return type{{{make_unit<Units>(layers, in, seed, *next++)}...},
                  {std::move(labels[Units::number])...}};
    }
    template <class U>
    static auto make_unit(pack<Layers...> const& layers, shape& in, std::uint64_t seed,
                          layer_label& label) {
      using UnitIn = at_t<U::first, outputs<In>>;
      constexpr auto first = std::size_t(U::first);
      detail::making& names = *detail::making::current();
      auto const& a = get<first>(layers);
      using A = std::remove_cvref_t<decltype(a)>;
      label.kind = A::kind, label.name = names.name(A::kind);
      auto const own_seed = derived_seed(seed, first);
      if constexpr (U::count == 1) {
        auto state = a.template make<T, UnitIn, Replicas>(in, own_seed);
        in = state.output_extents();
        return state;
      } else {
        auto const& b = get<first + 1>(layers);
        using B = std::remove_cvref_t<decltype(b)>;
        label.second_kind = B::kind, label.second_name = names.name(B::kind);
        auto state = fused_pair<A, B>::of(a, b).template make<T, UnitIn, Replicas>(in, own_seed);
        in = state.output_extents();
        return state;
      }
    }
  };
  template <class T, class In, class Replicas>
  using made = state_of_units<T, In, Replicas, units>;
};

}  // namespace locus::nn

LOCUS_COLD_END
