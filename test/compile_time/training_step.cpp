// SPDX-License-Identifier: Apache-2.0
// budget: 6730 instantiations (clang 14)
// The training step of two layers over two replicas, planned and run.
#include <locus/locus.hpp>
using namespace locus;

using Replicas = Mirrored<GpuDevice<0>, GpuDevice<1>>;
using Rows = Sharded<0, GpuDevice<0>, GpuDevice<1>>;

void train(Tensor<float, Extents<dyn, 784>, Rows> const& x,
           Tensor<int, Extents<dyn>, Rows> const& label,
           Tensor<float, Extents<784, 128>, Replicas>& w1,
           Tensor<float, Extents<128, 10>, Replicas>& w2) {
  float const lr = 0.1f;
  let(relu(matmul(x, w1)), [&](auto h) {
    let((softmax(matmul(h, w2)) - one_hot<10>(label)) / global_batch(x), [&](auto d) {
      auto step = plan(
          into(w2, w2 - lr * matmul(transpose(h), d)),
          into(w1, w1 - lr * matmul(transpose(x), where(h > 0.f, matmul(d, transpose(w2)), 0.f))));
      static_assert(step.all_reduces() == 1);
      run(step);
    });
  });
}
