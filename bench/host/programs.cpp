// SPDX-License-Identifier: Apache-2.0
// Programs over points whose number only a run knows: forces of N bodies, prices of options, a step of k-means;
// beside loops by hand, Eigen, Kokkos and Thrust. programs_fields.cpp and programs_matrices.cpp have the others.
#include <cmath>

#include <bench/host/programs.hpp>

#if BENCH_EIGEN
#include <unsupported/Eigen/SpecialFunctions>
#endif
#if BENCH_THRUST
#include <thrust/for_each.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/system/cpp/execution_policy.h>
#include <thrust/transform.h>
#endif

#include <locus/algorithms/argmin.hpp>
#include <locus/algorithms/histogram.hpp>
#include <locus/algorithms/segment_sum.hpp>

using namespace locus;
using bench::drawn, bench::room, bench::values_of;
#if BENCH_EIGEN
using bench::map_of;
#endif
#if BENCH_KOKKOS
using bench::view_of;
#endif

namespace {

struct bodies {
  float const *x, *y, *z, *mass;
  float *fx, *fy, *fz;
  std::int64_t n;
  /// the force on body i
  void of(std::int64_t i) const {
    float const *const px = x, *const py = y, *const pz = z, *const m = mass, xi = x[i], yi = y[i],
                       zi = z[i];
    float sx = 0, sy = 0, sz = 0;
#pragma omp simd reduction(+ : sx, sy, sz)
    for (std::int64_t j = 0; j < n; ++j) {
      float const dx = px[j] - xi, dy = py[j] - yi, dz = pz[j] - zi,
                  r2 = dx * dx + dy * dy + dz * dz + 0.01f, pull = m[j] / (r2 * std::sqrt(r2));
      sx += dx * pull, sy += dy * pull, sz += dz * pull;
    }
    fx[i] = sx, fy[i] = sy, fz[i] = sz;
  }
};

void add_bodies(std::int64_t n) {
  bench::add("programs", "forces of bodies, float", std::to_string(n), [=](bench::group& g) {
    auto const x = drawn<float>(n, 1, -1, 1), y = drawn<float>(n, 2, -1, 1),
               z = drawn<float>(n, 3, -1, 1), m = drawn<float>(n, 4, 1, 2), fx = room<float>(n),
               fy = room<float>(n), fz = room<float>(n), gx = room<float>(n), gy = room<float>(n),
               gz = room<float>(n);
    g.operations(18. * double(n) * double(n));
    g.results(
        1e-5, [=] { return values_of(*fx, *fy, *fz); }, [=] { return values_of(*gx, *gy, *gz); });
    g.locus([=] {
      let(expand_dims<0>(*x) - expand_dims<1>(*x), [&](auto dx) {
        let(expand_dims<0>(*y) - expand_dims<1>(*y), [&](auto dy) {
          let(expand_dims<0>(*z) - expand_dims<1>(*z), [&](auto dz) {
            auto const r2 = square(dx) + square(dy) + square(dz) + 0.01f;
            let(*m / (r2 * sqrt(r2)), [&](auto pull) {
              auto const forces = plan(into(*fx, sum<1>(dx * pull)), into(*fy, sum<1>(dy * pull)),
                                       into(*fz, sum<1>(dz * pull)));
              static_assert(decltype(forces)::launches() == 1 && decltype(forces)::guards() == 0);
              run(forces);
            });
          });
        });
      });
    });
    bodies const all{x->data(),  y->data(),  z->data(),  m->data(),
                     gx->data(), gy->data(), gz->data(), n};
    g.rival("a loop", 0, [=] {
      for (std::int64_t i = 0; i < n; ++i) all.of(i);
    });
#if BENCH_EIGEN
    auto const d = std::make_shared<Eigen::ArrayXXf>(n, 4);
    g.rival("Eigen, body by body", 1, [=] {
      for (std::int64_t i = 0; i < n; ++i) {
        auto dx = d->col(0), dy = d->col(1), dz = d->col(2), pull = d->col(3);
        dx = map_of(*x) - x->data()[i], dy = map_of(*y) - y->data()[i],
        dz = map_of(*z) - z->data()[i];
        pull = dx.square() + dy.square() + dz.square() + 0.01f;
        pull = map_of(*m) / (pull * pull.sqrt());
        gx->data()[i] = (dx * pull).sum(), gy->data()[i] = (dy * pull).sum(),
        gz->data()[i] = (dz * pull).sum();
      }
    });
#endif
#if BENCH_KOKKOS
    g.rival("Kokkos", 0,
            [=] { Kokkos::parallel_for(bench::kokkos_range(0, n), [=](int i) { all.of(i); }); });
#endif
#if BENCH_THRUST
    g.rival("Thrust", 0, [=] {
      thrust::for_each_n(thrust::cpp::par, thrust::counting_iterator<std::int64_t>(0), n,
                         [=](std::int64_t i) { all.of(i); });
    });
#endif
  });
}

/// the price of a call and of a put: rate 0.02, volatility 0.3
template <class T>
struct prices {
  T call, put;
  static prices of(T s, T strike, T t) {
    T const k = strike * std::exp(T(-0.02) * t), spread = T(0.3) * std::sqrt(t),
            up = std::log(s / k) / spread + T(0.5) * spread,
            first = T(0.5) * (1 + std::erf(up * T(0.70710678))),
            second = T(0.5) * (1 + std::erf((up - spread) * T(0.70710678)));
    return {s * first - k * second, k * (1 - second) - s * (1 - first)};
  }
};

template <class T>
void add_options(char const* what, std::int64_t n) {
  bench::add("programs", what, std::to_string(n), [=](bench::group& g) {
    auto const spot = drawn<T>(n, 5, 10, 100), strike = drawn<T>(n, 6, 10, 100),
               years = drawn<T>(n, 7, 0.2f, 2), call = room<T>(n), put = room<T>(n),
               own_call = room<T>(n), own_put = room<T>(n);
    g.bytes(5. * sizeof(T) * double(n));
    g.results(
        1e-6, [=] { return values_of(*call, *put); },
        [=] { return values_of(*own_call, *own_put); });
    g.locus([=] {
      auto const below = [](auto const& d) { return T(0.5) * (T(1) + erf(d * T(0.70710678))); };
      let(*years, [&](auto t) {
        let(*spot, [&](auto s) {
          let(*strike * exp(T(-0.02) * t), [&](auto k) {
            let(T(0.3) * sqrt(t), [&](auto spread) {
              let(log(s / k) / spread + T(0.5) * spread, [&](auto up) {
                let(below(up), [&](auto first) {
                  let(below(up - spread), [&](auto second) {
                    auto const both = plan(into(*call, s * first - k * second),
                                           into(*put, k * (T(1) - second) - s * (T(1) - first)));
                    static_assert(decltype(both)::launches() == 1);
                    run(both);
                  });
                });
              });
            });
          });
        });
      });
    });
    g.rival("a loop", 0, [=] {
      for (std::int64_t i = 0; i < n; ++i) {
        auto const p = prices<T>::of(spot->data()[i], strike->data()[i], years->data()[i]);
        own_call->data()[i] = p.call, own_put->data()[i] = p.put;
      }
    });
#if BENCH_EIGEN
    auto const space = std::make_shared<Eigen::Array<T, Eigen::Dynamic, Eigen::Dynamic>>(n, 4);
    g.rival("Eigen", 1, [=] {
      auto k = space->col(0), spread = space->col(1), first = space->col(2), second = space->col(3);
      k = map_of(*strike) * (T(-0.02) * map_of(*years)).exp();
      spread = T(0.3) * map_of(*years).sqrt();
      first = (map_of(*spot) / k).log() / spread + T(0.5) * spread;
      second = T(0.5) * (T(1) + ((first - spread) * T(0.70710678)).erf());
      first = T(0.5) * (T(1) + (first * T(0.70710678)).erf());
      map_of(*own_call) = map_of(*spot) * first - k * second;
      map_of(*own_put) = k * (T(1) - second) - map_of(*spot) * (T(1) - first);
    });
#endif
#if BENCH_KOKKOS
    g.rival("Kokkos", 0, [=] {
      auto const s = view_of(*spot), k = view_of(*strike), t = view_of(*years),
                 c = view_of(*own_call), p = view_of(*own_put);
      Kokkos::parallel_for(bench::kokkos_range(0, n), [=](int i) {
        auto const both = prices<T>::of(s(i), k(i), t(i));
        c(i) = both.call, p(i) = both.put;
      });
    });
#endif
#if BENCH_THRUST
    g.rival("Thrust", 0, [=] {
      auto const from = thrust::make_zip_iterator(spot->data(), strike->data(), years->data());
      thrust::transform(
          thrust::cpp::par, from, from + n,
          thrust::make_zip_iterator(own_call->data(), own_put->data()), [](auto const& option) {
            auto const p = prices<T>::of(thrust::get<0>(option), thrust::get<1>(option),
                                         thrust::get<2>(option));
            return thrust::make_tuple(p.call, p.put);
          });
    });
#endif
  });
}

/// the nearest of k centers for each of n points of d numbers, then the mean of each cluster
void add_clusters(std::int64_t n, std::int64_t d, std::int64_t k) {
  std::string const size =
      std::to_string(n) + " x " + std::to_string(d) + ", " + std::to_string(k) + " centers";
  bench::add("programs", "a step of k-means, float", size, [=](bench::group& g) {
    auto const x = drawn<float>(Dextents<2>(n, d), 8, -1, 1),
               c = drawn<float>(Dextents<2>(k, d), 9, -1, 1), next = room<float>(k, d),
               own = room<float>(k, d);
    auto const label = room<std::int64_t>(n), own_label = room<std::int64_t>(n);
    g.bytes(4. * double(n * d));
    g.results(
        1e-5, [=] { return values_of(*next, *label); },
        [=] { return values_of(*own, *own_label); });
    g.locus([=] {
      *label = argmin<1>(sum<2>(square(expand_dims<1>(*x) - expand_dims<0>(*c))));
      *next = segment_sum(*x, *label, k) / cast<float>(expand_dims<1>(bincount(*label, k)));
    });
    auto const totals = std::make_shared<std::vector<double>>(std::size_t(k * d));
    auto const counts = std::make_shared<std::vector<std::int64_t>>(std::size_t(k));
    auto const add_point = [=](std::int64_t i) {
      float const* const p = x->data() + i * d;
      float least = INFINITY;
      std::int64_t nearest = 0;
      for (std::int64_t j = 0; j < k; ++j) {
        float const* const to = c->data() + j * d;
        float r2 = 0;
        for (std::int64_t a = 0; a < d; ++a) r2 += (p[a] - to[a]) * (p[a] - to[a]);
        if (r2 < least) least = r2, nearest = j;
      }
      own_label->data()[i] = nearest;
      ++(*counts)[std::size_t(nearest)];
      for (std::int64_t a = 0; a < d; ++a) (*totals)[std::size_t(nearest * d + a)] += double(p[a]);
    };
    auto const divide = [=] {
      for (std::int64_t j = 0; j < k * d; ++j)
        own->data()[j] = float((*totals)[std::size_t(j)] / double((*counts)[std::size_t(j / d)]));
    };
    auto const clear = [=] {
      std::fill(totals->begin(), totals->end(), 0.), std::fill(counts->begin(), counts->end(), 0);
    };
    g.rival("a loop", 0.95, [=] {
      clear();
      for (std::int64_t i = 0; i < n; ++i) add_point(i);
      divide();
    });
#if BENCH_EIGEN
    g.rival("Eigen, point by point", 0, [=] {
      clear();
      auto const points = map_of(*x), centers = map_of(*c);
      Eigen::Map<bench::eigen_rows<double>> all(totals->data(), k, d);
      for (std::int64_t i = 0; i < n; ++i) {
        Eigen::Index nearest;
        (centers.rowwise() - points.row(i)).square().rowwise().sum().minCoeff(&nearest);
        own_label->data()[i] = nearest;
        ++(*counts)[std::size_t(nearest)];
        all.row(nearest) += points.row(i).cast<double>();
      }
      divide();
    });
#endif
#if BENCH_KOKKOS
    g.rival("Kokkos", 0, [=] {
      clear();
      Kokkos::parallel_for(bench::kokkos_range(0, n), [=](int i) { add_point(i); });
      divide();
    });
#endif
#if BENCH_THRUST
    g.rival("Thrust", 0, [=] {
      clear();
      thrust::for_each_n(thrust::cpp::par, thrust::counting_iterator<std::int64_t>(0), n,
                         add_point);
      divide();
    });
#endif
  });
}

bench::file const groups([] {
  add_bodies(1024), add_bodies(4096);
  add_options<float>("prices of options, float", 1000000);
  add_options<double>("prices of options, double", 1000000);
  add_clusters(100000, 8, 16);
});

}  // namespace
