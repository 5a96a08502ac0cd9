// SPDX-License-Identifier: Apache-2.0
// Bodies for cards: alone, and an algorithm that owns memory.
// expect-1: locus: a called operation has a body for cards alone; give it host(context, results..., operands...), which runs on machines without a card and in tests
// expect-2: locus: the body of an algorithm runs later on a GPU; give it values, not owners of memory
#define LOCUS_CUDA_KERNELS 1
#include <locus/engine/gpu/card_context.hpp>
#include <locus/locus.hpp>
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
#if LOCUS_MUST_FAIL == 1
auto misuse() { return eval(call(OnCardsAlone{}, x)); }
#elif LOCUS_MUST_FAIL == 2
void misuse(card_context& here) { here.run(algorithm<owner>{}); }
#else
auto proper() { return eval(call(Twice{}, x)); }
void proper(card_context& here) { here.run(algorithm<int>{}); }
#endif
