// SPDX-License-Identifier: Apache-2.0
// Predictions of what is no step, on what is no machine.
// expect-1: locus: this is no description of a machine; write machines::hgx_h200{.nodes = 8}, or a type whose describe() returns a machines::description
// expect-2: locus: predict takes a plan or a step that was counted; write plan(into(y, e)), plan_of<decltype(e)>, or step_of_run(f)
// expect-3: locus: an extent of this plan is open, so its work is no constant; write step_of_run([&] { run(...); }), which counts a run of it
#include <locus/locus.hpp>
#include <locus/predict.hpp>
using namespace locus;

Tensor<float, Extents<4>> x, y;
Tensor<float, Dextents<1>> growing(4);
#if LOCUS_MUST_FAIL == 1
auto misuse() { return predict(plan(into(y, x + x)), 8); }
#elif LOCUS_MUST_FAIL == 2
auto misuse() { return predict(x + x, machines::hgx_h200{}); }
#elif LOCUS_MUST_FAIL == 3
auto misuse() { return predict(plan(into(growing, growing + growing)), machines::hgx_h200{}); }
#else
auto proper() { return predict(plan(into(y, x + x)), machines::hgx_h200{.nodes = 8}); }
#endif
