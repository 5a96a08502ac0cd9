// SPDX-License-Identifier: Apache-2.0
// Losses and metrics against Keras' formulas, worked out in long double over random rows; gradients
// against central differences of them.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <doctest/doctest.h>

#include <worst_of.hpp>

#include <locus/testing/recorder.hpp>

#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <locus/locus.hpp>
#include <locus/nn/losses/objective.hpp>
#include <locus/testing/simulated_gpus.hpp>

#include "oracle.hpp"

namespace objective_test {

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

row smoothed(row t, real s) {
  for (real& v : t) v = v * (1 - s) + s / real(t.size());
  return t;
}
real logits_of(row const& p, row const& t) {
  row const q = softmax(p);
  real sum = 0;
  for (std::size_t j = 0; j < p.size(); ++j) sum -= t[j] * std::log(q[j]);
  return sum;
}
real smoothed_logits(row const& p, row const& t) { return logits_of(p, smoothed(t, .1L)); }
real of_probabilities(row const& p, row const& t) {
  real sum = 0, value = 0;
  for (real q : p) sum += q;
  for (std::size_t j = 0; j < p.size(); ++j) value -= t[j] * std::log(held(p[j] / sum));
  return value;
}
real binary(row const& p, row const& t) {
  real sum = 0;
  for (std::size_t j = 0; j < p.size(); ++j)
    sum -= t[j] * std::log(held(p[j])) + (1 - t[j]) * std::log(1 - held(p[j]));
  return sum / real(p.size());
}
real binary_logits(row p, row t) {
  for (real& v : p) v = 1 / (1 + std::exp(-v));
  real sum = 0;
  for (std::size_t j = 0; j < p.size(); ++j) {
    t[j] = t[j] * .8L + .1L;  // label_smoothing 0.2
    sum -= t[j] * std::log(p[j]) + (1 - t[j]) * std::log(1 - p[j]);
  }
  return sum / real(p.size());
}
real squares(row const& p, row const& t) {
  real sum = 0;
  for (std::size_t j = 0; j < p.size(); ++j) sum += (p[j] - t[j]) * (p[j] - t[j]);
  return sum / real(p.size());
}
real absolutes(row const& p, row const& t) {
  real sum = 0;
  for (std::size_t j = 0; j < p.size(); ++j) sum += std::fabs(p[j] - t[j]);
  return sum / real(p.size());
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
  locus::internal::move_block(*host.block.get(), *t.block.get());
  return t;
}
template <class T, class E, class Where>
std::vector<T> read(Tensor<T, E, Where> const& t) {
  Tensor<T, E> host{t.extents()};
  locus::internal::move_block(*t.block.get(), *host.block.get());
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
        worst = worst_of(worst, std::fabs(is - slope) / (1 + std::fabs(slope)));
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
std::size_t largest(row const& p) {
  std::size_t at = 0;
  for (std::size_t j = 0; j < p.size(); ++j) at = p[j] > p[at] ? j : at;
  return at;
}
real same_class(row const& p, row const& t) { return largest(p) == largest(t); }
real on_one_side(row const& p, row const& t) {
  real hits = 0;
  for (std::size_t j = 0; j < p.size(); ++j) hits += (p[j] > .25L) == (t[j] > .5L);
  return hits / real(p.size());
}
real in_first_three(row const& p, row const& t) {
  int above = 0;
  for (real q : p) above += q > p[std::size_t(t[0])];
  return above < 3;
}
real class_in_first_three(row const& p, row const& t) {
  return in_first_three(p, {real(largest(t))});
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

TEST_CASE("the other losses and metrics are Keras'") {
  oracle::random r(5);
  std::vector<batch> const logits{random_batch(r, 9, 6, false, -4, 4)};
  std::vector<batch> const shares{random_batch(r, 9, 6, false, 0.05, 0.95),
                                  random_batch(r, 3, 6, false, -0.2, 1.2)};
  compare<double, double, 2, one>(nn::CategoricalCrossentropy{nn::from_logits, 0.1},
                                  smoothed_logits, {same_class, class_in_first_three}, logits,
                                  nn::CategoricalAccuracy{}, nn::TopKCategoricalAccuracy<3>{});
  // one prediction is below the bound, and has no slope
  batch const outside{
      1, 6, {{-0.1L, 0.5L, 0.7L, 0.2L, 0.3L, 0.4L}}, {{.3L, .1L, .1L, .2L, .2L, .1L}}};
  compare<double, double, 2, one>(nn::CategoricalCrossentropy{}, of_probabilities, {},
                                  {shares[0], outside});
  compare<double, double, 2, one>(nn::BinaryCrossentropy{nn::from_logits, 0.2}, binary_logits, {},
                                  logits);
  compare<double, double, 2, one>(nn::BinaryCrossentropy{}, binary, {on_one_side}, {shares[0]},
                                  nn::BinaryAccuracy{0.25});
  compare<double, double, 2, one>(nn::MeanSquaredError{}, squares, {absolutes}, shares,
                                  nn::MeanAbsoluteError{});
  compare<double, double, 2, one>(nn::MeanAbsoluteError{}, absolutes, {}, shares);
}

TEST_CASE("probabilities outside [1e-7, 1 - 1e-7] are held there, and have no slope") {
  batch const sure{2, 3, {{0, 1, 0}, {1, 0, 0}}, {{1}, {1}}};
  nn::objective<double, std::int64_t, one, nn::SparseCategoricalCrossentropy<nn::probabilities_t>>
      o(nn::SparseCategoricalCrossentropy{});
  auto const d = read(o.add(tensor_of<double, 2, rows_over<one>>(sure.p, 3),
                            tensor_of<std::int64_t, 1, rows_over<one>>(sure.t, 1)));
  for (double v : d) CHECK(v == 0);
  real const want =
      (sparse_probabilities(sure.p[0], sure.t[0]) + sparse_probabilities(sure.p[1], sure.t[1])) / 2;
  CHECK(o.read()[0] == doctest::Approx(double(want)).epsilon(1e-12));
  CHECK(o.read()[0] > 8);  // -log(1e-7) / 2
}

TEST_CASE("rows have weights; pieces count as TensorFlow counts them on request") {
  oracle::random r(9);
  batch const b = random_batch(r, 4, 5, true, -3, 3);  // 2, 2 and 0 rows of three replicas
  using Rows = rows_over<three>;
  using Loss = nn::SparseCategoricalCrossentropy<nn::from_logits_t>;
  auto const p = tensor_of<double, 2, Rows>(b.p, 5);
  auto const t = tensor_of<std::int32_t, 1, Rows>(b.t, 1);
  auto const w = tensor_of<double, 1, Rows>({{0.5L}, {2}, {0}, {1}}, 1);
  nn::objective<double, std::int32_t, three, Loss> plain(Loss{}), weighted(Loss{}), theirs(Loss{});
  theirs.set_weighting(nn::weighting::per_replica);
  auto const d = read(plain.add(p, t)), dw = read(weighted.add(p, t, w)),
             dt = read(theirs.add(p, t));
  real want = 0;
  real const each[] = {0.5L, 2, 0, 1};
  for (std::size_t i = 0; i < 4; ++i) {
    want += each[i] * sparse_logits(b.p[i], b.t[i]) / 4;
    for (std::size_t j = 0; j < 5; ++j) {
      CHECK(std::fabs(real(dw[5 * i + j]) - each[i] * real(d[5 * i + j])) < 1e-16L);
      CHECK(std::fabs(real(dt[5 * i + j]) - real(d[5 * i + j]) * 4 / 6) < 1e-16L);  // 1 / (3 * 2)
    }
  }
  CHECK(weighted.read()[0] == doctest::Approx(double(want)).epsilon(1e-13));
  CHECK(theirs.read()[0] == plain.read()[0]);
}

TEST_CASE("axes between rows and classes are rows of their own") {
  using Cube = Tensor<double, Dextents<3>, rows_over<one>>;
  Cube p{Dextents<3>(3, 2, 4)}, t{Dextents<3>(3, 2, 4)};
  p = uniform<double>(Dextents<3>(3, 2, 4), seed{1}),
  t = uniform<double>(Dextents<3>(3, 2, 4), seed{2});
  nn::objective<double, double, one, nn::MeanSquaredError> o(nn::MeanSquaredError{});
  auto const d = read(o.add(p, t)), a = read(p), b = read(t);
  real sum = 0;
  for (std::size_t i = 0; i < 24; ++i) {
    real const e = real(a[i]) - real(b[i]);
    sum += e * e / 24;
    CHECK(std::fabs(real(d[i]) - 2 * e / 24) < 1e-16L);
  }
  CHECK(o.rows() == 6);
  CHECK(std::fabs(real(o.read()[0]) - sum) < 1e-15L);
}

TEST_CASE("the first of equal predictions is the guess; ties are in the first K; NaN is not") {
  std::vector<row> const p{{1, 1, 0}, {1, 1, 0}, {0, std::nan(""), 1}, {0, 1, 1}};
  std::vector<row> const t{{0}, {1}, {2}, {2}};
  using Rows = rows_over<one>;
  using Loss = nn::SparseCategoricalCrossentropy<nn::from_logits_t>;
  nn::objective<float, std::int32_t, one, Loss, nn::SparseCategoricalAccuracy,
                nn::SparseTopKCategoricalAccuracy<1>>
      o(Loss{}, {}, {});
  static_cast<void>(o.add(tensor_of<float, 2, Rows>(p, 3), tensor_of<std::int32_t, 1, Rows>(t, 1)));
  auto const is = o.read();
  CHECK(is[0] != is[0]);
  CHECK(is[1] == 0.25);
  CHECK(is[2] == 0.75);
  o.reset();
  CHECK(o.rows() == 0);
}

namespace {
template <class... Metrics>
std::vector<std::string> names_with() {
  using Loss = nn::SparseCategoricalCrossentropy<nn::from_logits_t>;
  return nn::objective<float, std::int32_t, one, Loss, Metrics...>::names();
}
/// an accuracy under the name of the loss
struct called_loss : nn::SparseCategoricalAccuracy {
  static constexpr char const* name = "loss";
};
struct called_as_second : nn::SparseCategoricalAccuracy {
  static constexpr char const* name = "sparse_categorical_accuracy_1";
};
}  // namespace

TEST_CASE("metrics of one name are told apart by numbers") {
  using Names = std::vector<std::string>;
  using First = nn::SparseCategoricalAccuracy;
  using Top = nn::SparseTopKCategoricalAccuracy<1>;
  using Tops = nn::SparseTopKCategoricalAccuracy<3>;
  std::string const first = "sparse_categorical_accuracy",
                    top = "sparse_top_k_categorical_accuracy";
  CHECK(names_with<>() == Names{"loss"});
  CHECK(names_with<First, Top>() == Names{"loss", first, top});
  CHECK(names_with<Top, First, Tops, Top>() == Names{"loss", top, first, top + "_1", top + "_2"});
  CHECK(names_with<called_loss>() == Names{"loss", "loss_1"});
  CHECK(names_with<First, First, called_as_second>() ==
        Names{"loss", first, first + "_1", first + "_1_1"});
}

TEST_CASE("what does not fit is said") {
  using Rows = rows_over<one>;
  using Loss = nn::SparseCategoricalCrossentropy<nn::from_logits_t>;
  nn::objective<float, std::int32_t, one, Loss, nn::SparseCategoricalAccuracy,
                nn::SparseTopKCategoricalAccuracy<1>>
      o(Loss{}, {}, {});
  auto const p = tensor_of<float, 2, Rows>({{1, 2, 3}, {1, 2, 3}}, 3);
  auto labels = [](std::vector<row> const& t) { return tensor_of<std::int32_t, 1, Rows>(t, 1); };
  CHECK_THROWS_WITH_AS(
      static_cast<void>(o.add(p, labels({{0}, {3}}))),
      "locus: the label of row 1 of a batch is 3, outside [0, 3), the classes that "
      "the model predicts; drop the record or give the last layer more units",
      shape_error);
  CHECK_THROWS_WITH_AS(
      static_cast<void>(o.add(p, labels({{-1}, {0}}))),
      "locus: the label of row 0 of a batch is -1, outside [0, 3), the classes that "
      "the model predicts; drop the record or give the last layer more units",
      shape_error);
  CHECK_THROWS_WITH_AS(static_cast<void>(o.add(p, labels({{1}, {0}, {0}}))),
                       "locus: sparse_categorical_crossentropy gets predictions [2,3] and targets "
                       "[3]; it takes one label for each row",
                       shape_error);
  auto const few = tensor_of<float, 2, Rows>({{1, 2}, {1, 2}}, 2);
  nn::objective<float, std::int32_t, three, Loss, nn::SparseTopKCategoricalAccuracy<3>> first_three(
      Loss{}, {});
  CHECK_THROWS_WITH_AS(static_cast<void>(first_three.add(
                           tensor_of<float, 2, rows_over<three>>({{1, 2}, {1, 2}}, 2),
                           tensor_of<std::int32_t, 1, rows_over<three>>({{0}, {1}}, 1))),
                       "locus: a metric counts the first 3 classes of 2; take a smaller K",
                       shape_error);
  CHECK(o.add(few, labels({{0}, {1}})).size() == 4);  // it goes on
}

}  // namespace objective_test
