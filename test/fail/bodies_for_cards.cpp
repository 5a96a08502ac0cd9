// SPDX-License-Identifier: Apache-2.0
// Bodies for cards: alone, an algorithm that owns memory; Thrust on replicas, and by a lambda that owns memory.
// expect-1: locus: a called operation has a body for cards alone; give it host(context, results..., operands...), which runs on machines without a card and in tests
// expect-2: locus: the body of an algorithm runs later on a GPU; give it values, not owners of memory
// expect-3: locus: with_thrust takes a tensor of one device; bring replicas together with to<Device>(x)
// expect-4: locus: the lambda of with_thrust runs later on a GPU; capture values, not owners of memory
#define LOCUS_CUDA_KERNELS 1
#include <locus/engine/gpu/card_context.hpp>
#include <locus/locus.hpp>
#include <locus/thrust.hpp>
using namespace locus;

struct Twice {
  static constexpr call_rule rule{
      .name = "twice", .operands = {call_role::whole}, .results = {call_role::whole}};
  static constexpr shape infer(int, shape x) { return x; }
  template <class T>
  void host(call_context const&, tile<T>, tile<T const>) const {}
  template <class T>
  void card(card_context&, tile<T>, tile<T const>) const {}
};
struct OnCardsAlone : Twice {
  void host() const {}
};
template <class Memory>
struct algorithm {
  static constexpr char const* name = "algorithm";
  Memory memory;
  cuda_side::algorithm_size size() const { return {}; }
  void host() const {}
};
struct owner {
  owner() = default;
  owner(owner const&) {}
};
Tensor<float, Extents<4>, GpuDevice<0>> x;
Tensor<float, Extents<4>, Mirrored<GpuDevice<0>, GpuDevice<1>>> copies;
#if LOCUS_MUST_FAIL == 1
auto misuse() { return eval(call(OnCardsAlone{}, x)); }
#elif LOCUS_MUST_FAIL == 2
void misuse(card_context& here) { here.run(algorithm<owner>{}); }
#elif LOCUS_MUST_FAIL == 3
void misuse() {
  with_thrust(copies, [](auto policy, auto first, auto last) { reverse(policy, first, last); });
}
#elif LOCUS_MUST_FAIL == 4
void misuse(owner const& o) {
  with_thrust(
      x, [o](auto policy, auto first, auto last) { fill(policy, first, last, float(sizeof(o))); });
}
#else
void proper(float by) {
  with_thrust(x, [by](auto policy, auto first, auto last) { fill(policy, first, last, by); });
}
auto proper() { return eval(call(Twice{}, x)); }
void proper(card_context& here) { here.run(algorithm<int>{}); }
#endif
