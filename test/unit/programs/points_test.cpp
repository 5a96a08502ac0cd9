// SPDX-License-Identifier: Apache-2.0
// Programs over points, with static and with open extents, on the host and on GPUs: forces of N bodies, prices of
// options, k-means; beside plain loops.
#include "kinds.hpp"

#include <limits>

#include <locus/algorithms/argmin.hpp>
#include <locus/algorithms/histogram.hpp>
#include <locus/algorithms/segment_sum.hpp>

namespace points_test {

using namespace locus;
using namespace programs;

namespace {

/// one launch, without a matrix of distances
struct bodies {
  template <class Kind>
  void operator()(Kind) const {
    constexpr int n = 65;
    auto const x = drawn<Kind, float, n>(1, -1, 1), y = drawn<Kind, float, n>(2, -1, 1),
               z = drawn<Kind, float, n>(3, -1, 1), mass = drawn<Kind, float, n>(4, 1, 2);
    auto fx = zero<Kind, float, n>(), fy = fx, fz = fx;
    let(expand_dims<0>(x) - expand_dims<1>(x), [&](auto dx) {
      let(expand_dims<0>(y) - expand_dims<1>(y), [&](auto dy) {
        let(expand_dims<0>(z) - expand_dims<1>(z), [&](auto dz) {
          auto const r2 = square(dx) + square(dy) + square(dz) + 0.01f;
          let(mass / (r2 * sqrt(r2)), [&](auto pull) {
            auto const forces = plan(into(fx, sum<1>(dx * pull)), into(fy, sum<1>(dy * pull)),
                                     into(fz, sum<1>(dz * pull)));
            static_assert(forces.launches() == 1 && forces.guards() == 0);
            run(forces);
          });
        });
      });
    });
    values const px = values_of(x), py = values_of(y), pz = values_of(z), m = values_of(mass);
    std::vector<precise> force[3];
    for (std::size_t i = 0; i < n; ++i) {
      precise f[3]{};
      for (std::size_t j = 0; j < n; ++j) {
        precise const d[] = {precise(px[j]) - px[i], precise(py[j]) - py[i],
                             precise(pz[j]) - pz[i]},
                      r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + 0.01L;
        for (int a = 0; a < 3; ++a) f[a] += d[a] * m[j] / (r2 * std::sqrt(r2));
      }
      for (int a = 0; a < 3; ++a) force[a].push_back(f[a]);
    }
    check(values_of(fx), force[0], 1e-6);
    check(values_of(fy), force[1], 1e-6);
    check(values_of(fz), force[2], 1e-6);
  }
};

/// one launch for both prices
template <class T>
struct options {
  double tolerance;
  template <class Kind>
  void operator()(Kind) const {
    constexpr int n = 257;
    auto const spot = drawn<Kind, T, n>(5, 10, 100), strike = drawn<Kind, T, n>(6, 10, 100),
               years = drawn<Kind, T, n>(7, 0.25f, 2);
    auto call = zero<Kind, T, n>(), put = call;
    auto const below = [](auto const& d) { return T(0.5) * (T(1) + erf(d * T(M_SQRT1_2))); };
    auto const s = named<"spot">(spot);
    auto const t = named<"years">(years);
    let(strike * exp(T(-0.02) * t), [&](auto k) {
      let(T(0.3) * sqrt(t), [&](auto spread) {
        let(below(log(s / k) / spread + T(0.5) * spread), [&](auto first) {
          let(below(log(s / k) / spread - T(0.5) * spread), [&](auto second) {
            auto const both = plan(into(call, s * first - k * second),
                                   into(put, k * (T(1) - second) - s * (T(1) - first)));
            static_assert(both.launches() == 1);
            run(both);
          });
        });
      });
    });
    values const from = values_of(spot), to = values_of(strike), time = values_of(years);
    std::vector<precise> calls, puts;
    for (std::size_t i = 0; i < n; ++i) {
      auto const N = [](precise d) { return 0.5L * (1 + std::erf(d / std::sqrt(2.L))); };
      precise const k = to[i] * std::exp(-precise(T(0.02)) * time[i]),
                    spread = precise(T(0.3)) * std::sqrt(precise(time[i])),
                    up = std::log(from[i] / k) / spread + 0.5L * spread;
      calls.push_back(from[i] * N(up) - k * N(up - spread));
      puts.push_back(k * (1 - N(up - spread)) - from[i] * (1 - N(up)));
    }
    check(values_of(call), calls, tolerance);
    check(values_of(put), puts, tolerance);
  }
};

/// labels are of the nearest center, centers the means of their points
struct clusters {
  template <class Kind>
  void operator()(Kind) const {
    constexpr int n = 300, d = 5, k = 7;
    auto const x = drawn<Kind, double, n, d>(8, -1, 1);
    auto c = drawn<Kind, double, k, d>(9, -1, 1);
    auto label = zero<Kind, std::int64_t, n>();
    values const points = values_of(x);
    values centers = values_of(c);
    for (int step = 0; step < 4; ++step) {
      auto const nearest = argmin<1>(sum<2>(square(expand_dims<1>(x) - expand_dims<0>(c))));
      static_assert(plan_of<decltype(nearest)>.launches() == 2);
      label = nearest;
      auto const means =
          segment_sum<k>(x, label) / cast<double>(expand_dims<1>(bincount<k>(label)));
      static_assert(plan_of<decltype(means)>.launches() == 3);
      c = means;
      values labels(n), next(k * d), count(k);
      for (std::size_t i = 0; i < n; ++i) {
        double least = std::numeric_limits<double>::infinity();
        for (std::size_t j = 0; j < k; ++j) {
          double r2 = 0;
          for (std::size_t a = 0; a < d; ++a)
            r2 +=
                (points[i * d + a] - centers[j * d + a]) * (points[i * d + a] - centers[j * d + a]);
          if (r2 < least) least = r2, labels[i] = double(j);
        }
        auto const j = std::size_t(labels[i]);
        ++count[j];
        for (std::size_t a = 0; a < d; ++a) next[j * d + a] += points[i * d + a];
      }
      for (std::size_t j = 0; j < k * d; ++j) centers[j] = next[j] / count[j / d];
      CHECK(values_of(label) == labels);
      check(values_of(c), centers, 1e-14);
    }
  }
};

}  // namespace

TEST_CASE("forces of N bodies: one launch") { on_kinds(bodies{}); }
TEST_CASE("prices of options: one launch for calls and puts") {
  on_kinds(options<float>{2e-6});
  options<double>{1e-14}(fixed<CpuDevice>{});
  options<double>{1e-14}(programs::open<CpuDevice>{});
}
TEST_CASE("k-means by argmin, segment_sum and bincount") { on_kinds(clusters{}); }

}  // namespace points_test
