// SPDX-License-Identifier: Apache-2.0
// shared(layer): one layer at several places of a model; the gradients of its places are added.
#pragma once
#include <memory>  // shared_ptr

#include <locus/nn/layers/chain.hpp>  // making

LOCUS_COLD_BEGIN

namespace locus::nn {

/// The state of a layer at one of several places: all places share one `cell`.
template <class T, class Replicas, class State>
struct shared_state {
  using parameter_type = parameter<T, Replicas>;
  struct cell {
    State state;
    shape in;
    std::vector<parameter_type*> own{};  // without those of a shared layer inside of this one
    std::vector<typename parameter_type::tensor> sums{};
    bool has_gradients = false;  // of this step, from a place whose backward pass has run
    std::uint64_t places = 1;
  };
  static_assert(!nn::regularizes<State>(),
                "locus: the penalty of a shared layer would count at each of its places; write "
                "weight_decay of the optimizer instead");
  static_assert(
      std::is_same_v<typename element_taken<State, T>::type, T>,
      "locus: a shared layer reads tokens, and the sparse gradient of an Embedding is that "
      "of one place; share the layers behind it");
  using kept = typename State::kept;
  static constexpr bool reads_x = nn::reads_x<State>(), reads_y = nn::reads_y<State>();
  std::shared_ptr<cell> of;
  // the number of this place in the forward pass; the gradients are complete when the backward pass
  // of place 0 has ended
  std::uint64_t place;

  shape output_extents() const { return of->state.output_extents(); }
  activation ends_in() const {
    if constexpr (requires { of->state.ends_in(); })
      return of->state.ends_in();
    else
      return activation::linear;
  }
  template <class F>
  void for_each_parameter(F&& f) {
    if (place == 0) of->state.for_each_parameter(f);
  }
  bool learns() { return nn::learns(of->state); }  // at each place
  /// means: f(label, state) for every layer of a shared network, once
  template <class F>
    requires requires(State& s, F&& f) { s.visit(f); }
  void visit(F&& f) {
    if (place == 0) of->state.visit(f);
  }
  /// after: the places have random numbers of their own
  template <class X>
  auto forward(X const& x, kept& k, pass p) {
    if (p.training) of->has_gradients = false;
    if (place > 0) p.seed = derived_seed(p.seed, place);
    return of->state.forward(x, k, p);
  }
  /// after: the gradients are the sums over the places whose backward pass has run
  template <class X, class Y>
  auto backward(X const& x, Y const& y, kept& k, Y dy, bool need_dx) {
    bool const adds = of->has_gradients;
    of->has_gradients = true;
    if (adds) keep_sums();
    auto dx = of->state.backward(x, y, k, std::move(dy), need_dx);
    if (adds)
      for (std::size_t n = 0; n < of->own.size(); ++n)
        if (of->own[n]->trainable) of->own[n]->gradient += of->sums[n];
    return dx;
  }

 private:
  void keep_sums() {
    for (std::size_t n = 0; n < of->own.size(); ++n) {
      auto& gradient = of->own[n]->gradient;
      if (n == of->sums.size()) of->sums.emplace_back(gradient.extents());
      std::swap(of->sums[n], gradient);
    }
  }
};

/// means: a layer whose weights are the same at all places of a model where this object or a copy
///        of it stands
template <layer Layer>
class Shared {
 public:
  static constexpr char const* kind = Layer::kind;
  using layer_types = type_list<Layer>;  // a loss finds the last activation here
  static constexpr int size = 1;
  explicit Shared(Layer l) : layer_(l), identity_(std::make_shared<char>()) {}

  template <class In>
  using output = output_of<Layer, In>;
  template <class T, class In, class Replicas>
  using state = shared_state<T, Replicas, state_of<Layer, T, In, Replicas>>;

  template <class T, class In, class Replicas>
  auto make(shape const& in, std::uint64_t seed) const {
    using State = state<T, In, Replicas>;
    using Cell = std::shared_ptr<typename State::cell>;
    static constexpr char tag = 0;
    detail::making& model = *detail::making::current();
    for (detail::shared_cell const& c : model.cells) {
      if (c.layer != identity_.get()) continue;
      if (c.type == &tag) {
        auto const cell = std::static_pointer_cast<typename State::cell>(c.cell);
        if (cell->in == in) return State{cell, cell->places++};
      }
      message text;
      throw shape_error(text << "locus: a shared " << std::string_view(kind)
                             << " stands behind layers of different outputs, here " << in
                             << "; its weights fit one of them");
    }
    Cell cell = std::make_shared<typename State::cell>(
        typename State::cell{layer_.template make<T, In, Replicas>(in, seed), in});
    cell->state.for_each_parameter([&](parameter<T, Replicas>& p) {
      if (model.is_new_in_cell(&p)) cell->own.push_back(&p);
    });
    model.cells.push_back({identity_.get(), &tag, cell});
    return State{cell, 0};
  }

 private:
  Layer layer_;
  std::shared_ptr<char> identity_;
};

/// means: a layer l for several places: auto tower = shared(Dense<64>{relu}); Sequential{tower,
///        ..., tower}
/// cost:  an all-reduce of its gradients for each place
template <layer Layer>
Shared<Layer> shared(Layer l) {
  return Shared<Layer>(l);
}

}  // namespace locus::nn

LOCUS_COLD_END
