// SPDX-License-Identifier: Apache-2.0
// The four solvers of the mini-application TeaLeaf: the program of examples/heat_conduction.hpp beside the loops of
// TeaLeaf's OpenMP version, kernel by kernel: a loop over rows by threads, and inside it a plain one.
#include <cmath>
#include <memory>
#include <vector>

#include <bench/harness.hpp>
#include <examples/heat_conduction.hpp>

namespace {

using heat::ending, heat::method, heat::settings;

/// f(o) for each cell o inside
template <class F>
void sweep(std::int64_t n, F const f) {
#pragma omp parallel for
  for (std::int64_t j = 1; j <= n; ++j)
    for (std::int64_t o = j * (n + 2) + 1; o <= j * (n + 2) + n; ++o) f(o);
}
template <class F>
double sum(std::int64_t n, F const f) {
  double all = 0;
#pragma omp parallel for reduction(+ : all)
  for (std::int64_t j = 1; j <= n; ++j)
    for (std::int64_t o = j * (n + 2) + 1; o <= j * (n + 2) + n; ++o) all += f(o);
  return all;
}

class loops {
 public:
  loops(settings const& s, double const* density, double const* energy)
      : s_(s), n_(s.cells), m_(n_ + 2), density_(density), energy_(energy) {
    for (auto* f : {&kx_, &ky_, &u_, &u0_, &p_, &r_, &w_, &d_}) f->assign(std::size_t(m_ * m_), 0.);
    double const h = 10. / double(n_), ratio = s.step / (h * h);
    for (std::int64_t j = 1; j <= n_; ++j)
      for (std::int64_t i = 1; i <= n_; ++i) {
        std::int64_t const o = j * m_ + i;
        auto const between = [&](std::int64_t e) {
          return ratio * (density[e] + density[o]) / (2 * density[e] * density[o]);
        };
        if (i > 1) kx_[std::size_t(o)] = between(o - 1);
        if (j > 1) ky_[std::size_t(o)] = between(o - m_);
      }
  }
  ending step(method m) {
    double *const u = u_.data(), *const u0 = u0_.data();
    sweep(n_, [=, e = energy_, d = density_](std::int64_t o) { u[o] = e[o] * d[o]; });
    sweep(n_, [=](std::int64_t o) { u0[o] = u[o]; });
    alphas_.clear(), betas_.clear();
    return m == method::jacobi ? jacobi() : krylov(m);
  }
  std::vector<double> const& solution() const { return u_; }

 private:
  /// A x at o
  auto product(double const* x) const {
    return [x, kx = kx_.data(), ky = ky_.data(), m = m_](std::int64_t o) {
      return (1. + (kx[o + 1] + kx[o]) + (ky[o + m] + ky[o])) * x[o] -
             (kx[o + 1] * x[o + 1] + kx[o] * x[o - 1]) - (ky[o + m] * x[o + m] + ky[o] * x[o - m]);
    };
  }
  ending jacobi() {
    ending end;
    double *const u = u_.data(), *const r = r_.data(), *const u0 = u0_.data();
    while (end.iterations < s_.most && !end.converged) {
      std::int64_t const m = m_;
#pragma omp parallel for
      for (std::int64_t j = 0; j < m; ++j)
        for (std::int64_t i = 0; i < m; ++i) r[j * m + i] = u[j * m + i];
      end.error = sum(n_, [=, kx = kx_.data(), ky = ky_.data()](std::int64_t o) {
        u[o] = (u0[o] + (kx[o + 1] * r[o + 1] + kx[o] * r[o - 1]) +
                (ky[o + m] * r[o + m] + ky[o] * r[o - m])) /
               (1. + (kx[o] + kx[o + 1]) + (ky[o] + ky[o + m]));
        return std::fabs(u[o] - r[o]);
      });
      ++end.iterations;
      end.converged = end.error < s_.tolerance;
    }
    return end;
  }
  ending krylov(method way) {
    ending end;
    double *const u = u_.data(), *const p = p_.data(), *const r = r_.data(), *const w = w_.data();
    end.error = sum(n_, [=, of_u = product(u)](std::int64_t o) {
      w[o] = of_u(o);
      r[o] = u[o] - w[o];
      p[o] = r[o];
      return r[o] * p[o];
    });
    while (end.iterations < s_.most && !end.converged) {
      if (end.iterations == s_.first && way == method::chebyshev) return chebyshev(end);
      if (end.iterations == s_.first && way == method::ppcg) return polynomial(end);
      double const before = end.error, alpha = descend(before);
      end.error = rr_;
      turn(rr_ / before);
      alphas_.push_back(alpha), betas_.push_back(rr_ / before);
      ++end.iterations;
      end.converged = end.error < s_.tolerance;
    }
    return end;
  }
  double descend(double rr) {
    double *const u = u_.data(), *const p = p_.data(), *const r = r_.data(), *const w = w_.data();
    double const pw = sum(n_, [=, of_p = product(p)](std::int64_t o) {
      w[o] = of_p(o);
      return w[o] * p[o];
    });
    double const alpha = rr / pw;
    rr_ = sum(n_, [=](std::int64_t o) {
      u[o] += alpha * p[o];
      r[o] -= alpha * w[o];
      return r[o] * r[o];
    });
    return alpha;
  }
  void turn(double beta) {
    sweep(n_, [beta, p = p_.data(), r = r_.data()](std::int64_t o) { p[o] = beta * p[o] + r[o]; });
  }
  double norm() const {
    return sum(n_, [r = r_.data()](std::int64_t o) { return r[o] * r[o]; });
  }
  ending chebyshev(ending end) {
    heat::chebyshev_terms const t = heat::terms_of(alphas_, betas_, s_.most);
    double *const u = u_.data(), *const u0 = u0_.data(), *const p = p_.data(), *const r = r_.data(),
                  *const w = w_.data();
    auto const add = [=](std::int64_t o) { u[o] += p[o]; };
    sweep(n_, [=, theta = t.middle, of_u = product(u)](std::int64_t o) {
      w[o] = of_u(o);
      r[o] = u0[o] - w[o];
      p[o] = r[o] / theta;
    });
    sweep(n_, add);
    int const left = t.steps(s_.tolerance / end.error);
    for (int k = 0; ++end.iterations < s_.most && !end.converged; ++k) {
      sweep(n_, [=, alpha = t.alpha[std::size_t(k)], beta = t.beta[std::size_t(k)],
                 of_u = product(u)](std::int64_t o) {
        w[o] = of_u(o);
        r[o] = u0[o] - w[o];
        p[o] = alpha * p[o] + beta * r[o];
      });
      sweep(n_, add);
      if (k >= left && k % 10 == 0) end.error = norm();
      end.converged = end.error < s_.tolerance;
    }
    return end;
  }
  ending polynomial(ending end) {
    heat::chebyshev_terms const t = heat::terms_of(alphas_, betas_, s_.inner);
    double *const u = u_.data(), *const r = r_.data(), *const d = d_.data();
    while (end.iterations < s_.most && !end.converged) {
      double const before = end.error;
      descend(before);
      sweep(n_, [=, theta = t.middle](std::int64_t o) { d[o] = r[o] / theta; });
      for (int k = 0; k < s_.inner; ++k) {
        sweep(n_, [=, of_d = product(d)](std::int64_t o) {
          r[o] -= of_d(o);
          u[o] += d[o];
        });
        sweep(n_, [=, alpha = t.alpha[std::size_t(k)], beta = t.beta[std::size_t(k)]](
                      std::int64_t o) { d[o] = alpha * d[o] + beta * r[o]; });
      }
      end.error = norm();
      turn(end.error / before);
      ++end.iterations, end.inner += s_.inner;
      end.converged = end.error < s_.tolerance;
    }
    return end;
  }

  settings s_;
  std::int64_t n_, m_;
  double const *density_, *energy_;
  std::vector<double> kx_, ky_, u_, u0_, p_, r_, w_, d_, alphas_, betas_;
  double rr_ = 0;
};

/// the inner cells of a solution, and the iterations
std::vector<double> result(double const* u, std::int64_t n, ending const& end) {
  std::vector<double> all;
  for (std::int64_t j = 1; j <= n; ++j)
    all.insert(all.end(), u + j * (n + 2) + 1, u + j * (n + 2) + 1 + n);
  all.push_back(double(end.iterations)), all.push_back(double(end.inner));
  return all;
}

void add_method(char const* name, method m, settings s, int threads) {
  bench::add("tealeaf", name, std::to_string(s.cells) + (threads > 1 ? "^2, two threads" : "^2"),
             [=](bench::group& g) {
               g.threads(threads);
               using locus::CpuDevice;
               auto const own = std::make_shared<heat::conduction<CpuDevice>>(s);
               auto const density = std::make_shared<heat::field<CpuDevice>>(own->density()),
                          energy = std::make_shared<heat::field<CpuDevice>>(own->energy());
               auto const plain = std::make_shared<loops>(s, density->data(), energy->data());
               auto const mine = std::make_shared<ending>(), theirs = std::make_shared<ending>();
               auto const last = std::make_shared<double const*>();
               g.results(
                   1e-9, [=] { return result(own->solution().data(), s.cells, *mine); },
                   [=] { return result(*last, s.cells, *theirs); });
               g.locus([=] { *mine = own->solve(m); });
               g.rival("TeaLeaf's loops", 0.95, [=] {
                 *theirs = plain->step(m);
                 *last = plain->solution().data();
               });
             });
}

void add_methods(settings s, int threads) {
  add_method("conjugate gradients", method::conjugate_gradients, s, threads);
  add_method("Chebyshev's iteration", method::chebyshev, s, threads);
  add_method("conjugate gradients with a polynomial", method::ppcg, s, threads);
  s.most = 500;
  add_method("500 iterations of Jacobi's method", method::jacobi, s, threads);
}

bench::file const groups([] {
  settings s;
  for (std::int64_t const n : {128, 512}) {
    s.cells = n;
    add_methods(s, 1);
  }
  add_methods(s, 2);
});

}  // namespace
