// SPDX-License-Identifier: Apache-2.0
// The bodies of teams of threads, block by block on the host (or as device code): each loss and each metric over
// rows of any length, and the sums of a batch normalisation over channels of any number, against formulas in long
// double and against the host's body.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <locus/testing/recorder.hpp>
// the recorder comes first
#include <doctest/doctest.h>
#include <oracle.hpp>
#include <run_body.hpp>
#include <worst_of.hpp>

#include <cmath>

#include <locus/engine/gpu/call_teams.hpp>
#include <locus/nn/layers/batch_norm.hpp>
#include <locus/nn/layers/conv2d_ops.hpp>
#include <locus/nn/losses/objective.hpp>
#include <locus/work/call_work.hpp>

#include "team_bodies.hpp"

namespace teams_test {

using namespace locus;
using namespace locus::nn;
using locus::nn::detail::score_op;
using locus::nn::detail::weights_of;
using oracle::array;
using team_bodies::part_memory, team_bodies::tile_over;

namespace {

using real = long double;
using row = std::vector<real>;

// ---- the team's body and the host's ----

int launches = 0;
unsigned sizes_of_teams = 0;
template <class Team>
void run_team(Team const& team) {
  cuda_side::choose_teams(
      team, [](std::int64_t bytes) { return part_memory(bytes); },
      [](auto const& body, unsigned blocks) {
        if constexpr (requires { body.team; }) sizes_of_teams |= body.team;
        ++launches;
        cuda_side::run_body<std::remove_cvref_t<decltype(body)>>(&body, blocks,
                                                                 cuda_side::block_threads);
      });
}

/// means: the results of one body; what it does not write stays 77
template <class Op, class... T, std::size_t... R>
auto results_of(std::index_sequence<R...>, bool on_host, Op const& op, call_context const& here,
                array<T> const&... in) {
  using work =
      call_work<Op, type_list<locus::detail::call_result_t<Op, int(R), T...>...>, type_list<T...>>;
  shape const extents[] = {locus::detail::call_extents<Op>(
      &op, int(R), std::array{in.extents...}.data(), std::index_sequence_for<T...>{})...};
  std::tuple<array<locus::detail::call_result_t<Op, int(R), T...>>...> to{
      array<locus::detail::call_result_t<Op, int(R), T...>>(extents[R])...};
  work w(op, here);
  auto prepare = [&](auto& a, int k, shape const& s) {
    for (std::int64_t i = 0; i < a.size(); ++i) a[i] = std::remove_cvref_t<decltype(a[i])>(77);
    w.tiles[k] = tile_over(a.cells.data(), s);
  };
  (prepare(std::get<R>(to), int(R), extents[R]), ...);
  int k = sizeof...(R);
  ((w.tiles[k++] = tile_over(in.cells.data(), in.extents)), ...);
  if (on_host)
    run_on_host(w);
  else
    run_team(w.team());
  return to;
}
template <class Op, class... T>
auto run(bool on_host, Op const& op, array<T> const&... in) {
  std::int64_t const rows = std::get<0>(std::tie(in...)).extents.extent[0];
  return results_of(std::make_index_sequence<std::size_t(Op::rule.results.count)>{}, on_host, op,
                    call_context{1, 2, 5, 2 * rows}, in...);
}

/// means: the largest difference, of the larger of 1 and `size` of what is wanted; NaN meets NaN
template <class T, class Want>
double off(array<T> const& is, Want const& want, double size = 1) {
  double worst = 0;
  for (std::int64_t i = 0; i < is.size(); ++i) {
    real const a = real(is[i]), b = want(i);
    if (a == b || (a != a && b != b)) continue;
    double const d = double(std::fabs(a - b) / std::fmax(real(size), std::fabs(b)));
    worst = worst_of(worst, d);
  }
  return worst;
}

// ---- losses and metrics as they are written down ----

real const eps = 1e-7L;
real held(real p) { return std::fmin(std::fmax(p, eps), 1 - eps); }
bool is_inside(real p) { return p >= eps && p <= 1 - eps; }
std::size_t largest(row const& p) {
  std::size_t at = 0;
  for (std::size_t j = 1; j < p.size(); ++j)
    if (p[j] > p[at] || (p[j] != p[j] && p[at] == p[at])) at = j;
  return at;
}
real in_top(row const& p, std::size_t label, int k) {
  int above = 0;
  for (real q : p)
    if (q != q)
      return 0;
    else
      above += q > p[label];
  return std::isfinite(p[label]) && above < k;
}

/// value and slopes; t: of labels one number
struct answer {
  real value;
  row slopes;
};
answer softmax_entropy(row const& z, row const& t) {
  real top = z[0], sum = 0, targets = 0;
  for (real v : z) top = v > top || v != v ? v : top;
  for (real v : z) sum += std::exp(v - top);
  for (real v : t) targets += v;
  answer a{0, row(z.size())};
  for (std::size_t j = 0; j < z.size(); ++j) {
    a.value += t[j] * ((top - z[j]) + std::log(sum));
    a.slopes[j] = targets * (std::exp(z[j] - top) / sum) - t[j];
  }
  return a;
}
row one_hot_row(real label, std::size_t n) {
  row t(n, 0);
  t[std::size_t(label)] = 1;
  return t;
}
answer answer_of(SparseCategoricalCrossentropy<from_logits_t> const&, row const& p, row const& t) {
  answer a = softmax_entropy(p, one_hot_row(t[0], p.size()));
  real top = p[0], sum = 0;  // without 0 times infinity
  for (real v : p) top = v > top || v != v ? v : top;
  for (real v : p) sum += std::exp(v - top);
  a.value = (top - p[std::size_t(t[0])]) + std::log(sum);
  return a;
}
answer answer_of(SparseCategoricalCrossentropy<probabilities_t> const&, row const& p,
                 row const& t) {
  real sum = 0;
  for (real q : p) sum += held(q);
  answer a{std::log(sum) - std::log(held(p[std::size_t(t[0])])), row(p.size())};
  for (std::size_t j = 0; j < p.size(); ++j)
    a.slopes[j] = is_inside(p[j]) ? 1 / sum - (j == std::size_t(t[0]) ? 1 / p[j] : 0) : 0;
  return a;
}
row smoothed(row t, real by, real to) {
  for (real& v : t) v = v * (1 - by) + by / to;
  return t;
}
answer answer_of(CategoricalCrossentropy<from_logits_t> const& l, row const& p, row const& t) {
  return softmax_entropy(p, smoothed(t, real(l.label_smoothing), real(p.size())));
}
answer answer_of(CategoricalCrossentropy<probabilities_t> const& l, row const& p, row t) {
  t = smoothed(t, real(l.label_smoothing), real(p.size()));
  real sum = 0, inside = 0;
  for (real q : p) sum += q;
  answer a{0, row(p.size())};
  for (std::size_t j = 0; j < p.size(); ++j) {
    a.value -= t[j] * std::log(held(p[j] / sum));
    inside += is_inside(p[j] / sum) ? t[j] : 0;
  }
  for (std::size_t j = 0; j < p.size(); ++j)
    a.slopes[j] = inside / sum - (is_inside(p[j] / sum) ? t[j] / p[j] : 0);
  return a;
}
template <class Reads>
answer answer_of(BinaryCrossentropy<Reads> const& l, row const& p, row t) {
  t = smoothed(t, real(l.label_smoothing), 2);
  real const n = real(p.size());
  answer a{0, row(p.size())};
  for (std::size_t j = 0; j < p.size(); ++j)
    if (l.reads_logits || l.behind_sigmoid) {
      a.value += (p[j] > 0 ? p[j] : 0) - p[j] * t[j] + std::log1p(std::exp(-std::fabs(p[j])));
      a.slopes[j] = (1 / (1 + std::exp(-p[j])) - t[j]) / n;
    } else {
      real const q = held(p[j]);
      a.value -= t[j] * std::log(q) + (1 - t[j]) * std::log(1 - q);
      a.slopes[j] = is_inside(p[j]) ? ((1 - t[j]) / (1 - p[j]) - t[j] / p[j]) / n : 0;
    }
  a.value /= n;
  return a;
}
answer answer_of(MeanSquaredError const&, row const& p, row const& t) {
  real const n = real(p.size());
  answer a{0, row(p.size())};
  for (std::size_t j = 0; j < p.size(); ++j) {
    a.value += (p[j] - t[j]) * (p[j] - t[j]) / n;
    a.slopes[j] = 2 * (p[j] - t[j]) / n;
  }
  return a;
}
answer answer_of(MeanAbsoluteError const&, row const& p, row const& t) {
  real const n = real(p.size());
  answer a{0, row(p.size())};
  for (std::size_t j = 0; j < p.size(); ++j) {
    a.value += std::fabs(p[j] - t[j]) / n;
    a.slopes[j] = p[j] > t[j] ? 1 / n : p[j] < t[j] ? -1 / n : p[j] - t[j];
  }
  return a;
}
/// a loss of one's own, which has no folds: the largest error
struct largest_error {
  static constexpr bool sparse = false;
  static constexpr char const* name = "largest_error";
  struct at {
    std::int64_t place;
  };
  template <class T, class U>
  LOCUS_HOST_DEVICE at state(T const* p, U const* t, std::int64_t n) const {
    std::int64_t best = 0;
    for (std::int64_t j = 1; j < n; ++j)
      if (LOCUS_MATH(fabs)(double(p[j] - T(t[j]))) > LOCUS_MATH(fabs)(double(p[best] - T(t[best]))))
        best = j;
    return {best};
  }
  template <class T, class U>
  LOCUS_HOST_DEVICE T value(at s, T const* p, U const* t, std::int64_t) const {
    return T(LOCUS_MATH(fabs)(double(p[s.place] - T(t[s.place]))));
  }
  template <class T, class U>
  LOCUS_HOST_DEVICE T slope(at s, T const* p, U const* t, std::int64_t, std::int64_t j) const {
    return j == s.place ? p[j] > T(t[j]) ? T(1) : T(-1) : T(0);
  }
};
answer answer_of(largest_error const&, row const& p, row const& t) {
  std::size_t best = 0;
  for (std::size_t j = 1; j < p.size(); ++j)
    if (std::fabs(p[j] - t[j]) > std::fabs(p[best] - t[best])) best = j;
  answer a{std::fabs(p[best] - t[best]), row(p.size(), 0)};
  a.slopes[best] = p[best] > t[best] ? 1 : -1;
  return a;
}

template <class Loss>
real metric_of(Loss const& l, row const& p, row const& t) {
  return answer_of(l, p, t).value;
}
real metric_of(SparseCategoricalAccuracy, row const& p, row const& t) {
  return largest(p) == std::size_t(t[0]);
}
template <int K>
real metric_of(SparseTopKCategoricalAccuracy<K>, row const& p, row const& t) {
  return in_top(p, std::size_t(t[0]), K);
}
real metric_of(CategoricalAccuracy, row const& p, row const& t) { return largest(p) == largest(t); }
template <int K>
real metric_of(TopKCategoricalAccuracy<K>, row const& p, row const& t) {
  return in_top(p, largest(t), K);
}
real metric_of(BinaryAccuracy const& m, row const& p, row const& t) {
  real hits = 0;
  for (std::size_t j = 0; j < p.size(); ++j)
    hits += (p[j] > real(float(m.threshold))) == (t[j] > .5L);
  return hits / real(p.size());
}

/// rows of predictions with what may go wrong in one, and what they are compared with
template <class T, class U>
struct score_case {
  array<T> p, seen, row_weights, class_weights;
  array<U> t;
  bool sparse;
  std::int64_t rows, n;
  score_case(oracle::random& r, std::int64_t rows_, std::int64_t n_, bool labels, double low,
             double high)
      : p({2, {rows_, n_}}), seen({2, {rows_, n_}}), row_weights({1, {rows_}}),
        class_weights({1, {n_ == 1 && !labels ? 2 : n_}}),
        t(labels ? shape{1, {rows_}} : shape{2, {rows_, n_}}), sparse(labels), rows(rows_), n(n_) {
    auto fill = [&](array<T>& a, double from, double to) {
      for (std::int64_t i = 0; i < a.size(); ++i) a[i] = T(r.real(from, to));
    };
    fill(p, low, high), fill(seen, 0, 1), fill(row_weights, 0, 2), fill(class_weights, 0, 2);
    for (std::int64_t i = 0; i < t.size(); ++i)
      t[i] = labels ? U(r.number(0, n - 1)) : n == 1 ? U(r.number(0, 1)) : U(r.real(0, 1));
  }
  row of(array<T> const& a, std::int64_t i) const {
    row to;
    for (std::int64_t j = 0; j < n; ++j) to.push_back(real(a[i * n + j]));
    return to;
  }
  row target(std::int64_t i) const {
    if (sparse) return {real(t[i])};
    row to;
    for (std::int64_t j = 0; j < n; ++j) to.push_back(real(t[i * n + j]));
    return to;
  }
};

/// means: the team's slopes, values and metrics are those of the formulas, and the host's
/// tolerance: slopes of the largest slope of the row, values of the larger of 1 and the value
template <weights_of By, bool Apart, class T, class U, class Loss, class... Metrics>
void compare(score_case<T, U> const& c, double tolerance, Loss const& loss,
             Metrics const&... metrics) {
  using op_type = score_op<Loss, By, Apart, Metrics...>;
  op_type const op{loss, {{metrics}...}, weighting::global_batch};
  auto both = [&](bool on_host) {
    auto const with = [&](auto const&... weights) {
      if constexpr (Apart)
        return run(on_host, op, c.p, c.t, weights..., c.seen);
      else
        return run(on_host, op, c.p, c.t, weights...);
    };
    if constexpr (By == weights_of::none)
      return with();
    else if constexpr (By == weights_of::rows_and_classes)
      return with(c.row_weights, c.class_weights);
    else
      return with(By == weights_of::rows ? c.row_weights : c.class_weights);
  };
  auto const is = both(false);
  constexpr int columns = 1 + int(sizeof...(Metrics));
  array<real> slopes(c.p.extents), values({2, {c.rows, columns}});
  bool labels_are_classes = true;
  for (std::int64_t i = 0; i < c.rows; ++i) {
    row const t = c.target(i);
    if (c.sparse && (t[0] < 0 || t[0] >= real(c.n))) {
      for (std::int64_t j = 0; j < c.n; ++j) slopes[i * c.n + j] = std::nanl("");
      for (int k = 0; k < columns; ++k) values[i * columns + k] = std::nanl("");
      labels_are_classes = false;
      continue;
    }
    answer const a = answer_of(loss, c.of(c.p, i), t);
    auto const label = std::int64_t(c.sparse   ? t[0]
                                    : c.n == 1 ? real(t[0] >= 1)
                                               : real(largest(t)));
    real const w = (of_rows(By) ? real(c.row_weights[i]) : 1) *
                   (of_classes(By) ? real(c.class_weights[label]) : 1);
    real most = 0;
    for (real s : a.slopes) most = std::fmax(most, std::fabs(s));
    for (std::int64_t j = 0; j < c.n; ++j)  // in units of the largest
      slopes[i * c.n + j] = w * a.slopes[std::size_t(j)] / real(2 * c.rows);
    values[i * columns] = w * a.value;
    row const of_metrics = c.of(Apart ? c.seen : c.p, i);
    int k = 0;
    ((values[i * columns + ++k] = metric_of(metrics, of_metrics, t)), ...);
  }
  INFO(Loss::name, ", ", c.rows, " rows of ", c.n, ", weights ", int(By), ", apart ", Apart);
  real most = 1e-30L;
  for (std::int64_t i = 0; i < slopes.size(); ++i)
    if (slopes[i] == slopes[i]) most = std::fmax(most, std::fabs(slopes[i]));
  CHECK(off(std::get<0>(is), [&](std::int64_t i) { return slopes[i]; }, double(most)) <= tolerance);
  CHECK(off(std::get<1>(is), [&](std::int64_t i) { return values[i]; }) <= tolerance);
  if (!labels_are_classes) return;  // the host throws
  auto const want = both(true);
  CHECK(off(
            std::get<0>(is), [&](std::int64_t i) { return real(std::get<0>(want)[i]); },
            double(most)) <= tolerance);
  CHECK(off(std::get<1>(is), [&](std::int64_t i) { return real(std::get<1>(want)[i]); }) <=
        tolerance);
}

template <class T>
constexpr double accuracy = sizeof(T) == 8 ? 1e-12 : 4e-6;

template <class T, weights_of By, bool Apart>
void sparse_losses(oracle::random& r, std::int64_t rows, std::int64_t n) {
  score_case<T, std::int32_t> logits(r, rows, n, true, -8, 8), shares(r, rows, n, true, 0.05, 0.9);
  compare<By, Apart>(logits, accuracy<T>, SparseCategoricalCrossentropy{from_logits},
                     SparseCategoricalAccuracy{}, SparseTopKCategoricalAccuracy<3>{});
  compare<By, Apart>(shares, accuracy<T>, SparseCategoricalCrossentropy{},
                     SparseTopKCategoricalAccuracy<1>{});
}
template <class T, weights_of By, bool Apart>
void dense_losses(oracle::random& r, std::int64_t rows, std::int64_t n) {
  score_case<T, T> logits(r, rows, n, false, -8, 8), shares(r, rows, n, false, 0.05, 0.9);
  compare<By, Apart>(logits, accuracy<T>, CategoricalCrossentropy{from_logits, 0.1},
                     CategoricalAccuracy{}, TopKCategoricalAccuracy<2>{});
  compare<By, Apart>(shares, accuracy<T>, CategoricalCrossentropy{0.2}, MeanSquaredError{});
  compare<By, Apart>(logits, accuracy<T>, BinaryCrossentropy{from_logits, 0.1},
                     MeanAbsoluteError{});
  compare<By, Apart>(shares, 4 * accuracy<T>, BinaryCrossentropy{}, BinaryAccuracy{0.25});
}

}  // namespace

TEST_CASE("every loss and metric by teams, over rows of any length") {
  struct {
    std::int64_t length, batches[3];
  } const cases[] = {{1, {1, 8, 300}},  {10, {1, 9, 300}}, {31, {1, 2, 65}}, {32, {1, 7, 64}},
                     {33, {1, 3, 65}},  {128, {1, 2, 9}},  {129, {1, 2, 3}}, {1000, {1, 2, 20}},
                     {1025, {1, 2, 2}}, {5000, {1, 2, 3}}};
  oracle::random r(1);
  sizes_of_teams = 0;
  for (auto const& each : cases)
    for (std::int64_t rows : each.batches) {
      if (each.length >= 3) sparse_losses<float, weights_of::none, false>(r, rows, each.length);
      dense_losses<float, weights_of::none, false>(r, rows, each.length);
    }
  CHECK(sizes_of_teams == (cuda_side::warp_threads | cuda_side::block_threads));
  sizes_of_teams = 0;  // many rows: a warp for each, which reads it again
  sparse_losses<float, weights_of::none, false>(r, 2048, 130);
  dense_losses<float, weights_of::none, false>(r, 2048, 130);
  CHECK(sizes_of_teams == cuda_side::warp_threads);
}

TEST_CASE("teams: double, weights of rows and classes, metrics of other predictions, own losses") {
  oracle::random r(2);
  for (std::int64_t n : {1, 7, 300}) {
    sparse_losses<double, weights_of::rows, true>(r, 5, n);
    sparse_losses<float, weights_of::classes, false>(r, 11, n);
    dense_losses<double, weights_of::classes, false>(r, 6, n);
    dense_losses<float, weights_of::rows, true>(r, 9, n);
    sparse_losses<double, weights_of::rows_and_classes, true>(r, 7, n);
    dense_losses<float, weights_of::rows_and_classes, false>(r, 9, n);
    score_case<float, float> c(r, 10, n, false, -3, 3);
    compare<weights_of::none, false>(c, 1e-6, largest_error{}, MeanSquaredError{}, largest_error{});
    compare<weights_of::classes, true>(c, 1e-6, MeanSquaredError{}, largest_error{});
    BinaryCrossentropy behind{0.1};
    behind.behind_sigmoid = true;
    compare<weights_of::none, false>(c, accuracy<float>, behind, BinaryAccuracy{});
  }
  score_case<float, std::uint8_t> bytes(r, 40, 200, true, -2, 2);
  compare<weights_of::none, false>(bytes, accuracy<float>,
                                   SparseCategoricalCrossentropy{from_logits},
                                   SparseCategoricalAccuracy{});
}

TEST_CASE("teams: NaN, infinities, ties, labels that are no class, steep rows") {
  oracle::random r(3);
  float const inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  for (std::int64_t n : {3, 40, 300, 2500}) {
    score_case<float, std::int32_t> c(r, 12, n, true, -3, 3);
    auto at = [&](std::int64_t i, std::int64_t j) -> float& { return c.p[i * n + j % n]; };
    at(0, 1) = nan;
    at(1, n - 1) = inf;
    at(2, 0) = -inf;
    for (std::int64_t j = 0; j < n; ++j) at(3, j) = -inf, at(4, j) = 2, at(5, j) = float(j);
    for (std::int64_t j = 0; j < n; ++j) at(6, j) = float(-3 * j), at(7, j) = 1e4f + float(j % 2);
    c.t[0] = 1, c.t[2] = 0, c.t[4] = 2;
    at(8, 0) = at(8, 2) = nan, at(8, 1) = 9, c.t[8] = 1;  // the largest number, and not in the top
    at(9, 1) = inf, at(9, 2) = inf;
    c.t[10] = -1, c.t[11] = std::int32_t(n);
    compare<weights_of::none, false>(c, 1e-5, SparseCategoricalCrossentropy{from_logits},
                                     SparseCategoricalAccuracy{},
                                     SparseTopKCategoricalAccuracy<2>{});
    compare<weights_of::classes, false>(c, 1e-5, SparseCategoricalCrossentropy{from_logits},
                                        SparseTopKCategoricalAccuracy<1>{});
    c.t[10] = 0, c.t[11] = 1;
    compare<weights_of::none, false>(c, 1e-5, SparseCategoricalCrossentropy{from_logits},
                                     SparseCategoricalAccuracy{},
                                     SparseTopKCategoricalAccuracy<2>{});
    score_case<float, float> dense(r, 3, n, false, -3, 3);
    dense.p[1] = nan, dense.t[n + 2] = nan, dense.p[2 * n] = -inf;
    compare<weights_of::none, false>(dense, 1e-5, CategoricalCrossentropy{from_logits},
                                     CategoricalAccuracy{}, TopKCategoricalAccuracy<2>{});
  }
}

// ---- batch normalisation ----

namespace {

/// means: x around `mean` with standard deviations of about `deviation`
template <class T>
array<T> around(oracle::random& r, shape const& s, double mean, double deviation) {
  array<T> a(s);
  for (std::int64_t i = 0; i < a.size(); ++i)
    a[i] = T(mean + deviation * std::sqrt(3.) * r.real(-1, 1));
  return a;
}

template <class T>
void moments_case(oracle::random& r, shape const& in, double mean, double deviation) {
  std::int64_t const c = in.extent[in.rank - 1], rows = in.size() / c;
  auto const x = around<T>(r, in, mean, deviation);
  array<T> const moving_mean = around<T>(r, {1, {c}}, 1, 1),
                 moving_variance = around<T>(r, {1, {c}}, 3, 1);
  batch_moments_op const op;
  auto const is = run(false, op, x, moving_mean, moving_variance);
  std::vector<real> m(std::size_t(c), 0), v(m);
  for (std::int64_t i = 0; i < x.size(); ++i) m[std::size_t(i % c)] += real(x[i]) / real(rows);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    real const d = real(x[i]) - m[std::size_t(i % c)];
    v[std::size_t(i % c)] += d * d / real(rows);
  }
  INFO("moments of ", rows, " rows of ", c, " channels around ", mean);
  double const rounding = sizeof(T) == 8 ? 3e-15 : 2e-7;
  real most = 1e-30L;
  for (real w : v) most = std::fmax(most, w);
  array<T> const& pairs = std::get<0>(is);
  double of_mean = 0, of_variance = 0, of_zeros = 0;
  for (std::int64_t i = 0; i < pairs.size(); ++i)
    if (i < c)
      of_mean = worst_of(of_mean, double(std::fabs(real(pairs[i]) - m[std::size_t(i)]) /
                                         std::fmax(1.L, std::fabs(m[std::size_t(i)]))));
    else if (i < 2 * c)
      of_variance =
          std::fmax(of_variance, double(std::fabs(real(pairs[i]) - v[std::size_t(i - c)]) / most));
    else
      of_zeros = worst_of(of_zeros, std::fabs(double(pairs[i])));
  CHECK(of_mean <= rounding);
  CHECK(of_variance <= 4 * rounding);
  CHECK(of_zeros == 0);
  auto by = [&](auto const& moments, auto const& moving) {
    return [&](std::int64_t i) { return 0.01L / 2 * (moments[std::size_t(i)] - real(moving[i])); };
  };
  CHECK(off(std::get<1>(is), by(m, moving_mean)) <= rounding);
  CHECK(off(std::get<2>(is), by(v, moving_variance)) <= 4 * rounding);
}

template <class T>
void sums_case(oracle::random& r, shape const& in, activation how) {
  std::int64_t const c = in.extent[in.rank - 1], rows = in.size() / c;
  shape const each{1, {c}};
  auto const x = around<T>(r, in, 2, 1), dy = around<T>(r, in, 0, 1);
  auto const gamma = around<T>(r, each, 1, .2), beta = around<T>(r, each, 0, .5);
  array<T> statistics({2, {in.extent[0], 2 * c}});
  for (std::int64_t k = 0; k < c; ++k)
    statistics[k] = T(r.real(1.5, 2.5)), statistics[c + k] = T(r.real(0.5, 2));
  batch_norm_sums_op op;
  op.settings.how = how;
  auto const is = run(false, op, x, dy, statistics, gamma, beta);
  std::vector<real> plain(std::size_t(c), 0), weighted(plain), size(plain);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    std::size_t const k = std::size_t(i % c);
    T const deviation = std::sqrt(statistics[c + std::int64_t(k)] + T(1e-3));
    real const centred = (real(x[i]) - real(statistics[std::int64_t(k)])) / real(deviation);
    real const y = real(gamma[std::int64_t(k)]) * centred + real(beta[std::int64_t(k)]);
    bool const passed = how == activation::linear || (y > 0 && (how == activation::relu || y < 6));
    size[k] += std::fabs(real(dy[i]) * centred) + std::fabs(real(dy[i]));
    if (passed) plain[k] += real(dy[i]), weighted[k] += real(dy[i]) * centred;
  }
  INFO("sums of ", rows, " rows of ", c, " channels, ", int(how));
  // of the sum of magnitudes; at a bound a rounding may decide
  double const tolerance = sizeof(T) == 8 ? 1e-14 : how == activation::linear ? 3e-7 : 1e-3;
  auto scaled = [&](array<T> const& a, std::vector<real> const& want, std::int64_t from) {
    double worst = 0;
    for (std::int64_t k = 0; k < c; ++k)
      worst = worst_of(worst, double(std::fabs(real(a[from + k]) - want[std::size_t(k)]) /
                                     size[std::size_t(k)]));
    return worst;
  };
  CHECK(scaled(std::get<0>(is), plain, 0) <= tolerance);
  CHECK(scaled(std::get<0>(is), weighted, c) <= tolerance);
  CHECK(scaled(std::get<1>(is), weighted, 0) <= tolerance);
  CHECK(scaled(std::get<2>(is), plain, 0) <= tolerance);
  for (std::int64_t i = 2 * c; i < std::get<0>(is).size(); ++i) {
    if (std::get<0>(is)[i] == T(0)) continue;
    CHECK(std::get<0>(is)[i] == T(0));
    break;
  }
}

}  // namespace

TEST_CASE("mean and variance of channels by teams: values far from 0 lose nothing") {
  oracle::random r(5);
  launches = 0;
  shape const shapes[] = {{2, {1, 1}},         {2, {7, 3}},     {4, {3, 5, 5, 1}},
                          {4, {2, 40, 31, 3}}, {2, {300, 64}},  {4, {4, 20, 20, 64}},
                          {2, {9, 1000}},      {2, {70, 1000}}, {3, {5, 100, 30}},
                          {2, {20000, 1}},     {2, {33, 130}}};
  for (shape const& s : shapes) {
    moments_case<float>(r, s, 0, 1);
    moments_case<float>(r, s, 1e4, 0.1);
    moments_case<double>(r, s, -3, 2);
  }
  CHECK(launches > int(3 * std::size(shapes)));  // some in parts
}

TEST_CASE("one value far from the others, wherever it stands, spoils no variance") {
  for (std::int64_t at : {0, 1, 8, 64, 511, 999}) {
    array<float> x({2, {1000, 2}});
    for (std::int64_t i = 0; i < x.size(); ++i) x[i] = float(i % 7) * 0.25f;
    x[2 * at] = 1e6f;
    array<float> const none({1, {2}});
    auto const is = run(false, batch_moments_op{}, x, none, none);
    auto const want = run(true, batch_moments_op{}, x, none, none);
    real mean[2] = {0, 0}, variance[2] = {0, 0};
    for (std::int64_t i = 0; i < x.size(); ++i) mean[i % 2] += real(x[i]) / 1000;
    for (std::int64_t i = 0; i < x.size(); ++i)
      variance[i % 2] += (real(x[i]) - mean[i % 2]) * (real(x[i]) - mean[i % 2]) / 1000;
    for (int k : {0, 1}) {
      CHECK(std::fabs(real(std::get<0>(is)[k]) - mean[k]) <= 1e-6L * std::fabs(mean[k]));
      CHECK(std::fabs(real(std::get<0>(is)[2 + k]) - variance[k]) <= 1e-6L * variance[k]);
      CHECK(std::fabs(real(std::get<0>(want)[2 + k]) - variance[k]) <= 1e-4L * variance[k]);
    }
  }
}

TEST_CASE("the sums of a batch normalisation's gradient by teams") {
  oracle::random r(6);
  shape const shapes[] = {{2, {1, 1}},     {2, {7, 3}},       {4, {2, 40, 31, 3}}, {2, {300, 64}},
                          {2, {70, 1000}}, {3, {5, 100, 30}}, {2, {20000, 1}}};
  for (shape const& s : shapes) {
    sums_case<float>(r, s, activation::linear);
    sums_case<double>(r, s, activation::relu6);
    sums_case<float>(r, s, activation::relu);
  }
}

TEST_CASE("the gradient of a convolution's kernel by teams is the host's") {
  oracle::random r(8);
  for (std::int64_t filters : {4, 3, 64})
    for (std::int64_t groups : {1, 2}) {
      if (filters % groups != 0) continue;
      conv_window w{{3, 1 + groups % 2, 1}, {2, 1, 2}, padding::same};
      w.filters = filters, w.groups = groups;
      shape const in{4, {3, 9, 11, 4 * groups}};
      array<float> x(in);
      for (std::int64_t i = 0; i < x.size(); ++i) x[i] = float(r.number(-3, 3));
      conv_geometry const g = w.over(3, 9, 11, 4 * groups);
      array<float> dy({4, {3, g.h.out, g.w.out, filters}});
      for (std::int64_t i = 0; i < dy.size(); ++i) dy[i] = float(r.number(-3, 3));
      auto const is = run(false, conv2d_kernel_gradient_op{w}, x, dy);
      auto const want = run(true, conv2d_kernel_gradient_op{w}, x, dy);
      CHECK(off(std::get<0>(is), [&](std::int64_t i) { return real(std::get<0>(want)[i]); }) == 0);
    }
}

TEST_CASE("results that nobody reads, arrays that begin anywhere, and the same bits") {
  oracle::random r(7);
  std::int64_t const rows = 700, c = 8;
  auto const x = around<float>(r, {2, {rows, c}}, 0, 1);
  array<float> moved({1, {rows * c + 1}});
  for (std::int64_t i = 0; i < x.size(); ++i) moved[i + 1] = x[i];
  std::vector<float> mean(std::size_t(2 * c), 0.f), kept[2];
  for (int k : {0, 1}) {
    tile<float const> in{k == 0 ? &x[0] : &moved[1], 2, {rows, c}};
    tile<float const> const none{mean.data(), 1, {c}};
    kept[k].assign(std::size_t(c), 77.f);
    tile<float> const change{kept[k].data(), 1, {c}}, unread{nullptr, 1, {c}},
        pairs{nullptr, 2, {rows, 2 * c}};
    run_team(batch_moments_op{}.team(call_context{}, pairs, unread, change, in, none, none));
  }
  CHECK(kept[0] == kept[1]);
  CHECK(kept[0][3] != 77.f);
}

TEST_CASE("rows that are longer than a kernel counts are refused") {
  std::int64_t const n = std::int64_t(1) << 31;
  tile<float> const d{nullptr, 2, {1, n}};
  tile<double> const values{nullptr, 2, {1, 1}};
  tile<float const> const p{nullptr, 2, {1, n}};
  tile<std::int32_t const> const labels{nullptr, 1, {1}};
  using score = score_op<SparseCategoricalCrossentropy<from_logits_t>, weights_of::none, false>;
  CHECK_THROWS_WITH_AS(static_cast<void>(score{}.team(call_context{}, d, values, p, labels)),
                       "locus: rows of 2147483648 predictions are more than a GPU's kernel counts, "
                       "2^31 - 1; compute their loss on a CPU",
                       shape_error);
}

}  // namespace teams_test
