// SPDX-License-Identifier: Apache-2.0
// grad: plans of gradients: what they share, what they owe their replicas, which tensor is meant.
#define LOCUS_CUDA_KERNELS 1
#include "../../on_backends.hpp"

#include <cmath>
#include <locus/grad/grad.hpp>

#include "../training/network.hpp"

using namespace locus;

namespace {

using Replicas = Mirrored<GpuDevice<0>, GpuDevice<1>>;
using Rows = rows_over<Replicas>;

/// means: one step of gradient descent of the network, its gradients by grad
template <class T, class Where, class X, class Label, class F>
void with_derived_step(network::model<T, Where>& m, X const& x, Label const& label, T rate, F&& f) {
  let(relu(matmul(x, m.w1)), [&](auto h) {
    auto const [g1, g2] = grad(
        -sum(one_hot<10, T>(label) * log_softmax(matmul(h, m.w2))) / global_batch(x), m.w1, m.w2);
    f(plan(into(m.w2, m.w2 - rate * g2), into(m.w1, m.w1 - rate * g1)));
  });
}

}  // namespace

TEST_CASE("the gradients of two layers owe one all-reduce, and are those that a hand writes") {
  on_few_backends([] {
    Tensor<double, Extents<dyn, 784>> images(uniform<double>(dextents_of(7), 3));
  });
}
