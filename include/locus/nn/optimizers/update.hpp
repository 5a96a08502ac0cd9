// SPDX-License-Identifier: Apache-2.0
// update: the rule of an optimizer as one kernel over a weight, its slots and its gradient.
#pragma once
#include <utility>  // index_sequence

#include <locus/nn/optimizers/row_update.hpp>  // update_rows, first_not_below
#include <locus/ops/call.hpp>                  // call
#include <locus/tensor/assign.hpp>             // into, plan
#if LOCUS_CUDA_KERNELS
#include <locus/nn/optimizers/update_team.hpp>  // update_team
#endif

namespace locus::nn {

namespace detail {

constexpr call_roles whole_roles(int count) {
  call_roles r;
  for (int k = 0; k < count; ++k) r.of[r.count++] = call_role::whole;
  return r;
}

inline namespace LOCUS_MODE {

/// Operands: each of `Weights` weights with its slots; (Scaled) a factor of the gradients; the
/// gradient of each weight: all elements, or (Sparse, one weight) the sorted indices of rows that
/// have a gradient, and their values. Results: each weight and its slots.
template <class Rule, bool Sparse, bool Scaled, int Weights>
struct update_op {
  static constexpr int numbers = Rule::slot_count + 1, results = numbers * Weights,
                       gradient = results + Scaled;
  static_assert(gradient + Weights + Sparse <= call_roles::most,
                "locus: a kernel reads a weight, its slots, its gradient and a factor, 24 values "
                "in all, and this rule of an optimizer has more slots; give it 20 at most");
  static constexpr call_rule rule{.name = Sparse ? "update rows" : "update",
                                  .operands = whole_roles(gradient + Weights + Sparse),
                                  .results = whole_roles(results),
                                  .tensorflow = "ResourceApply",
                                  .stores_all = true,
                                  .in_place = true,
                                  .by_teams = !Sparse};
  Rule apply;

  template <int Result, class T, class... More>
  using result = T;
  template <class... More>
  static constexpr shape infer(int result, shape weight, More... more) {
    shape const all[] = {weight, more...};
    for (int k = 0; k < Weights; ++k) {
      for (int n = 1; n < numbers; ++n)
        if (!fits_as(all[k * numbers + n], all[k * numbers])) return no_shape;
      if (!Sparse && !fits_as(all[gradient + k], all[k * numbers])) return no_shape;
    }
    return all[result];
  }

  template <class T, class... More>
  void host(call_context const&, tile<T> first, More... more) const {
    run_host(std::make_index_sequence<std::size_t(numbers)>{},
             std::make_index_sequence<std::size_t(Weights)>{}, make_pack(first, more...));
  }
  /// one element of a table with gradients for some rows only
  template <int Result, class T, class... More>
    requires Sparse
  LOCUS_HOST_DEVICE T element(std::int64_t i, call_context const&, tile<T>, tile<T const> weight,
                              More... more) const {
    return element_of<Result, T>(i, std::make_index_sequence<std::size_t(numbers)>{},
                                 pack<tile<T const>, More...>{{weight}, {more}...});
  }
  /// vectors of all weights, one weight after another
  template <class T, class... More>
  auto team(call_context const&, tile<T> first, More... more) const;

 private:
  static constexpr bool fits_as(shape const& a, shape const& b) {
    return a.rank == b.rank &&
           (a.extent[0] == b.extent[0] || a.extent[0] == dyn || b.extent[0] == dyn);
  }
  /// t: results, then operands
  template <std::size_t... N, std::size_t... K, class Tiles>
  void run_host(std::index_sequence<N...> each, std::index_sequence<K...>, Tiles const& t) const {
    (update_one<K>(each, t), ...);
  }
  template <std::size_t K, std::size_t... N, class Tiles>
  void update_one(std::index_sequence<N...>, Tiles const& t) const {
    using T = std::remove_reference_t<decltype(*get<0>(t).data)>;
    constexpr std::size_t first = K * numbers;
    nn::host::row_gradient<T, numbers> g{{get<results + first + N>(t).data...},
                                         {get<first + N>(t).data...}};
    g.elements = get<first>(t).size();
    if (g.elements == 0) return;
    if constexpr (Scaled) g.scale = *get<2 * results>(t).data;
    if constexpr (Sparse) {
      auto const& values = get<results + gradient + 1>(t);
      g.width = values.extent[1], g.count = values.extent[0];
      g.rows = get<results + gradient>(t).data, g.values = values.data;
    } else
      g.dense = get<results + gradient + K>(t).data;
    nn::host::update_rows(apply, g);
  }
  template <int Result, class T, std::size_t... K, class Tiles>
  LOCUS_HOST_DEVICE T element_of(std::int64_t i, std::index_sequence<K...>, Tiles const& t) const {
    T x[] = {get<K>(t).data[i]...}, g = T(0);
    auto const& values = get<gradient + 1>(t);
    std::int64_t const width = values.extent[1], n = values.extent[0];
    if (n > 0) {
      std::int32_t const* const rows = get<gradient>(t).data;
      std::int64_t const k = nn::host::first_not_below(rows, n, i / width);
      if (k < n && rows[k] == i / width) g = values.data[k * width + i % width];
    }
    if constexpr (Scaled) g *= *get<numbers>(t).data;
    apply(x, g);
    return x[Result];
  }
};

#if LOCUS_CUDA_KERNELS
template <class Rule, bool Sparse, bool Scaled, int Weights>
template <class T, class... More>
auto update_op<Rule, Sparse, Scaled, Weights>::team(call_context const&, tile<T> first,
                                                    More... more) const {
  auto const t = make_pack(first, more...);  // results, then operands
  update_team<Rule, T, Weights> all{apply, nullptr, {}};
  [&]<std::size_t... R>(std::index_sequence<R...>) {
    ((all.of[R / numbers].to[R % numbers] = get<R>(t).data,
      all.of[R / numbers].from[R % numbers] = get<results + R>(t).data,
      all.of[R / numbers].size = get<R>(t).size()),
     ...);
  }(std::make_index_sequence<std::size_t(results)>{});
  [&]<std::size_t... K>(std::index_sequence<K...>) {
    ((all.of[K].gradient = get<results + gradient + K>(t).data), ...);
  }(std::make_index_sequence<std::size_t(Weights)>{});
  if constexpr (Scaled) all.scale = get<2 * results>(t).data;
  all.look_at_addresses();
  return all;
}
#endif

}  // namespace LOCUS_MODE
}  // namespace detail

inline namespace LOCUS_MODE {

/// means: weight, slots... = rule(weight, slots..., gradient), in place
/// shape: flat tensors of one size; gradient: one such tensor, or sorted row indices and their
///        values; Scaled: first a factor of the gradient, of rank 0
/// cost:  one kernel: reads and writes each number once
template <bool Scaled, class Rule, class Tensor, std::size_t... S, class... Gradient>
auto update_plan(Rule const& rule, Tensor& weight, Tensor* kept, std::index_sequence<S...>,
                 Gradient const&... gradient) {
  using op = detail::update_op<Rule, (sizeof...(Gradient) > 1 + Scaled), Scaled, 1>;
  if constexpr (sizeof...(S) == 0)
    return plan(into(weight, call(op{rule}, weight, gradient...)));
  else {
    auto const all = call(op{rule}, weight, kept[S]..., gradient...);
    return plan(into(weight, result<0>(all)), into(kept[S], result<int(S) + 1>(all))...);
  }
}

/// Number of weights that one launch updates: the most whose slots and gradients, with a factor,
/// are not more values than a kernel of a plan may read.
template <class Rule>
inline constexpr int weights_at_once =
    Rule::slot_count + 2 < max_region_values ? (max_region_values - 1) / (Rule::slot_count + 2) : 1;

/// A weight, its slots, and its gradient.
template <class Tensor>
struct update_of {
  Tensor* weight;
  Tensor* kept;  // as many as the rule has slots
  Tensor const* gradient;
};

/// means: the same for weights_at_once<Rule> weights of any sizes
/// cost:  one kernel for all of them
template <class Rule, class Tensor, class... Scale>
auto update_plan(Rule const& rule, update_of<Tensor> const* all, Scale const&... scale) {
  constexpr int weights = weights_at_once<Rule>, numbers = Rule::slot_count + 1;
  using op = detail::update_op<Rule, false, sizeof...(Scale) == 1, weights>;
  auto const number = [&](int k) -> Tensor& {
    auto const& of = all[k / numbers];
    return k % numbers == 0 ? *of.weight : of.kept[k % numbers - 1];
  };
  return [&]<std::size_t... R, std::size_t... K>(std::index_sequence<R...>,
                                                 std::index_sequence<K...>) {
    auto const made = call(op{rule}, number(int(R))..., scale..., *all[K].gradient...);
    return plan(into(number(int(R)), result<int(R)>(made))...);
  }(std::make_index_sequence<std::size_t(weights * numbers)>{},
         std::make_index_sequence<std::size_t(weights)>{});
}

}  // namespace LOCUS_MODE
}  // namespace locus::nn
