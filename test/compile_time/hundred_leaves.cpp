// SPDX-License-Identifier: Apache-2.0
// budget: 5400 instantiations (clang 14)
// A hundred different leaves in one plan, which cuts them into kernels of at most 24 inputs.
#include <locus/locus.hpp>
using namespace locus;

struct Sum {
  LOCUS_OPERATION("sum of ten", on_both)
  template <class... Elem>
  LOCUS_HOST_DEVICE float operator()(Elem... v) const {
    return (v + ...);
  }
};
template <std::size_t First, std::size_t... Idx>
auto ten(Tensor<float, Extents<8>>* x, std::index_sequence<Idx...>) {
  return map(Sum{}, x[First + Idx]...);
}
template <std::size_t... Tens>
auto hundred(Tensor<float, Extents<8>>* x, std::index_sequence<Tens...>) {
  return (ten<10 * Tens>(x, std::make_index_sequence<10>{}) + ...);
}
using Hundred = decltype(hundred(nullptr, std::make_index_sequence<10>{}));
static_assert(Hundred::steps == 119);
static_assert(plan_of<Hundred>.copies() == 100 && plan_of<Hundred>.bytes_moved() == 3200);
static_assert(plan_of<Hundred>.launches() <= 10);

auto evaluate(Tensor<float, Extents<8>>* x) {
  return eval(hundred(x, std::make_index_sequence<10>{}));
}
