// SPDX-License-Identifier: Apache-2.0
// update: a rule of an optimizer as one kernel over a weight, what is kept for it, and its gradient.
#pragma once
#include <utility>  // index_sequence

#include <locus/nn/kernels/row_update.hpp>  // update_rows, first_not_below
#include <locus/ops/call.hpp>               // call
#include <locus/tensor/assign.hpp>          // into, plan

namespace locus::nn {

namespace detail {

constexpr call_roles whole_roles(int count) {
  call_roles r;
  for (int k = 0; k < count; ++k) r.of[r.count++] = call_role::whole;
  return r;
}

inline namespace LOCUS_MODE {

/// Operands: the weight, what is kept for it, (Scaled) a factor of the gradient, and the gradient: of
/// all elements, or (Sparse) the numbers of the rows that have one, in order, and their values.
/// Results: the weight and what is kept.
template <class Rule, bool Sparse, bool Scaled>
struct update_op {
  static constexpr int numbers = Rule::slots + 1, gradient = numbers + Scaled;
  static constexpr call_rule rule{.name = Sparse ? "update rows" : "update",
                                  .operands = whole_roles(gradient + 1 + Sparse),
                                  .results = whole_roles(numbers),
                                  .tensorflow = "ResourceApply",
                                  .stores_all = true,
                                  .in_place = true};
  Rule apply;

  template <int Result, class T, class... More>
  using result = T;
  template <class... More>
  static constexpr shape infer(int, shape weight, More... more) {
    shape const all[] = {weight, more...};
    for (int k = 1; k < gradient + !Sparse; ++k)
      if (!(Scaled && k == numbers) && !fits_as(all[k], weight)) return no_shape;
    return weight;
  }

  template <class T, class... More>
  void host(call_context const&, tile<T> first, More... more) const {
    run_host(std::make_index_sequence<std::size_t(numbers)>{}, make_pack(first, more...));
  }
  template <int Result, class T, class... More>
  LOCUS_HOST_DEVICE T element(std::int64_t i, call_context const&, tile<T>, tile<T const> weight,
                              More... more) const {
    return element_of<Result, T>(i, std::make_index_sequence<std::size_t(numbers)>{},
                                 pack<tile<T const>, More...>{{weight}, {more}...});
  }

 private:
  static constexpr bool fits_as(shape const& a, shape const& b) {
    return a.rank == b.rank &&
           (a.extent[0] == b.extent[0] || a.extent[0] == dyn || b.extent[0] == dyn);
  }
  template <std::size_t... K, class Tiles>
  void run_host(std::index_sequence<K...>, Tiles const& t) const {
    using T = std::remove_reference_t<decltype(*get<0>(t).data)>;
    nn::host::row_gradient<T, numbers> g{{get<numbers + K>(t).data...}, {get<K>(t).data...}};
    g.elements = get<0>(t).size();
    if constexpr (Scaled) g.scale = *get<2 * numbers>(t).data;
    if constexpr (Sparse) {
      auto const& values = get<numbers + gradient + 1>(t);
      g.width = values.extent[1], g.count = values.extent[0];
      g.rows = get<numbers + gradient>(t).data, g.values = values.data;
    } else
      g.dense = get<numbers + gradient>(t).data;
    nn::host::update_rows(apply, g);
  }
  template <int Result, class T, std::size_t... K, class Tiles>
  LOCUS_HOST_DEVICE T element_of(std::int64_t i, std::index_sequence<K...>, Tiles const& t) const {
    T x[] = {get<K>(t).data[i]...}, g = T(0);
    if constexpr (Sparse) {
      auto const& values = get<gradient + 1>(t);
      std::int64_t const width = values.extent[1], n = values.extent[0];
      if (n > 0) {
        std::int32_t const* const rows = get<gradient>(t).data;
        std::int64_t const k = nn::host::first_not_below(rows, n, i / width);
        if (k < n && rows[k] == i / width) g = values.data[k * width + i % width];
      }
    } else
      g = get<gradient>(t).data[i];
    if constexpr (Scaled) g *= *get<numbers>(t).data;
    apply(x, g);
    return x[Result];
  }
};

}  // namespace LOCUS_MODE
}  // namespace detail

inline namespace LOCUS_MODE {

/// means: weight, kept... = rule(weight, kept..., gradient), in place
/// shape: flat tensors of one size; gradient: that one, or two: numbers of rows in order, and their
///        values; Scaled: a factor of it, of rank 0, comes first
/// cost:  one kernel: each number is read once and written once
template <bool Scaled, class Rule, class Tensor, std::size_t... S, class... Gradient>
auto update_plan(Rule const& rule, Tensor& weight, Tensor* kept, std::index_sequence<S...>,
                 Gradient const&... gradient) {
  using op = detail::update_op<Rule, (sizeof...(Gradient) > 1 + Scaled), Scaled>;
  if constexpr (sizeof...(S) == 0)
    return plan(into(weight, call(op{rule}, weight, gradient...)));
  else {
    auto const all = call(op{rule}, weight, kept[S]..., gradient...);
    return plan(into(weight, result<0>(all)), into(kept[S], result<int(S) + 1>(all))...);
  }
}

}  // namespace LOCUS_MODE
}  // namespace locus::nn
