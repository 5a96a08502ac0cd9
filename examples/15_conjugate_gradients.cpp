// SPDX-License-Identifier: Apache-2.0
// Poisson's equation in a square, -u_xx - u_yy = f with u = 0 at the edge, by five points: a sparse
// matrix of any size, solved by conjugate gradients and by Jacobi's method. Both stop when the
// residual is below a tolerance times the norm of the right side.
//     15_conjugate_gradients [points on a side] [tolerance]
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>
#include <vector>

#include <locus/locus.hpp>
#include <locus/ops/vectors.hpp>        // dot, norm
#include <locus/sparse/from_lists.hpp>  // from_triplets
#include <locus/sparse/matmul.hpp>      // matmul, diagonal

using namespace locus;

using Matrix = sparse::csr<double>;
using Vector = Tensor<double, Dextents<1>>;

/// The matrix of the n^2 inner points, whose distance is 1 / (n + 1); times that distance squared.
Matrix poisson(std::int64_t n) {
  std::vector<sparse::triplet<double>> list;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      std::int64_t const row = i * n + j;
      list.push_back({row, row, 4});
      if (i > 0) list.push_back({row, row - n, -1});
      if (i + 1 < n) list.push_back({row, row + n, -1});
      if (j > 0) list.push_back({row, row - 1, -1});
      if (j + 1 < n) list.push_back({row, row + 1, -1});
    }
  return sparse::from_triplets(dextents<2>(n * n, n * n), list);
}

/// How a method ended.
struct ending {
  bool converged;
  int steps;
  double residual;  // of the right side's norm
};
/// one line, drawn again and again on a terminal
void show(char const* method, int step, double residual) {
  if (!isatty(STDOUT_FILENO)) return;
  std::printf("\r%s: step %d, residual %.1e   ", method, step, residual);
  std::fflush(stdout);
}
void report(char const* method, ending const& end, double error) {
  std::printf("%s%s: %s after %d steps, residual %.1e, error %.1e\n",
              isatty(STDOUT_FILENO) ? "\r" : "", method, end.converged ? "converged" : "GAVE UP",
              end.steps, end.residual, error);
}

// [example: conjugate_gradients]
/// x with a x = b, from x = 0; a is symmetric and positive definite
ending conjugate_gradients(Matrix const& a, Vector const& b, Vector& x, double tolerance,
                           int most) {
  x = 0.;
  Vector r(b), p(b), q(b.extents());
  double const whole = fetch(norm(b));
  double rr = fetch(dot(r, r));
  Tensor<double, Extents<>> next;
  int step = 0;
  for (; step < most && std::sqrt(rr) > tolerance * whole; ++step) {
    q = matmul(a, p);
    double const alpha = rr / fetch(dot(p, q));
    let(r - alpha * q, [&](auto left) {  // x, r and its square: one kernel
      run(into(x, x + alpha * p), into(r, left), into(next, sum(square(left))));
    });
    double const before = rr;
    rr = fetch(next);
    p = r + (rr / before) * p;
    if (step % 16 == 0) show("conjugate gradients", step, std::sqrt(rr) / whole);
  }
  double const left = whole > 0 ? fetch(norm(b - matmul(a, x))) / whole : 0;
  return {left <= 2 * tolerance, step, left};
}
// [end]

/// x with a x = b, from x = 0; the diagonal of a outweighs its rows
ending jacobi(Matrix const& a, Vector const& b, Vector& x, double tolerance, int most) {
  x = 0.;
  Vector const inverse(1. / diagonal(a));
  Vector r(b);
  double const whole = fetch(norm(b));
  double left = whole > 0 ? 1 : 0;
  int step = 0;
  while (step < most && left > tolerance) {
    for (int k = 0; k < 50 && step < most; ++k, ++step) {
      r = b - matmul(a, x);
      x += inverse * r;
    }
    left = fetch(norm(b - matmul(a, x))) / whole;
    show("Jacobi", step, left);
  }
  return {left <= tolerance, step, left};
}

int main(int arguments, char** values) {
  std::int64_t const n = arguments > 1 ? std::atoll(values[1]) : 24;
  double const tolerance = arguments > 2 ? std::atof(values[2]) : 1e-8;
  if (n < 1 || n > 4096 || !(tolerance > 0 && tolerance < 1)) {
    std::fprintf(stderr, "usage: 15_conjugate_gradients [points, 1 to 4096] [tolerance below 1]\n");
    return 2;
  }
  Matrix const a = poisson(n);
  std::printf("%lld unknowns, %lld entries, tolerance %.0e\n", static_cast<long long>(a.extent(0)),
              static_cast<long long>(a.entries()), tolerance);
  // a random solution, so that every eigenvector has its part in the right side
  Vector const u(uniform<double>(dextents<1>(n * n), seed{1}, -1., 1.));
  Vector const b(matmul(a, u));
  Vector x(u.extents());
  auto const error = [&] { return fetch(max(abs(x - u))); };

  ending const one = conjugate_gradients(a, b, x, tolerance, 10000);
  report("conjugate gradients", one, error());
  bool const one_is_right = error() <= 1e4 * tolerance;
  ending const other = jacobi(a, b, x, tolerance, 200000);
  report("Jacobi", other, error());
  std::printf("%s\n", one.converged && other.converged && one_is_right && error() <= 1e4 * tolerance
                          ? "both solved it"
                          : "NOT SOLVED");
  return one.converged && other.converged ? 0 : 1;
  // prints:
  // 576 unknowns, 2784 entries, tolerance 1e-08
  // conjugate gradients: converged after <#> steps, residual <#>, error <#>
  // Jacobi: converged after <#> steps, residual <#>, error <#>
  // both solved it
}
