// SPDX-License-Identifier: Apache-2.0
// Metrics outside of a trainer: Keras' numbers, formulas written out, sums over replicas.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <locus/locus.hpp>
#include <locus/nn/losses/metric_states.hpp>
#include <locus/strategy/strategy.hpp>
#include <locus/tensor/rows_over.hpp>
#include <locus/testing/simulated_gpus.hpp>

#include "message_of.hpp"

namespace metric_states_test {

using namespace locus;
namespace metrics = nn::metrics;

namespace {

using reals = std::vector<double>;
using Line = Tensor<double, Dextents<1>>;
Line line(reals const& v) {
  Line t(Dextents<1>(std::int64_t(v.size())));
  std::copy(v.begin(), v.end(), t.data());
  return t;
}
struct scores {
  reals y, p, w;
  scores() {
    std::uint64_t s = 7;
    for (int i = 0; i < 500; ++i) {
      s = s * 6364136223846793005u + 1442695040888963407u;
      double const u = double(s >> 40) / double(1 << 24);
      p.push_back(i % 50 == 0 ? double(i % 100) / 50 : u);  // 0 and 1, too
      y.push_back(u + double(s % 1000) / 1500 > 0.8 ? 1 : 0);
      w.push_back(double(s % 7) / 3);
    }
  }
};
/// Keras' formula over counts that are taken threshold by threshold
double area(scores const& s, metrics::AUC::options const& o) {
  int const n = o.num_thresholds;
  std::vector<double> tp, fp;
  double positives = 0, negatives = 0, result = 0;
  for (std::size_t i = 0; i < s.p.size(); ++i) (s.y[i] > 0 ? positives : negatives) += s.w[i];
  for (int k = 0; k < n; ++k) {
    double const t = k == 0 ? -1e-7 : k == n - 1 ? 1 + 1e-7 : double(k) / (n - 1);
    tp.push_back(0), fp.push_back(0);
    for (std::size_t i = 0; i < s.p.size(); ++i)
      if (s.p[i] > t) (s.y[i] > 0 ? tp : fp).back() += s.w[i];
  }
  auto const ratio = [](double a, double b) { return b == 0 ? 0 : a / b; };
  for (std::size_t k = 0; k + 1 < tp.size(); ++k) {
    double const a = tp[k] + fp[k], b = tp[k + 1] + fp[k + 1], d = tp[k] - tp[k + 1];
    bool const pr = o.curve == metrics::curve::PR;
    if (pr && o.summation_method == metrics::summation::interpolation) {
      double const slope = ratio(d, std::fmax(a - b, 0)), intercept = tp[k + 1] - slope * b;
      result += ratio(slope * (d + intercept * std::log(a > 0 && b > 0 ? a / b : 1)), positives);
      continue;
    }
    double const y0 = pr ? ratio(tp[k], a) : ratio(tp[k], positives),
                 y1 = pr ? ratio(tp[k + 1], b) : ratio(tp[k + 1], positives);
    double const x0 = pr ? ratio(tp[k], positives) : ratio(fp[k], negatives),
                 x1 = pr ? ratio(tp[k + 1], positives) : ratio(fp[k + 1], negatives);
    double const y = o.summation_method == metrics::summation::interpolation ? (y0 + y1) / 2
                     : o.summation_method == metrics::summation::minoring    ? std::fmin(y0, y1)
                                                                             : std::fmax(y0, y1);
    result += (x0 - x1) * y;
  }
  return result;
}

}  // namespace

TEST_CASE("means and sums are Keras', with weights for numbers and for rows") {
  metrics::Mean m;
  metrics::Sum s;
  CHECK(m.result() == 0);
  m.update_state(Line{1, 3, 5, 7}), s.update_state(Line{1, 3, 5, 7});
  CHECK(m.result() == 4);
  CHECK(s.result() == 16);
  m.update_state(12), s.update_state(12.5f);
  CHECK(m.result() == 28. / 5);
  CHECK(s.result() == 28.5);
  m.reset_state(), s.reset_state();
  m.update_state(Line{1, 3, 5, 7}, Line{1, 1, 0, 0});
  s.update_state(Line{1, 3, 5, 7}, Line{1, 1, 0, 0});
  CHECK(m.result() == 2);
  CHECK(s.result() == 4);
  m.reset_state();
  Tensor<float, Extents<2, 3>> const rows{{1, 2, 3}, {4, 5, 9}};
  m.update_state(rows * 2.f, Line{1, 3});  // means of rows 4 and 12
  CHECK(m.result() == 10);
  m.reset_state();
  m.update_state(rows > 2.5f);
  CHECK(m.result() == doctest::Approx(4. / 6));
  m.update_state(Line{std::numeric_limits<double>::quiet_NaN()});
  CHECK(std::isnan(m.result()));
  m.reset_state();
  m.update_state(Line(Dextents<1>(0)));
  CHECK(m.result() == 0);
}

TEST_CASE("the metrics of rows are means, too") {
  metrics::MeanOf<nn::SparseCategoricalAccuracy> m;
  Tensor<float, Extents<3, 2>> const p{{.1f, .9f}, {.8f, .2f}, {.3f, .7f}};
  Tensor<int, Extents<3>> const y{1, 1, 1};
  m.update_state(y, p);
  CHECK(m.result() == doctest::Approx(2. / 3));
  m.update_state(y, p, Line{1, 0.5, 0});
  CHECK(m.result() == doctest::Approx(3. / 4.5));
  metrics::MeanOf<nn::MeanSquaredError> squares;
  squares.update_state(Tensor<float, Extents<2, 2>>{{1, 2}, {3, 4}},
                       Tensor<float, Extents<2, 2>>{{1, 4}, {3, 4}});
  CHECK(squares.result() == 1);
  metrics::MeanOf binary{nn::BinaryAccuracy{.threshold = 0.4}};
  binary.update_state(Tensor<float, Extents<2, 1>>{{1}, {0}},
                      Tensor<float, Extents<2, 1>>{{.45f}, {.45f}});
  CHECK(binary.result() == 0.5);
}

TEST_CASE("precision and recall are Keras'") {
  metrics::Precision p;
  metrics::Recall r;
  CHECK(p.result() == 0);
  CHECK(r.result() == 0);
  Line const y{0, 1, 1, 1}, guess{1, 0, 1, 1}, weights{0, 0, 1, 0};
  p.update_state(y, guess), r.update_state(y, guess);
  CHECK(p.result() == doctest::Approx(2. / 3));
  CHECK(r.result() == doctest::Approx(2. / 3));
  p.reset_state(), r.reset_state();
  p.update_state(y, guess, weights), r.update_state(y, guess, weights);
  CHECK(p.result() == 1);
  CHECK(r.result() == 1);
  metrics::Precision several({0.7, 0.2});  // in rising order
  several.update_state(Line{1, 0, 1}, Line{0.7, 0.5, 0.9});
  CHECK(several.thresholds() == reals{0.2, 0.7});
  CHECK(several.results() == reals{2. / 3, 1});
  metrics::Recall above({0.2, 0.7});
  above.update_state(Line{1, 0, 1, 1},
                     Line{0.7, 0.5, 0.9, std::numeric_limits<double>::quiet_NaN()});
  CHECK(above.results() == reals{2. / 3, 1. / 3});
}

TEST_CASE("predictions are compared with thresholds in their own type") {
  auto const look = [](auto type) {
    using T = decltype(type);
    CAPTURE(sizeof(T));
    reals const y{1, 0, 1};
    Tensor<T, Extents<3>> p;
    T const of[] = {T(0.2f), T(0.8f), T(0.9f)};  // as floats, above the doubles 0.2 and 0.8
    std::copy(of, of + 3, p.data());
    metrics::Precision precision({0.2, 0.8});
    metrics::Recall recall({0.2, 0.8});
    metrics::AUC area{{.thresholds = {0.2, 0.8}}};
    precision.update_state(line(y), p), recall.update_state(line(y), p);
    area.update_state(line(y), p);
    CHECK(precision.results() == reals{0.5, 1});
    CHECK(recall.results() == reals{0.5, 0.5});
    // (1, 1), (1, 0.5), (0, 0.5), (0, 0): false and true positives
    CHECK(area.result() == doctest::Approx(0.5));
    precision.update_state(1, T(0.8f));
    CHECK(precision.results() == reals{2. / 3, 1});
  };
  look(0.f);
  look(half(0));
  look(bfloat16(0));
  metrics::Recall of_doubles({0.2, 0.8});
  of_doubles.update_state(Line{1, 1}, Line{double(0.2f), double(0.8f)});
  CHECK(of_doubles.results() == reals{1, 0.5});
}

TEST_CASE("the area below a curve is Keras'") {
  metrics::AUC a({.num_thresholds = 3});
  CHECK(a.result() == 0);
  a.update_state(Line{0, 0, 1, 1}, Line{0, 0.5, 0.3, 0.9});
  CHECK(a.result() == 0.75);
  a.reset_state();
  a.update_state(Line{0, 0, 1, 1}, Line{0, 0.5, 0.3, 0.9}, Line{1, 0, 0, 1});
  CHECK(a.result() == 1);
  scores const s;
  for (auto const curve : {metrics::curve::ROC, metrics::curve::PR})
    for (auto const method : {metrics::summation::interpolation, metrics::summation::minoring,
                              metrics::summation::majoring})
      for (int const n : {2, 5, 200}) {
        metrics::AUC::options const o{
            .num_thresholds = n, .curve = curve, .summation_method = method};
        metrics::AUC m(o);
        m.update_state(line(s.y), line(s.p), line(s.w));
        CHECK(m.result() == doctest::Approx(area(s, o)).epsilon(1e-12));
      }
  metrics::AUC given({.thresholds = {0.5}});
  given.update_state(Line{0, 0, 1, 1}, Line{0, 0.5, 0.3, 0.9});
  CHECK(given.result() == 0.75);
}

TEST_CASE("replicas have sums of their own, which a result adds") {
  scores const s;
  metrics::AUC whole, parts;
  metrics::Mean mean_of_whole, mean_of_parts;
  metrics::Recall recall;
  whole.update_state(line(s.y), line(s.p));
  mean_of_whole.update_state(line(s.p));
  auto const on = [&]<class Replicas>(Replicas) {
    strategy<Replicas> const all;
    auto const y = to<rows_over<Replicas>>(line(s.y));
    auto const p = to<rows_over<Replicas>>(line(s.p));
    parts.reset_state(), mean_of_parts.reset_state();
    all.run(
        [&](auto& c, auto const& mine, auto const& guess) {
          parts.update_state(c, mine, guess * 0.5 + guess * 0.5);
          mean_of_parts.update_state(c, guess);
        },
        y, p);
    CHECK(parts.result() == doctest::Approx(whole.result()).epsilon(1e-13));
    CHECK(mean_of_parts.result() == doctest::Approx(mean_of_whole.result()).epsilon(1e-13));
    auto const refused = [&](auto const& f) {
      return message_of<replica_error>([&] { all.run(f); });
    };
    CHECK(refused([&] { recall.update_state(1, 1); }).find("update_state") != std::string::npos);
    CHECK(refused([&] { recall.reset_state(); }).find("reset_state") != std::string::npos);
    CHECK(refused([&] { return recall.result(); }).find("result") != std::string::npos);
  };
  {
    testing::simulated_gpus const two{2};
    on(Mirrored<GpuDevice<0>, GpuDevice<1>>{});
  }
  on(Mirrored<Cpu<0>, Cpu<1>, Cpu<2>>{});
}

TEST_CASE("a metric names what does not fit") {
  auto const told = []<class Kind = shape_error>(auto const& f, char const* what,
                                                 Kind const* = nullptr) {
    CHECK(message_of<Kind>(f).find(what) != std::string::npos);
  };
  metrics::Mean m;
  metrics::Precision p;
  metrics::MeanOf<nn::SparseCategoricalAccuracy> a;
  told([&] { m.update_state(Line{1, 2, 3}, Line{1, 2}); }, "values [3] and weights [2]");
  told([&] { p.update_state(Line{1, 0}, Line{1, 0, 1}); }, "targets [2] and predictions [3]");
  Tensor<float, Extents<2, 2>> const rows{{1, 0}, {0, 1}};
  told([&] { a.update_state(Tensor<int, Extents<2>>{0, 2}, rows); }, "outside [0, 2)");
  told([&] { a.update_state(Tensor<int, Extents<2>>{0, -1}, rows); }, "outside [0, 2)");
  told([&] { a.update_state(Tensor<int, Extents<3>>{0, 1, 1}, rows); }, "3 labels for 2 rows");
  told([&] { a.update_state(Tensor<int, Extents<2>>{0, 1}, Line{1, 2}); }, "rows and classes");
  configuration_error const* const options = nullptr;
  told([] { metrics::Precision(reals{}).result(); }, "no thresholds", options);
  told([] { metrics::Recall(1.5).result(); }, "outside [0, 1]", options);
  told([] { metrics::Recall(std::numeric_limits<double>::quiet_NaN()).result(); }, "outside [0, 1]",
       options);
  told([] { metrics::AUC({.num_thresholds = 1}).result(); }, "AUC has 1 thresholds", options);
  CHECK(m.result() == 0);
  CHECK(p.result() == 0);
}

}  // namespace metric_states_test
