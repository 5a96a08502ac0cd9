// SPDX-License-Identifier: Apache-2.0
// Residual{layers...}: y = x + f(x); with a branch g: y = g(x) + f(x).
#pragma once
#include <locus/nn/layers/sequential.hpp>  // Sequential

LOCUS_COLD_BEGIN

namespace locus::nn {

/// The state of a Residual. Branch: the state of the branch, or `nothing`.
template <class T, int Rank, class Replicas, class Inner, class Branch>
struct residual_state {
  static constexpr bool projects = !std::is_same_v<Branch, nothing>;
  static constexpr bool reads_y = false;
  static constexpr bool reads_x = Inner::reads_x || [] {
    if constexpr (projects) return Branch::reads_x;
    return false;
  }();
  static constexpr bool regularizes = nn::regularizes<Inner>() || nn::regularizes<Branch>();
  using in_batch = typename Inner::in_batch;
  using batch = typename Inner::out_batch;
  template <class S>
  struct kept_by {
    typename S::kept own;
    typename S::out_batch made =
        detail::no_batch<typename S::out_batch>();  // the result, if backward reads it
  };
  struct no_branch {};
  struct kept {
    kept_by<Inner> inner;
    [[no_unique_address]] typename decltype([] {
      if constexpr (projects)
        return std::type_identity<kept_by<Branch>>{};
      else
        return std::type_identity<no_branch>{};
    }())::type branch;
  };

  Inner inner;
  [[no_unique_address]] Branch branch;

  shape output_extents() const { return inner.output_extents(); }
  template <class F>
  void for_each_parameter(F&& f) {
    inner.for_each_parameter(f);
    if constexpr (projects) branch.for_each_parameter(f);
  }
  bool learns() {
    bool any = inner.learns();
    if constexpr (projects) any |= branch.learns();
    return any;
  }
  template <class F>
  void visit(F&& f) {
    inner.visit(f);
    if constexpr (projects) branch.visit(f);
  }
  batch forward(in_batch const& x, kept& k, pass const& p) {
    batch y = inner.forward(x, k.inner.own, p);
    if constexpr (projects)
      return sum(y, branch.forward(x, k.branch.own, p), k, p);
    else
      return sum(y, x, k, p);
  }
  in_batch backward(in_batch const& x, batch const&, kept& k, batch dy, bool need_dx) {
    batch const dy_too(dy);  // each backward may overwrite its dy
    in_batch dx = inner.backward(x, k.inner.made, k.inner.own, std::move(dy), need_dx);
    drop(k.inner.made);
    if constexpr (projects) {
      batch own(dy_too);
      auto const more = branch.backward(x, k.branch.made, k.branch.own, std::move(own), need_dx);
      drop(k.branch.made);
      if (need_dx) dx += more;
    } else if (need_dx)
      dx += dy_too;
    return dx;
  }

 private:
  static void drop(batch& b) { b = detail::no_batch<batch>(); }
  template <class Other>
  batch sum(batch& y, Other&& g, kept& k, pass const& p) {
    if (p.training && Inner::reads_y) {
      batch r(y + g);
      k.inner.made = std::move(y);
      keep_branch(g, k, p);
      return r;
    }
    y += g;
    keep_branch(g, k, p);
    return std::move(y);
  }
  template <class Other>
  static void keep_branch(Other&& g, kept& k, pass const& p) {
    if constexpr (projects)
      if (p.training && Branch::reads_y) k.branch.made = std::move(g);
  }
};

template <class Inner, class Branch>
class Projected;

/// means: y = x + f(x), where f runs the layers in order
/// fails: at compile time, if f changes the extents
/// after: He et al., Deep residual learning, CVPR 2016
template <class... Layers>
class Residual {
  using inner_type = Sequential<Layers...>;

 public:
  static constexpr char const* kind = "Residual";
  constexpr Residual(Layers... layers) : inner_(layers...) {}
  /// means: y = g(x) + f(x), where g runs these layers in order
  template <class... Of>
  constexpr auto branch(Of... layers) const {
    return Projected<inner_type, Sequential<Of...>>(inner_, Sequential<Of...>(layers...));
  }

  template <class In>
  static consteval auto output_type() {
    using Out = output_of<inner_type, In>;
    static_assert(same_extents(Out::pattern, In::pattern),
                  "locus: a Residual adds what its layers make to what they take, and the extents "
                  "differ; give it a branch: nn::Residual{...}.branch(nn::Conv2D<...>{})");
    return std::type_identity<Out>{};
  }
  template <class In>
  using output = typename decltype(output_type<In>())::type;
  template <class T, class In, class Replicas>
  using state =
      residual_state<T, In::rank() + 1, Replicas, state_of<inner_type, T, In, Replicas>, nothing>;
  template <class T, class In, class Replicas>
  auto make(shape const& in, std::uint64_t seed) const {
    return state<T, In, Replicas>{inner_.template make<T, In, Replicas>(in, seed), {}};
  }
  static constexpr bool same_extents(shape const& a, shape const& b) {
    if (a.rank != b.rank) return false;
    for (int i = 0; i < a.rank; ++i)
      if (a.extent[i] != b.extent[i] && a.extent[i] != dyn && b.extent[i] != dyn) return false;
    return true;
  }

 private:
  inner_type inner_;
};

/// means: y = g(x) + f(x): the type of Residual{...}.branch(...)
template <class Inner, class Branch>
class Projected {
 public:
  static constexpr char const* kind = "Residual";
  constexpr Projected(Inner inner, Branch branch) : inner_(inner), branch_(branch) {}

  template <class In>
  static consteval auto output_type() {
    using Out = output_of<Inner, In>;
    static_assert(
        Residual<Inner>::same_extents(Out::pattern, output_of<Branch, In>::pattern),
        "locus: a Residual adds what its layers make to what its branch makes, and the extents "
        "differ; let both make the same");
    return std::type_identity<Out>{};
  }
  template <class In>
  using output = typename decltype(output_type<In>())::type;
  template <class T, class In, class Replicas>
  using state = residual_state<T, In::rank() + 1, Replicas, state_of<Inner, T, In, Replicas>,
                               state_of<Branch, T, In, Replicas>>;
  template <class T, class In, class Replicas>
  auto make(shape const& in, std::uint64_t seed) const {
    return state<T, In, Replicas>{
        inner_.template make<T, In, Replicas>(in, seed),
        branch_.template make<T, In, Replicas>(in, derived_seed(seed, 1000))};
  }

 private:
  Inner inner_;
  Branch branch_;
};

}  // namespace locus::nn

LOCUS_COLD_END
