// SPDX-License-Identifier: Apache-2.0
// Programs whose extents only a run knows, in one launch each: forces of N bodies, prices of options, the vectors of
// a step of conjugate gradients; beside loops by hand and Eigen.
#include <cmath>
#include <memory>
#include <vector>

#include <bench/harness.hpp>

#if BENCH_EIGEN
#include <Eigen/Core>
#include <unsupported/Eigen/SpecialFunctions>
#endif

using namespace locus;

namespace {

template <class T>
using Vector = Tensor<T, Dextents<1>>;
template <class T>
std::shared_ptr<Vector<T>> drawn(std::int64_t n, unsigned seed, float low, float high) {
  return std::make_shared<Vector<T>>(
      cast<T>(uniform<float>(dextents<1>{n}, locus::seed{seed}, low, high)));
}
template <class T>
std::shared_ptr<Vector<T>> room(std::int64_t n) {
  return std::make_shared<Vector<T>>(n);
}
#if BENCH_EIGEN
template <class T>
auto map_of(Vector<T> const& x) {
  return Eigen::Map<Eigen::Array<T, Eigen::Dynamic, 1> const>(x.data(), x.size());
}
template <class T>
auto map_of(Vector<T>& x) {
  return Eigen::Map<Eigen::Array<T, Eigen::Dynamic, 1>>(x.data(), x.size());
}
#endif

void add_bodies(std::int64_t n) {
  bench::add("programs", "forces of bodies, float", std::to_string(n), [=](bench::group& g) {
    auto const x = drawn<float>(n, 1, -1, 1), y = drawn<float>(n, 2, -1, 1),
               z = drawn<float>(n, 3, -1, 1), m = drawn<float>(n, 4, 1, 2), fx = room<float>(n),
               fy = room<float>(n), fz = room<float>(n);
    g.operations(18. * double(n) * double(n));
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
    auto const gx = room<float>(n), gy = room<float>(n), gz = room<float>(n);
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
    g.rival("a loop", 1, [=] {
      float const *px = x->data(), *py = y->data(), *pz = z->data(), *pm = m->data();
      for (std::int64_t i = 0; i < n; ++i) {
        float sx = 0, sy = 0, sz = 0;
#pragma omp simd reduction(+ : sx, sy, sz)
        for (std::int64_t j = 0; j < n; ++j) {
          float const dx = px[j] - px[i], dy = py[j] - py[i], dz = pz[j] - pz[i],
                      r2 = dx * dx + dy * dy + dz * dz + 0.01f, pull = pm[j] / (r2 * std::sqrt(r2));
          sx += dx * pull, sy += dy * pull, sz += dz * pull;
        }
        gx->data()[i] = sx, gy->data()[i] = sy, gz->data()[i] = sz;
      }
    });
  });
}

/// the price of a call and of a put: rate 0.02, volatility 0.3
void add_options(std::int64_t n) {
  bench::add("programs", "prices of options, float", std::to_string(n), [=](bench::group& g) {
    auto const spot = drawn<float>(n, 5, 10, 100), strike = drawn<float>(n, 6, 10, 100),
               years = drawn<float>(n, 7, 0.2f, 2), call = room<float>(n), put = room<float>(n);
    g.bytes(20. * double(n));
    g.locus([=] {
      auto const below = [](auto const& d) { return 0.5f * (1.f + erf(d * 0.70710678f)); };
      let(*years, [&](auto t) {
        let(*spot, [&](auto s) {
          let(*strike * exp(-0.02f * t), [&](auto k) {
            let(0.3f * sqrt(t), [&](auto spread) {
              let(log(s / k) / spread + 0.5f * spread, [&](auto up) {
                let(below(up), [&](auto first) {
                  let(below(up - spread), [&](auto second) {
                    auto const prices = plan(into(*call, s * first - k * second),
                                             into(*put, k * (1.f - second) - s * (1.f - first)));
                    static_assert(decltype(prices)::launches() == 1);
                    run(prices);
                  });
                });
              });
            });
          });
        });
      });
    });
    auto const own_call = room<float>(n), own_put = room<float>(n);
#if BENCH_EIGEN
    auto const space = std::make_shared<Eigen::ArrayXXf>(n, 4);
    g.rival("Eigen", 1, [=] {
      auto k = space->col(0), spread = space->col(1), first = space->col(2), second = space->col(3);
      k = map_of(*strike) * (-0.02f * map_of(*years)).exp();
      spread = 0.3f * map_of(*years).sqrt();
      first = (map_of(*spot) / k).log() / spread + 0.5f * spread;
      second = 0.5f * (1.f + ((first - spread) * 0.70710678f).erf());
      first = 0.5f * (1.f + (first * 0.70710678f).erf());
      map_of(*own_call) = map_of(*spot) * first - k * second;
      map_of(*own_put) = k * (1.f - second) - map_of(*spot) * (1.f - first);
    });
#endif
    g.rival("a loop", 1, [=] {
      for (std::int64_t i = 0; i < n; ++i) {
        float const t = years->data()[i], s = spot->data()[i],
                    k = strike->data()[i] * std::exp(-0.02f * t), spread = 0.3f * std::sqrt(t),
                    up = std::log(s / k) / spread + 0.5f * spread,
                    first = 0.5f * (1.f + std::erf(up * 0.70710678f)),
                    second = 0.5f * (1.f + std::erf((up - spread) * 0.70710678f));
        own_call->data()[i] = s * first - k * second;
        own_put->data()[i] = k * (1.f - second) - s * (1.f - first);
      }
    });
  });
}

/// x += a p, r -= a q, r . r
void add_vectors(std::int64_t n) {
  bench::add("programs", "a step of conjugate gradients, double", std::to_string(n),
             [=](bench::group& g) {
               auto const x = drawn<double>(n, 8, -1, 1), r = drawn<double>(n, 9, -1, 1),
                          p = drawn<double>(n, 10, -1, 1), q = drawn<double>(n, 11, -1, 1),
                          own_x = room<double>(n), own_r = room<double>(n);
               auto const rr = std::make_shared<Tensor<double, Extents<>>>();
               g.bytes(48. * double(n));
               double const a = 1e-9;
               g.locus([=] {
                 let(*r - a * *q, [&](auto left) {
                   auto const step =
                       plan(into(*x, *x + a * *p), into(*r, left), into(*rr, sum(square(left))));
                   static_assert(decltype(step)::launches() == 1);
                   run(step);
                 });
               });
#if BENCH_EIGEN
               g.rival("Eigen", 0, [=] {
                 map_of(*own_x) += a * map_of(*p);
                 map_of(*own_r) -= a * map_of(*q);
                 benchmark::DoNotOptimize(map_of(*own_r).square().sum());
               });
#endif
               g.rival("a loop", 0.95, [=] {
                 double *const to = own_x->data(), *const rest = own_r->data();
                 double const *const along = p->data(), *const product = q->data();
                 double all = 0;
#pragma omp simd reduction(+ : all)
                 for (std::int64_t i = 0; i < n; ++i) {
                   to[i] += a * along[i];
                   rest[i] -= a * product[i];
                   all += rest[i] * rest[i];
                 }
                 benchmark::DoNotOptimize(all);
               });
             });
}

bench::file const groups([] {
  add_bodies(1024), add_bodies(4096);
  add_options(1000000);
  for (std::int64_t const n : {1 << 10, 1 << 16, 1 << 20}) add_vectors(n);
});

}  // namespace
