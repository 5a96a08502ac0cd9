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
  struct cell {
    State state;
    shape in;
    int uses = 0, done = 0;  // places; backward passes of this step
    std::vector<typename parameter<T, Replicas>::tensor> sums;
  };
  static_assert(!nn::regularizes<State>(),
                "locus: the penalty of a shared layer would count at each of its places; write "
                "weight_decay of the optimizer instead");
  using kept = typename State::kept;
  static constexpr bool reads_x = nn::reads_x<State>(), reads_y = nn::reads_y<State>();
  std::shared_ptr<cell> of;
  bool first;  // this place runs forward first and backward last, when the gradients are complete

  shape output_extents() const { return of->state.output_extents(); }
  activation ends_in() const {
    if constexpr (requires { of->state.ends_in(); })
      return of->state.ends_in();
    else
      return activation::linear;
  }
  template <class F>
  void for_each_parameter(F&& f) {
    if (first) of->state.for_each_parameter(f);
  }
  template <class X>
  auto forward(X const& x, kept& k, pass const& p) {
    return of->state.forward(x, k, p);
  }
  template <class X, class Y>
  auto backward(X const& x, Y const& y, kept& k, Y dy, bool need_dx) {
    auto dx = of->state.backward(x, y, k, std::move(dy), need_dx);
    if (of->uses == 1) return dx;
    std::size_t number = 0;
    of->state.for_each_parameter([&](auto& p) {
      if (!p.trainable) return;
      if (of->done == 0) {
        if (number == of->sums.size()) of->sums.emplace_back(p.gradient.extents());
        std::swap(of->sums[number], p.gradient);
      } else if (of->done + 1 < of->uses)
        of->sums[number] += p.gradient;
      else
        p.gradient += of->sums[number];
      ++number;
    });
    of->done = (of->done + 1) % of->uses;
    return dx;
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
        if (cell->in == in) {
          ++cell->uses;
          return State{cell, false};
        }
      }
      message text;
      throw shape_error(text << "locus: a shared " << std::string_view(kind)
                             << " stands behind layers of different outputs, here " << in
                             << "; its weights fit one of them");
    }
    Cell cell = std::make_shared<typename State::cell>(
        typename State::cell{layer_.template make<T, In, Replicas>(in, seed), in, 1, 0, {}});
    model.cells.push_back({identity_.get(), &tag, cell});
    return State{cell, true};
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
