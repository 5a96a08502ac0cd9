// SPDX-License-Identifier: Apache-2.0
// Losses and metrics against Keras' formulas, worked out in long double over random rows; gradients
// against central differences of them.
#define LOCUS_CUDA_KERNELS 1
#include <doctest/doctest.h>

#include <locus/testing/recorder.hpp>

#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <locus/locus.hpp>
#include <locus/nn/objective.hpp>
#include <locus/testing/simulated_gpus.hpp>

#include "oracle.hpp"

using namespace locus;

namespace {

using real = long double;
using row = std::vector<real>;
real const eps = 1e-7L;

real held(real p) { return std::fmin(std::fmax(p, eps), 1 - eps); }
row softmax(row z) {
  real top = z[0], sum = 0;
  for (real v : z) top = std::fmax(top, v);
  for (real& v : z) sum += v = std::exp(v - top);
  for (real& v : z) v /= sum;
  return z;
}

// The loss of one row as Keras has it; a label is a row of one number.
real sparse_logits(row const& p, row const& t) { return -std::log(softmax(p)[std::size_t(t[0])]); }
real sparse_probabilities(row const& p, row const& t) {
  real sum = 0;
  for (real q : p) sum += held(q);
  return -std::log(held(p[std::size_t(t[0])]) / sum);
}

struct batch {
  std::int64_t rows = 0, classes = 0;
  std::vector<row> p, t;
};
batch random_batch(oracle::random& r, std::int64_t rows, std::int64_t classes, bool labels,
                   double low, double high) {
  batch b{rows, classes, {}, {}};
  for (std::int64_t i = 0; i < rows; ++i) {
    row p, t;
    for (std::int64_t j = 0; j < classes; ++j) {
      p.push_back(real(float(r.real(low, high))));
      if (!labels) t.push_back(real(float(r.real(0, 1))));
    }
    if (labels) t.push_back(real(r.number(0, classes - 1)));
    b.p.push_back(p), b.t.push_back(t);
  }
  return b;
}

template <class T, int Rank, class Where>
Tensor<T, Dextents<Rank>, Where> tensor_of(std::vector<row> const& rows, std::int64_t width) {
  auto const n = std::int64_t(rows.size());
  Tensor<T, Dextents<Rank>> host = [&] {
    if constexpr (Rank == 1)
      return Tensor<T, Dextents<1>>(n);
    else
      return Tensor<T, Dextents<2>>(n, width);
  }();
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < width; ++j)
      host.data()[i * width + j] = T(rows[std::size_t(i)][std::size_t(j)]);
  Tensor<T, Dextents<Rank>, Where> t{host.extents()};
  locus::detail::move_block(*host.block.get(), *t.block.get());
  return t;
}
template <class T, class E, class Where>
std::vector<T> read(Tensor<T, E, Where> const& t) {
  Tensor<T, E> host{t.extents()};
  locus::detail::move_block(*t.block.get(), *host.block.get());
  return std::vector<T>(host.data(), host.data() + host.size());
}

using keras_loss = std::function<real(row const&, row const&)>;

/// values, metrics and gradients of one objective over two batches
template <class T, class Label, int TargetRank, class Replicas, class Loss, class... Metrics>
void compare(Loss const& loss, keras_loss const& keras, std::vector<keras_loss> const& metrics,
             std::vector<batch> const& batches, Metrics const&... m) {
  using Rows = rows_over<Replicas>;
  nn::objective<T, Label, Replicas, Loss, Metrics...> o(loss, m...);
  real const tolerance = sizeof(T) == 8 ? 1e-12L : 2e-6L;
  std::vector<real> want(1 + sizeof...(Metrics));
  real rows = 0;
  for (batch const& b : batches) {
    auto const p = tensor_of<T, 2, Rows>(b.p, b.classes);
    auto const t = tensor_of<Label, TargetRank, Rows>(b.t, std::int64_t(b.t[0].size()));
    auto const d = read(o.add(p, t));
    real worst = 0;
    for (std::size_t i = 0; i < b.p.size(); ++i) {
      want[0] += keras(b.p[i], b.t[i]);
      for (std::size_t k = 0; k < metrics.size(); ++k) want[k + 1] += metrics[k](b.p[i], b.t[i]);
      for (std::size_t j = 0; j < b.p[i].size(); ++j) {
        row up = b.p[i], down = b.p[i];
        real const h = 1e-6L;
        up[j] += h, down[j] -= h;
        real const slope = (keras(up, b.t[i]) - keras(down, b.t[i])) / (2 * h) / real(b.rows);
        real const is = real(d[i * b.p[i].size() + j]);
        worst = std::fmax(worst, std::fabs(is - slope) / (1 + std::fabs(slope)));
      }
    }
    CHECK(worst <= (sizeof(T) == 8 ? 1e-9L : 2e-6L));
    rows += real(b.rows);
  }
  auto const is = o.read();
  for (std::size_t k = 0; k < want.size(); ++k) {
    CAPTURE(k);
    CHECK(std::fabs(real(is[k]) - want[k] / rows) <= tolerance * (1 + std::fabs(want[k] / rows)));
  }
  CHECK(o.rows() == std::int64_t(rows));
}

using one = Mirrored<CpuDevice>;
using three = Mirrored<GpuDevice<0>, GpuDevice<1>, GpuDevice<2>>;

real first_of(row const& p, row const& t) {
  for (real q : p)
    if (q > p[std::size_t(t[0])]) return 0;
  return 1;
}
real in_first_three(row const& p, row const& t) {
  int above = 0;
  for (real q : p) above += q > p[std::size_t(t[0])];
  return above < 3;
}

}  // namespace

TEST_CASE("cross-entropy of labels, with accuracy and the first three, is Keras'") {
  oracle::random r(3);
  std::vector<batch> const b{random_batch(r, 7, 10, true, -4, 4),
                             random_batch(r, 4, 10, true, -30, 30)};
  auto all = [&] {
    compare<double, std::int32_t, 1, three>(nn::SparseCategoricalCrossentropy{nn::from_logits},
                                            sparse_logits, {first_of, in_first_three}, b,
                                            nn::SparseCategoricalAccuracy{},
                                            nn::SparseTopKCategoricalAccuracy<3>{});
  };
  all();
  compare<float, std::uint8_t, 2, one>(nn::SparseCategoricalCrossentropy{}, sparse_probabilities,
                                       {}, {random_batch(r, 7, 10, true, 0.01, 1)});
  {
    testing::simulated_gpus const gpus{3, {.seed = 5}};
    all();
  }
  {
    testing::recorder const gpus{{.cards = 3}};
    all();
  }
}
