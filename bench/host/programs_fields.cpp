// SPDX-License-Identifier: Apache-2.0
// Programs over fields: a sweep of Jacobi's method, a step of a 3-D wave, a step of conjugate gradients without a
// matrix; beside loops by hand, Eigen, Kokkos and Thrust.
#include <algorithm>

#include <bench/host/programs.hpp>

#if BENCH_THRUST
#include <thrust/for_each.h>
#include <thrust/inner_product.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/system/cpp/execution_policy.h>
#endif

using namespace locus;
using bench::drawn, bench::room, bench::values_of;
#if BENCH_EIGEN
using bench::map_of;
#endif

namespace {

/// what the rivals share: f(i) for each row i inside a field of n rows, each by a loop of its own
template <class F>
void add_rows(bench::group& g, double goal, std::int64_t n, F f) {
  g.rival("a loop", goal, [=] {
    for (std::int64_t i = 1; i < n - 1; ++i) f(i);
  });
#if BENCH_KOKKOS
  g.rival("Kokkos", 0, [=] { Kokkos::parallel_for(bench::kokkos_range(1, n - 1), f); });
#endif
#if BENCH_THRUST
  g.rival("Thrust", 0, [=] {
    thrust::for_each_n(thrust::cpp::par, thrust::counting_iterator<std::int64_t>(1), n - 2, f);
  });
#endif
}

void add_jacobi(std::int64_t n, double goal) {
  bench::add(
      "programs", "a sweep of Jacobi's method", std::to_string(n) + "^2", [=](bench::group& g) {
        auto const u = drawn<double>(Dextents<2>(n, n), 1, -1, 1), v = room<double>(n, n),
                   own = room<double>(n, n);
        g.bytes(16. * double(n) * double(n));
        g.results(1e-14, [=] { return values_of(*v); }, [=] { return values_of(*own); });
        g.locus([=] {
          slice(*v, {1, -1}, {1, -1}) = 0.25 * (interior<1, -1, 0>(*u) + interior<1, 1, 0>(*u) +
                                                interior<1, 0, -1>(*u) + interior<1, 0, 1>(*u));
        });
        double const* const from = u->data();
        double* const to = own->data();
        add_rows(g, goal, n, [=](std::int64_t i) {
#pragma omp simd
          for (std::int64_t o = i * n + 1; o < i * n + n - 1; ++o)
            to[o] = 0.25 * (from[o - n] + from[o + n] + from[o - 1] + from[o + 1]);
        });
#if BENCH_EIGEN
        g.rival("Eigen", 0, [=] {
          auto const x = map_of(*u);
          auto const part = [&](std::int64_t i, std::int64_t j) {
            return x.block(1 + i, 1 + j, n - 2, n - 2);
          };
          map_of(*own).block(1, 1, n - 2, n - 2) =
              0.25 * (part(-1, 0) + part(1, 0) + part(0, -1) + part(0, 1));
        });
#endif
      });
}

void add_wave(std::int64_t n, double goal) {
  bench::add("programs", "a step of a 3-D wave", std::to_string(n) + "^3", [=](bench::group& g) {
    auto const u = drawn<double>(Dextents<3>(n, n, n), 2, -1, 1),
               old = drawn<double>(Dextents<3>(n, n, n), 3, -1, 1), v = room<double>(n, n, n),
               own = room<double>(n, n, n);
    g.bytes(24. * double(n) * double(n) * double(n));
    g.results(1e-14, [=] { return values_of(*v); }, [=] { return values_of(*own); });
    g.locus([=] {
      auto const &x = *u, &before = *old;
      slice(*v, {1, -1}, {1, -1}, {1, -1}) =
          2. * interior<1>(x) - interior<1>(before) +
          .1 * (interior<1, -1, 0, 0>(x) + interior<1, 1, 0, 0>(x) + interior<1, 0, -1, 0>(x) +
                interior<1, 0, 1, 0>(x) + interior<1, 0, 0, -1>(x) + interior<1, 0, 0, 1>(x) -
                6. * interior<1>(x));
    });
    double const *const x = u->data(), *const before = old->data();
    double* const to = own->data();
    std::int64_t const m = n * n;
    add_rows(g, goal, n, [=](std::int64_t i) {
      for (std::int64_t j = 1; j < n - 1; ++j)
#pragma omp simd
        for (std::int64_t o = i * m + j * n + 1; o < i * m + j * n + n - 1; ++o)
          to[o] = 2 * x[o] - before[o] +
                  .1 * (x[o - m] + x[o + m] + x[o - n] + x[o + n] + x[o - 1] + x[o + 1] - 6 * x[o]);
    });
#if BENCH_EIGEN
    using plane = Eigen::Map<bench::eigen_rows<double> const>;
    g.rival("Eigen, plane by plane", 0, [=] {
      for (std::int64_t i = 1; i < n - 1; ++i) {
        plane const here(x + i * m, n, n), up(x + (i - 1) * m, n, n), down(x + (i + 1) * m, n, n),
            was(before + i * m, n, n);
        auto const part = [&](plane const& p, std::int64_t j, std::int64_t k) {
          return p.block(1 + j, 1 + k, n - 2, n - 2);
        };
        Eigen::Map<bench::eigen_rows<double>>(to + i * m, n, n).block(1, 1, n - 2, n - 2) =
            2. * part(here, 0, 0) - part(was, 0, 0) +
            .1 * (part(up, 0, 0) + part(down, 0, 0) + part(here, -1, 0) + part(here, 1, 0) +
                  part(here, 0, -1) + part(here, 0, 1) - 6. * part(here, 0, 0));
      }
    });
#endif
  });
}

/// x += a p, r -= a q      returns: r . r
double advance(double* x, double* r, double const* p, double const* q, double a, std::int64_t n) {
  double all = 0;
#pragma omp simd reduction(+ : all)
  for (std::int64_t i = 0; i < n; ++i) {
    x[i] += a * p[i];
    r[i] -= a * q[i];
    all += r[i] * r[i];
  }
  return all;
}

void add_vectors(std::int64_t n) {
  bench::add("programs", "vectors of conjugate gradients", std::to_string(n), [=](bench::group& g) {
    auto const p = drawn<double>(n, 10, -1, 1), q = drawn<double>(n, 11, -1, 1),
               x = room<double>(n), r = room<double>(n), own_x = room<double>(n),
               own_r = room<double>(n);
    auto const rr = std::make_shared<bench::number<double>>();
    auto const own_rr = std::make_shared<double>();
    g.bytes(48. * double(n));
    double const a = 1e-9;
    g.results(
        1e-13, [=] { return values_of(*x, *r, *rr); },
        [=] {
          auto all = values_of(*own_x, *own_r);
          all.push_back(*own_rr);
          return all;
        },
        [=] {
          *x = uniform<double>(Dextents<1>(n), seed{8}), *own_x = *x;
          *r = uniform<double>(Dextents<1>(n), seed{9}), *own_r = *r;
        });
    g.locus([=] {
      let(*r - a * *q, [&](auto left) {
        auto const step = plan(into(*x, *x + a * *p), into(*r, left), into(*rr, sum(square(left))));
        static_assert(decltype(step)::launches() == 1);
        run(step);
      });
    });
    double *const to = own_x->data(), *const rest = own_r->data();
    double const *const along = p->data(), *const product = q->data();
    g.rival("a loop", 0.95, [=] { *own_rr = advance(to, rest, along, product, a, n); });
#if BENCH_EIGEN
    g.rival("Eigen", 0, [=] {
      map_of(*own_x) += a * map_of(*p);
      map_of(*own_r) -= a * map_of(*q);
      *own_rr = map_of(*own_r).square().sum();
    });
#endif
#if BENCH_KOKKOS
    g.rival("Kokkos", 0, [=] {
      Kokkos::parallel_reduce(
          bench::kokkos_range(0, n),
          [=](std::int64_t i, double& all) {
            to[i] += a * along[i];
            rest[i] -= a * product[i];
            all += rest[i] * rest[i];
          },
          *own_rr);
    });
#endif
#if BENCH_THRUST
    g.rival("Thrust", 0, [=] {
      thrust::for_each_n(thrust::cpp::par, thrust::counting_iterator<std::int64_t>(0), n,
                         [=](std::int64_t i) {
                           to[i] += a * along[i];
                           rest[i] -= a * product[i];
                         });
      *own_rr = thrust::inner_product(thrust::cpp::par, rest, rest + n, rest, 0.);
    });
#endif
  });
}

/// A field of n^2 whose outermost elements are 0: x, the residue r, the direction p, and q = A p
struct unknowns {
  std::shared_ptr<bench::tensor<double, 2>> x, r, p, q, right;
  explicit unknowns(std::int64_t n)
      : x(room<double>(n, n)), r(room<double>(n, n)), p(room<double>(n, n)), q(room<double>(n, n)),
        right(room<double>(n, n)) {
    slice(*right, {1, -1}, {1, -1}) = uniform<double>(Dextents<2>(n - 2, n - 2), seed{12}) - 0.5;
  }
  void begin() const {
    std::fill_n(x->data(), x->size(), 0.);
    std::copy_n(right->data(), right->size(), r->data());
    std::copy_n(right->data(), right->size(), p->data());
  }
  std::vector<double> values() const { return values_of(*x, *r, *p); }
};

/// q = A p inside a row of m elements that begins at o      returns: p . q there
double multiply_row(double const* p, double* q, std::int64_t o, std::int64_t m) {
  double all = 0;
#pragma omp simd reduction(+ : all)
  for (std::int64_t e = o + 1; e < o + m - 1; ++e) {
    q[e] = 4 * p[e] - p[e - m] - p[e + m] - p[e - 1] - p[e + 1];
    all += p[e] * q[e];
  }
  return all;
}
void solve_by_loops(double* x, double* r, double* p, double* q, std::int64_t m, int steps) {
  std::int64_t const n = m * m;
  double rr = 0;
#pragma omp simd reduction(+ : rr)
  for (std::int64_t i = 0; i < n; ++i) rr += r[i] * r[i];
  for (int k = 0; k < steps; ++k) {
    double pq = 0;
    for (std::int64_t i = 1; i < m - 1; ++i) pq += multiply_row(p, q, i * m, m);
    double const next = advance(x, r, p, q, rr / pq, n), b = next / rr;
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) p[i] = r[i] + b * p[i];
    rr = next;
  }
}

/// the first 10 steps of conjugate gradients for the five-point operator, which needs no matrix
void add_gradients(std::int64_t n, double goal) {
  bench::add("programs", "10 steps of conjugate gradients", std::to_string(n) + "^2",
             [=](bench::group& g) {
               unknowns const mine(n + 2), own(n + 2);
               std::int64_t const m = n + 2, all = m * m;
               g.results(1e-12, [=] { return mine.values(); }, [=] { return own.values(); });
               g.locus([=] {
                 mine.begin();
                 auto &x = *mine.x, &r = *mine.r, &p = *mine.p, &q = *mine.q;
                 bench::number<double> pq, next;
                 double rr = fetch(sum(square(r)));
                 for (int k = 0; k < 10; ++k) {
                   let(p, [&](auto d) {
                     let(4. * interior<1>(d) - interior<1, -1, 0>(d) - interior<1, 1, 0>(d) -
                             interior<1, 0, -1>(d) - interior<1, 0, 1>(d),
                         [&](auto product) {
                           auto const one = plan(into(interior<1>(q), product),
                                                 into(pq, sum(interior<1>(d) * product)));
                           static_assert(decltype(one)::launches() == 1);
                           run(one);
                         });
                   });
                   double const a = rr / pq();
                   let(r - a * q, [&](auto left) {
                     auto const two =
                         plan(into(x, x + a * p), into(r, left), into(next, sum(square(left))));
                     static_assert(decltype(two)::launches() == 1);
                     run(two);
                   });
                   p = r + next() / rr * p;
                   rr = next();
                 }
               });
               double *const x = own.x->data(), *const r = own.r->data(), *const p = own.p->data(),
                             *const q = own.q->data();
               g.rival("a loop", goal, [=] {
                 own.begin();
                 solve_by_loops(x, r, p, q, m, 10);
               });
#if BENCH_EIGEN
               g.rival("Eigen", 0, [=] {
                 own.begin();
                 auto to = map_of(*own.x), rest = map_of(*own.r), d = map_of(*own.p),
                      product = map_of(*own.q);
                 auto const part = [&](auto& f, std::int64_t i, std::int64_t j) {
                   return f.block(1 + i, 1 + j, n, n);
                 };
                 double rr = rest.square().sum();
                 for (int k = 0; k < 10; ++k) {
                   part(product, 0, 0) = 4. * part(d, 0, 0) - part(d, -1, 0) - part(d, 1, 0) -
                                         part(d, 0, -1) - part(d, 0, 1);
                   double const a = rr / (d * product).sum();
                   to += a * d;
                   rest -= a * product;
                   double const next = rest.square().sum();
                   d = rest + next / rr * d;
                   rr = next;
                 }
               });
#endif
#if BENCH_KOKKOS
               g.rival("Kokkos", 0, [=] {
                 own.begin();
                 using range = bench::kokkos_range;
                 double rr = 0;
                 Kokkos::parallel_reduce(
                     range(0, all), [=](std::int64_t i, double& s) { s += r[i] * r[i]; }, rr);
                 for (int k = 0; k < 10; ++k) {
                   double pq = 0, next = 0;
                   Kokkos::parallel_reduce(
                       range(1, m - 1),
                       [=](std::int64_t i, double& s) { s += multiply_row(p, q, i * m, m); }, pq);
                   double const a = rr / pq;
                   Kokkos::parallel_reduce(
                       range(0, all),
                       [=](std::int64_t i, double& s) {
                         x[i] += a * p[i];
                         r[i] -= a * q[i];
                         s += r[i] * r[i];
                       },
                       next);
                   double const b = next / rr;
                   Kokkos::parallel_for(range(0, all),
                                        [=](std::int64_t i) { p[i] = r[i] + b * p[i]; });
                   rr = next;
                 }
               });
#endif
             });
}

bench::file const groups([] {
  add_jacobi(32, 0.70), add_jacobi(64, 0.85);
  for (std::int64_t const n : {128, 512, 950, 1448}) add_jacobi(n, 0.95);
  add_wave(18, 0);
  for (std::int64_t const n : {32, 64, 96, 128}) add_wave(n, 0.95);
  for (std::int64_t const n : {1 << 10, 1 << 16, 1 << 20}) add_vectors(n);
  for (std::int64_t const n : {32, 256, 1024}) add_gradients(n, 0.95);
});

}  // namespace
