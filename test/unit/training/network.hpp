// SPDX-License-Identifier: Apache-2.0
// The network of the tests: 784-128-10, cross-entropy, one step of gradient descent as one plan.
#pragma once
#include <vector>

#include <locus/locus.hpp>

namespace network {

using namespace locus;

template <class T, class Replicas>
struct model {
  using value_type = T;
  Tensor<T, Extents<784, 128>, Replicas> w1;
  Tensor<T, Extents<128, 10>, Replicas> w2;
  model()
      : w1(uniform<T>(Extents<784, 128>{}, seed{1}, T(-0.08), T(0.08))),
        w2(uniform<T>(Extents<128, 10>{}, seed{2}, T(-0.2), T(0.2))) {}
};

/// means: the mean cross-entropy of a batch
template <class T, class Replicas, class X, class Label>
double loss(model<T, Replicas> const& m, X const& x, Label const& label) {
  return let(matmul(relu(matmul(x, m.w1)), m.w2), [&](auto z) {
    return double(fetch(-sum(one_hot<10, T>(label) * log_softmax(z)) / global_batch(x)));
  });
}

/// means: f(plan), where plan is one step of gradient descent
template <class T, class Replicas, class X, class Label, class F>
void with_step(model<T, Replicas>& m, X const& x, Label const& label, T rate, F&& f) {
  let(relu(matmul(x, m.w1)), [&](auto h) {
    let(matmul(h, m.w2), [&](auto z) {
      let((softmax(z) - one_hot<10, T>(label)) / global_batch(x), [&](auto d) {
        f(plan(
            into(m.w2, m.w2 - rate * matmul(transpose(h), d)),
            into(m.w1, m.w1 - rate * matmul(transpose(x),
                                            where(h > T(0), matmul(d, transpose(m.w2)), T(0))))));
      });
    });
  });
}

/// means: what each replica of a mirrored tensor holds
template <class T, class E, class... Devices>
std::vector<std::vector<T>> copies_of(Tensor<T, E, Mirrored<Devices...>>& t) {
  std::vector<std::vector<T>> all;
  int r = 0;
  auto const read = [&](auto const& replica) {
    auto const host = to<CpuDevice>(replica);
    all.emplace_back(host.data(), host.data() + host.size());
  };
  (read(view<Devices>(t.data(r++), t.extents())), ...);
  return all;
}

}  // namespace network
