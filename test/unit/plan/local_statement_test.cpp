// SPDX-License-Identifier: Apache-2.0
// The plan of a local statement is that of the passes, member by member.
#include <doctest/doctest.h>

#include <locus/locus.hpp>

namespace local_statement_test {

using namespace locus;

namespace {

using V = Tensor<float, Extents<dyn>>;
using D = Tensor<double, Extents<dyn>>;
using M = Tensor<float, Extents<4, 8>>;
using Row = Tensor<float, Extents<1, 8>>;
using I = Tensor<int, Extents<4, 8>>;
using G = Tensor<float, Extents<dyn>, GpuDevice<0>>;
using P = View<float const, Extents<dyn>, CpuDevice, false>;
using Half = Tensor<half, Extents<dyn>>;
using Second = Tensor<float, Extents<dyn>, Cpu<1>>;

template <class T>
T& a() {
  return *static_cast<T*>(nullptr);
}

/// what the short cut writes down, in arrays like those of the passes
template <class Graph>
struct written;
template <class Policy, class E, class Where>
struct written<graph<Policy, root_of<E, Where>>> {
  static constexpr auto arrays = [] {
    plan_arrays<E::steps, E::edges, 1> p;
    p.action_count = 1;
    write_statement_plan(p.view(), p.all_slots(), internal::statement_step_of<E, Where>,
                         Where::value);
    return p;
  }();
};

template <class E, class Where, class Policy = prefer_gpu>
constexpr bool is_that_of_the_passes() {
  using Graph = graph<Policy, root_of<expression_of_t<E>, Where>>;
  static_assert(is_local_statement<Graph>);
  constexpr auto const& here = written<Graph>::arrays;
  constexpr auto const& there = internal::unchecked_plan<Graph>;
  auto equal = [](auto const& x, auto const& y) {
    for (std::size_t i = 0; i < std::size(x); ++i)
      if (!(x[i] == y[i])) return false;
    return true;
  };
  return there.found.error == plan_error::none && there.transfer_count == 0 &&
         there.action_count == 1 && there.actions[0] == here.actions[0] &&
         equal(here.steps, there.steps) && equal(here.edges, there.edges) &&
         equal(here.roots, there.roots) && equal(here.levels, there.levels) &&
         equal(here.memory_slots, there.memory_slots);
}
template <class E, class Where, class Policy = prefer_gpu>
constexpr bool is_local = is_local_statement<graph<Policy, root_of<expression_of_t<E>, Where>>>;

#define EXPRESSION(...) decltype(__VA_ARGS__)

static_assert(is_that_of_the_passes<EXPRESSION(a<V>() + a<V>()), CpuDevice>());
static_assert(is_that_of_the_passes<EXPRESSION(2.f * a<V>() - exp(a<V>())), CpuDevice>());
static_assert(is_that_of_the_passes<EXPRESSION(2.f * a<V>() + a<V>()), CpuDevice, follow_data>());
static_assert(is_that_of_the_passes<EXPRESSION(a<V>() * a<D>() + a<V>() / 3.), CpuDevice>());
static_assert(
    is_that_of_the_passes<EXPRESSION(where(a<M>() > 0.f, a<M>(), a<Row>())), CpuDevice>());
static_assert(is_that_of_the_passes<EXPRESSION(cast<float>(a<I>()) * a<Row>() + 1), CpuDevice>());
static_assert(is_that_of_the_passes<EXPRESSION(sqrt(a<Row>()) + a<M>()), CpuDevice>());
static_assert(is_that_of_the_passes<EXPRESSION(a<Second>() * a<Second>()), Cpu<1>>());
static_assert(is_that_of_the_passes<EXPRESSION(std::declval<V>() * a<V>()), CpuDevice>());
static_assert(
    is_that_of_the_passes<EXPRESSION(map([](float v, float w) { return v < w; }, a<V>(), -a<V>())),
                          CpuDevice>());
static_assert(is_that_of_the_passes<EXPRESSION(abs(a<P>()) + a<V>()), CpuDevice>());

static_assert(is_that_of_the_passes<EXPRESSION(a<Half>() * 2 + a<Half>()), CpuDevice>());
static_assert(is_that_of_the_passes<EXPRESSION(a<V>() / a<V>()), CpuDevice, relaxed<>>());

// what is not local, or not one kernel
static_assert(!is_local<EXPRESSION(a<V>() + a<V>()), GpuDevice<0>>);
static_assert(!is_local<EXPRESSION(a<V>() + a<G>()), CpuDevice>);
static_assert(!is_local<EXPRESSION(a<V>() + a<Second>()), CpuDevice>);
static_assert(!is_local<EXPRESSION(a<V>() + a<V>()), nowhere>);
static_assert(!is_local<EXPRESSION(a<V>() + a<V>()), Cpu<dyn>>);
static_assert(!is_local<EXPRESSION(a<V>() + a<V>()), CpuDevice, min_copies>);
static_assert(!is_local<EXPRESSION(a<V>() + a<V>()), CpuDevice, reproducible<>>);
static_assert(!is_local<EXPRESSION(a<V>() + sum(a<V>())), CpuDevice>);
static_assert(!is_local<EXPRESSION(transpose(a<M>()) * 2.f), CpuDevice>);
static_assert(!is_local<EXPRESSION(a<V>() + on<GpuDevice<0>>(-a<V>())), CpuDevice>);
static_assert(!is_local<EXPRESSION(exp(a<Row>()) + a<M>()), CpuDevice>);  // exp is not repeated
static_assert(!is_local<EXPRESSION(a<M>() + ones<float>(Extents<4, 8>{})), CpuDevice>);
static_assert(!is_local<V, CpuDevice>);

}  // namespace

}  // namespace local_statement_test
