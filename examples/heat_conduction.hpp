// SPDX-License-Identifier: Apache-2.0
// Linear heat conduction by an implicit step, and four solvers for its equations: conjugate gradients (CG), Chebyshev
// iteration, Jacobi's method, and conjugate gradients with steps of Chebyshev's iteration between their own, which TeaLeaf
// calls polynomially preconditioned (PPCG). Only the type of a field says where a program runs: Where is a device, or
// pieces along the rows with a Halo<1>.
//
// The problem and its check are those of the mini-application TeaLeaf (UK-MAC and UoB-HPC): one step of dt solves
//   (1 + K(j, i+1/2) + K(j, i-1/2) + K(j+1/2, i) + K(j-1/2, i)) u(j, i)
//     - K(j, i+1/2) u(j, i+1) - K(j, i-1/2) u(j, i-1) - K(j+1/2, i) u(j+1, i) - K(j-1/2, i) u(j-1, i) = u0(j, i)
// where K is dt / dx^2 times the conductivity of a face, and 0 for a face of the edge.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include <locus/locus.hpp>

namespace heat {

using namespace locus;

enum class method { conjugate_gradients, chebyshev, jacobi, ppcg };

struct settings {
  std::int64_t cells = 512;  // along x and along y
  double step = 0.004;       // dt
  /// of the squared norm of the residual; of the sum of |u - u before| for Jacobi
  double tolerance = 1e-15;
  int most = 10000;  // iterations of one step
  int first = 30;    // iterations of CG, from which the eigenvalues are estimated
  int inner = 10;    // steps of Chebyshev's iteration in an iteration of PPCG
};
/// fails: std::invalid_argument, where a setting has no meaning
inline settings const& checked(settings const& s) {
  if (s.cells < 1 || s.cells > 1 << 20) throw std::invalid_argument("heat: cells is 1 to 2^20");
  if (!(s.step > 0 && s.tolerance > 0))
    throw std::invalid_argument("heat: step and tolerance are above 0");
  if (s.most < 1 || s.first < 1 || s.inner < 1)
    throw std::invalid_argument("heat: most, first and inner are 1 or more");
  return s;
}

/// The result of the iterations of one step.
struct ending {
  bool converged = false;
  int iterations = 0, inner = 0;
  double error = 0;
};

/// A square of cells x cells in one more cell on each side, which no flow enters.
template <class Where>
using field = Tensor<double, Dextents<2>, Where>;
using number = Tensor<double, Extents<>>;

/// The extreme eigenvalues of a symmetric matrix that has `diagonal`, and `beside` on both sides of the diagonal: by
/// bisection, which counts negative pivots.
inline std::pair<double, double> extreme_eigenvalues(std::vector<double> const& diagonal,
                                                     std::vector<double> const& beside) {
  std::size_t const n = diagonal.size();
  double low = diagonal[0], high = diagonal[0];  // Gershgorin's discs
  for (std::size_t i = 0; i < n; ++i) {
    double const r =
        (i > 0 ? std::fabs(beside[i - 1]) : 0) + (i + 1 < n ? std::fabs(beside[i]) : 0);
    low = std::min(low, diagonal[i] - r), high = std::max(high, diagonal[i] + r);
  }
  auto const below = [&](double x) {  // eigenvalues below x
    std::size_t count = 0;
    double pivot = 1;
    for (std::size_t i = 0; i < n; ++i) {
      pivot = diagonal[i] - x - (i > 0 ? beside[i - 1] * beside[i - 1] / pivot : 0);
      if (pivot == 0) pivot = -1e-300;
      count += pivot < 0;
    }
    return count;
  };
  auto const at = [&](std::size_t k) {  // the eigenvalue with k smaller ones
    double a = low, b = high;
    for (int round = 0; round < 200 && b - a > 1e-15 * std::fabs(b); ++round) {
      double const middle = 0.5 * (a + b);
      (below(middle) > k ? b : a) = middle;
    }
    return 0.5 * (a + b);
  };
  return {at(0), at(n - 1)};
}

/// The coefficients of Chebyshev's iteration for eigenvalues between smallest and largest.
struct chebyshev_terms {
  double middle = 0, contraction = 0;  // theta; the residual of a step over that of the step before
  std::vector<double> alpha, beta;     // p <- alpha p + beta r
  chebyshev_terms(double smallest, double largest, int count) {
    middle = 0.5 * (largest + smallest);
    double const half = 0.5 * (largest - smallest), sigma = middle / half;
    double rho = 1 / sigma;
    for (int k = 0; k < count; ++k) {
      double const next = 1 / (2 * sigma - rho);
      alpha.push_back(next * rho), beta.push_back(2 * next / half);
      rho = next;
    }
    double const root = std::sqrt(largest / smallest);
    contraction = (root - 1) / (root + 1);
  }
  /// steps until the squared norm of the residual is `part` of what it was
  int steps(double part) const {
    return int(std::lround(std::log(part) / (2 * std::log(contraction))));
  }
};

/// The terms for the matrix whose iterations of CG had these factors: Lanczos' matrix has its extreme eigenvalues.
inline chebyshev_terms terms_of(std::vector<double> const& alphas, std::vector<double> const& betas,
                                int count) {
  std::size_t const n = alphas.size();
  std::vector<double> diagonal(n), beside(n - 1);
  for (std::size_t k = 0; k < n; ++k) {
    diagonal[k] = 1 / alphas[k] + (k > 0 ? betas[k - 1] / alphas[k - 1] : 0);
    if (k + 1 < n) beside[k] = std::sqrt(betas[k]) / alphas[k];
  }
  auto const [low, high] = extreme_eigenvalues(diagonal, beside);
  return {0.95 * low, 1.05 * high, count};
}

template <class Where = CpuDevice>
class conduction {
 public:
  using field = heat::field<Where>;

  explicit conduction(settings const& s)
      : s_(checked(s)), density_(painted(s, &state::density)), energy_(painted(s, &state::energy)),
        kx_(side(s)), ky_(side(s)), u_(side(s)), u0_(side(s)), p_(side(s)), r_(side(s)),
        w_(side(s)), d_(side(s)), other_(side(s)) {
    for (field* f : {&kx_, &ky_, &u_, &u0_, &p_, &r_, &w_, &d_, &other_}) *f = 0.;
    conduct();
  }

  /// One step of time.
  ending step(method m) {
    ending const end = solve(m);
    energy_ = u_ / density_;
    return end;
  }
  /// u at the end of a step; the energy stays as it is
  ending solve(method m) {
    u_ = energy_ * density_;
    u0_ = u_;
    alphas_.clear(), betas_.clear();
    return m == method::jacobi ? jacobi() : krylov(m);
  }
  /// the sum of density u dx dy, which TeaLeaf compares with a table
  double temperature() const {
    double const h = 10. / double(s_.cells);
    return fetch(sum(interior<1>(u_) * interior<1>(density_))) * h * h;
  }
  field const& solution() const { return u_; }
  field const& density() const { return density_; }
  field const& energy() const { return energy_; }

 private:
  static Dextents<2> side(settings const& s) { return Dextents<2>(s.cells + 2, s.cells + 2); }

  /// TeaLeaf's five states: a background, and four rectangles of a light material, of which one is hot.
  struct state {
    double density, energy, x0, x1, y0, y1;
  };
  static constexpr state states[] = {{100, 0.0001, 0, 10, 0, 10},
                                     {0.1, 25.0, 0, 1, 1, 2},
                                     {0.1, 0.1, 1, 6, 1, 2},
                                     {0.1, 0.1, 5, 6, 1, 8},
                                     {0.1, 0.1, 5, 10, 7, 8}};
  static Tensor<double, Dextents<2>> painted(settings const& s, double state::* value) {
    Tensor<double, Dextents<2>> f(side(s));
    f = states[0].*value;
    std::int64_t const n = s.cells + 2;
    double const h = 10. / double(s.cells), a = h / 100;
    double* const to = f.data();
    auto const at = [h](std::int64_t vertex) { return h * double(vertex - 1); };
    for (state const& t : states)
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t i = 0; i < n; ++i)
          if (at(i + 1) >= t.x0 + a && at(i) < t.x1 - a && at(j + 1) >= t.y0 + a &&
              at(j) < t.y1 - a)
            to[j * n + i] = t.*value;
    return f;
  }

  /// The conductivity of faces between cells; faces of the edge keep 0.
  void conduct() {
    double const h = 10. / double(s_.cells), ratio = s_.step / (h * h);
    auto const between = [ratio](auto const& a, auto const& b) {
      return ratio * (a + b) / (2. * a * b);
    };
    let(density_,
        [&](auto d) { slice<1, 2, -1>(kx_) = between(slice<1, 1, -2>(d), slice<1, 2, -1>(d)); });
    let(density_,
        [&](auto d) { slice<0, 2, -1>(ky_) = between(slice<0, 1, -2>(d), slice<0, 2, -1>(d)); });
  }

  /// The roots are one kernel on each device, whatever the extents and the place: a constant of the plan.
  template <class... Roots>
  static void launch(Roots const&... roots) {
    auto const one = plan(roots...);
    static_assert(decltype(one)::launches() == 1);
    run(one);
  }

  /// f(x inside, the diagonal of A there, the sum of its other elements times x); A is symmetric
  template <class F>
  void around(field const& x, F const& f) const {
    let(x, [&](auto v) {
      let(kx_, [&](auto kx) {
        let(ky_, [&](auto ky) {
          auto const left = interior<1>(kx);
          auto const right = interior<1, 0, 1>(kx);
          auto const above = interior<1>(ky);
          auto const below = interior<1, 1, 0>(ky);
          f(interior<1>(v), 1. + (right + left) + (below + above),
            (right * interior<1, 0, 1>(v) + left * interior<1, 0, -1>(v)) +
                (below * interior<1, 1, 0>(v) + above * interior<1, -1, 0>(v)));
        });
      });
    });
  }

  /// u <- (u0 + its neighbours' part) / diagonal, until u does not change
  ending jacobi() {
    ending end;
    while (end.iterations < s_.most && !end.converged) {
      around(u_, [&](auto u, auto diagonal, auto others) {
        let((interior<1>(u0_) + others) / diagonal, [&](auto next) {
          launch(into(interior<1>(other_), next), into(total_, sum(abs(next - u))));
        });
      });
      swap(u_, other_);
      end.error = fetch(total_);
      ++end.iterations;
      end.converged = end.error < s_.tolerance;
    }
    return end;
  }

  /// Iterations of conjugate gradients; from the first ones the other two methods know the eigenvalues.
  ending krylov(method m) {
    ending end;
    around(u_, [&](auto u, auto diagonal, auto others) {
      let(interior<1>(u0_) - (diagonal * u - others), [&](auto r) {
        launch(into(interior<1>(r_), r), into(interior<1>(p_), r), into(total_, sum(square(r))));
      });
    });
    end.error = fetch(total_);
    while (end.iterations < s_.most && !end.converged) {
      if (end.iterations == s_.first && m == method::chebyshev) return chebyshev(end);
      if (end.iterations == s_.first && m == method::ppcg) return polynomial(end);
      double const before = end.error, alpha = descend(before);
      end.error = fetch(total_);
      turn(end.error / before);
      alphas_.push_back(alpha), betas_.push_back(end.error / before);
      ++end.iterations;
      end.converged = end.error < s_.tolerance;
    }
    return end;
  }
  /// u += alpha p, r -= alpha A p, total = r . r, where alpha = rr / (p . A p)     returns: alpha
  double descend(double rr) {
    around(p_, [&](auto p, auto diagonal, auto others) {
      let(diagonal * p - others,
          [&](auto w) { launch(into(interior<1>(w_), w), into(total_, sum(w * p))); });
    });
    double const alpha = rr / fetch(total_);
    let(interior<1>(r_) - alpha * interior<1>(w_), [&](auto r) {
      launch(into(interior<1>(u_), interior<1>(u_) + alpha * interior<1>(p_)),
             into(interior<1>(r_), r), into(total_, sum(square(r))));
    });
    return alpha;
  }
  void turn(double beta) { interior<1>(p_) = beta * interior<1>(p_) + interior<1>(r_); }

  /// p <- alpha p + beta (u0 - A u), u += p; every tenth step reads the norm of the residual, once the norm may be small
  ending chebyshev(ending end) {
    chebyshev_terms const t = terms_of(alphas_, betas_, s_.most);
    around(u_, [&](auto u, auto diagonal, auto others) {
      let((interior<1>(u0_) - (diagonal * u - others)) / t.middle,
          [&](auto p) { launch(into(interior<1>(p_), p), into(interior<1>(other_), u + p)); });
    });
    swap(u_, other_);
    int const left = t.steps(s_.tolerance / end.error);
    for (int k = 0; ++end.iterations < s_.most && !end.converged; ++k) {
      around(u_, [&](auto u, auto diagonal, auto others) {
        let(interior<1>(u0_) - (diagonal * u - others), [&](auto r) {
          let(t.alpha[k] * interior<1>(p_) + t.beta[k] * r, [&](auto p) {
            auto const to_p = into(interior<1>(p_), p);
            auto const to_u = into(interior<1>(other_), u + p);
            if (k >= left && k % 10 == 0) {
              launch(to_p, to_u, into(total_, sum(square(r))));
              end.error = fetch(total_);
            } else
              launch(to_p, to_u);
          });
        });
      });
      swap(u_, other_);
      end.converged = end.error < s_.tolerance;
    }
    return end;
  }

  /// each iteration of CG is followed by `inner` steps of Chebyshev's iteration on the residual
  ending polynomial(ending end) {
    chebyshev_terms const t = terms_of(alphas_, betas_, s_.inner);
    while (end.iterations < s_.most && !end.converged) {
      double const before = end.error;
      descend(before);
      interior<1>(d_) = interior<1>(r_) / t.middle;
      for (int k = 0; k < s_.inner; ++k) {
        around(d_, [&](auto d, auto diagonal, auto others) {
          let(interior<1>(r_) - (diagonal * d - others), [&](auto r) {
            launch(into(interior<1>(r_), r), into(interior<1>(u_), interior<1>(u_) + d),
                   into(interior<1>(other_), t.alpha[k] * d + t.beta[k] * r));
          });
        });
        swap(d_, other_);
      }
      end.error = fetch(sum(square(interior<1>(r_))));
      turn(end.error / before);
      ++end.iterations, end.inner += s_.inner;
      end.converged = end.error < s_.tolerance;
    }
    return end;
  }

  settings s_;
  field density_, energy_, kx_, ky_, u_, u0_, p_, r_, w_, d_, other_;
  number total_;
  std::vector<double> alphas_, betas_;
};

}  // namespace heat
