// SPDX-License-Identifier: Apache-2.0
// Calls: operands cut otherwise, too few of them, a result that is not there, no body.
// expect-1: locus: a call takes values that are cut along axis 0, into as many rows each, and others whole; bring an operand that lies otherwise with to<Mirrored<...>>(x)
// expect-2: locus: a call takes values that are cut along axis 0, into as many rows each, and others whole; bring an operand that lies otherwise with to<Mirrored<...>>(x)
// expect-3: locus: a call takes values that are cut along axis 0, into as many rows each, and others whole; bring an operand that lies otherwise with to<Mirrored<...>>(x)
// expect-4: locus: call takes as many tensors as the rule of its operation has operands; make numbers members of the operation
// expect-5: locus: call takes as many tensors as the rule of its operation has operands; make numbers members of the operation
// expect-6: locus: result<K> names a result that is not there; its operand is a call, whose results count from 0
// expect-7: locus: a called operation has no body for its element types; give it host(context, results..., operands...), or element<Result>(i, context, own, operands...)
#include <locus/locus.hpp>
using namespace locus;

struct Scaled {
  static constexpr call_rule rule{.name = "scaled",
                                  .operands = {call_role::rows, call_role::whole},
                                  .results = {call_role::rows}};
  static constexpr shape infer(int, shape x, shape) { return x; }
  template <class T>
  void host(call_context const&, tile<T>, tile<T const>, tile<T const>) const {}
};
struct Bodiless : Scaled {
  void host() const {}
};
Tensor<float, Extents<4, 4>, Sharded<0, Cpu<0>, Cpu<1>>> rows;
Tensor<float, Extents<4, 4>, Sharded<1, Cpu<0>, Cpu<1>>> columns;
Tensor<float, Extents<2, 4>, Sharded<0, Cpu<0>, Cpu<1>>> fewer;
Tensor<float, Extents<4>> w;
struct Pairwise : Scaled {
  static constexpr call_rule rule{.name = "pairwise",
                                  .operands = {call_role::rows, call_role::rows},
                                  .results = {call_role::rows}};
};
#if LOCUS_MUST_FAIL == 1
auto misuse() { return eval(call(Scaled{}, columns, w)); }
#elif LOCUS_MUST_FAIL == 2
auto misuse() { return eval(call(Scaled{}, w, rows)); }
#elif LOCUS_MUST_FAIL == 3
auto misuse() { return eval(call(Pairwise{}, rows, fewer)); }
#elif LOCUS_MUST_FAIL == 4
auto misuse() { return eval(call(Scaled{}, rows)); }
#elif LOCUS_MUST_FAIL == 5
auto misuse() { return eval(call(Scaled{}, rows, 2.f)); }
#elif LOCUS_MUST_FAIL == 6
auto misuse() { return eval(result<1>(call(Scaled{}, rows, w))); }
#elif LOCUS_MUST_FAIL == 7
auto misuse() { return eval(call(Bodiless{}, rows, w)); }
#else
auto proper() { return eval(result<0>(call(Scaled{}, rows, w))); }
#endif
