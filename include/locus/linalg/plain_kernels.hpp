// SPDX-License-Identifier: Apache-2.0
// Factorizations in plain loops, for machines without a LAPACK. Matrices lie rows first; all
// computation is in double.
#pragma once
#include <cstdint>  // int64_t

#include <locus/core/macros.hpp>  // LOCUS_MODE

namespace locus::linalg::plain {
inline namespace LOCUS_MODE {

/// means: the lower half of a becomes L with a = L Lt; the upper half is not touched
/// returns: 0, or the number of rows and columns of the first leading part that is not positive
///         definite
/// after: Golub and Van Loan, Matrix Computations, 4.2
inline int cholesky(std::int64_t n, double* a) {
  for (std::int64_t i = 0; i < n; ++i) {
    double* const row = a + i * n;
    for (std::int64_t j = 0; j <= i; ++j) {
      double const* const other = a + j * n;
      double sum = row[j];
      for (std::int64_t k = 0; k < j; ++k) sum -= row[k] * other[k];
      if (j < i)
        row[j] = sum / other[j];
      else if (sum > 0 && sum <= __DBL_MAX__)
        row[i] = __builtin_sqrt(sum);
      else
        return static_cast<int>(i + 1);
    }
  }
  return 0;
}

/// means: b becomes x with a x = b; a is overwritten     shape: a (n, n), b (n, m)
/// returns: 0, or the number of the first column without a pivot: a is singular, and b has no
///         meaning
/// after: elimination with partial pivots; Golub and Van Loan, 3.4
inline int solve(std::int64_t n, std::int64_t m, double* a, double* b) {
  auto const swap_rows = [](double* x, double* y, std::int64_t count) {
    for (std::int64_t j = 0; j < count; ++j) {
      double const was = x[j];
      x[j] = y[j], y[j] = was;
    }
  };
  for (std::int64_t k = 0; k < n; ++k) {
    std::int64_t best = k;
    for (std::int64_t i = k + 1; i < n; ++i)
      if (__builtin_fabs(a[i * n + k]) > __builtin_fabs(a[best * n + k])) best = i;
    if (a[best * n + k] == 0) return static_cast<int>(k + 1);
    if (best != k) swap_rows(a + k * n, a + best * n, n), swap_rows(b + k * m, b + best * m, m);
    for (std::int64_t i = k + 1; i < n; ++i) {
      double const f = a[i * n + k] / a[k * n + k];
      if (f == 0) continue;
      for (std::int64_t j = k + 1; j < n; ++j) a[i * n + j] -= f * a[k * n + j];
      for (std::int64_t j = 0; j < m; ++j) b[i * m + j] -= f * b[k * m + j];
    }
  }
  for (std::int64_t i = n; i-- > 0;) {
    for (std::int64_t k = i + 1; k < n; ++k)
      for (std::int64_t j = 0; j < m; ++j) b[i * m + j] -= a[i * n + k] * b[k * m + j];
    for (std::int64_t j = 0; j < m; ++j) b[i * m + j] /= a[i * n + i];
  }
  return 0;
}

inline double dot(std::int64_t n, double const* x, double const* y) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += x[i] * y[i];
  return sum;
}
/// means: x, y = c x - s y, s x + c y
inline void rotate(std::int64_t n, double* x, double* y, double c, double s) {
  for (std::int64_t i = 0; i < n; ++i) {
    double const was = x[i];
    x[i] = c * was - s * y[i], y[i] = s * was + c * y[i];
  }
}
/// means: the cosine and sine of the rotation that takes `off` away between diagonals p and q
struct rotation {
  double c = 1, s = 0;
  rotation(double p, double q, double off) {
    double const theta = (q - p) / (2 * off),
                 t = (theta >= 0 ? 1 : -1) /
                     (__builtin_fabs(theta) + __builtin_sqrt(theta * theta + 1));
    c = 1 / __builtin_sqrt(t * t + 1), s = t * c;
  }
};

/// means: a (m, n) becomes R in its upper half, and q (m, k) has k = min(m, n) orthonormal columns,
///        with a = q R
/// after: reflections of Householder; Golub and Van Loan, 5.2
inline void qr(std::int64_t m, std::int64_t n, double* a, double* q) {
  std::int64_t const k = m < n ? m : n;
  // the rows from j of columns first ... end of x lose tau v (vt x); v: column j of a, 1 at its head
  auto const reflect = [=](std::int64_t j, double tau, double* x, std::int64_t first,
                           std::int64_t end) {
    for (std::int64_t c = first; c < end; ++c) {
      double sum = x[j * end + c];
      for (std::int64_t i = j + 1; i < m; ++i) sum += a[i * n + j] * x[i * end + c];
      x[j * end + c] -= tau * sum;
      for (std::int64_t i = j + 1; i < m; ++i) x[i * end + c] -= tau * sum * a[i * n + j];
    }
  };
  auto const tau_of = [=](std::int64_t j) {
    double sum = 1;
    for (std::int64_t i = j + 1; i < m; ++i) sum += a[i * n + j] * a[i * n + j];
    return 2 / sum;
  };
  for (std::int64_t j = 0; j < k; ++j) {
    double most = 0, sum = 0;
    for (std::int64_t i = j; i < m; ++i)
      most = __builtin_fabs(a[i * n + j]) > most ? __builtin_fabs(a[i * n + j]) : most;
    if (most == 0) continue;
    for (std::int64_t i = j; i < m; ++i) sum += (a[i * n + j] / most) * (a[i * n + j] / most);
    double const head = a[j * n + j], length = most * __builtin_sqrt(sum),
                 end = head > 0 ? -length : length;
    for (std::int64_t i = j + 1; i < m; ++i) a[i * n + j] /= head - end;
    reflect(j, tau_of(j), a, j + 1, n);
    a[j * n + j] = end;
  }
  for (std::int64_t i = 0; i < m * k; ++i) q[i] = i / k == i % k ? 1 : 0;
  for (std::int64_t j = k; j-- > 0;) {
    bool const is_zero = a[j * n + j] == 0;  // its column had no length: no reflection
    if (!is_zero) reflect(j, tau_of(j), q, 0, k);
  }
}

/// means: the elements become at most 2, by a power of 2, so that no square is too large or too small
/// returns: that power
inline double scale_down(std::int64_t n, double* x) {
  double most = 0;
  for (std::int64_t i = 0; i < n; ++i)
    most = __builtin_fabs(x[i]) > most ? __builtin_fabs(x[i]) : most;
  if (most == 0) return 1;
  double const scale = __builtin_ldexp(1, __builtin_ilogb(most));
  for (std::int64_t i = 0; i < n; ++i) x[i] /= scale;
  return scale;
}

/// means: symmetric a becomes diagonal, and row i of v its i-th eigenvector; v is the identity first
/// after: rotations of Jacobi; Golub and Van Loan, 8.5
inline void eigh(std::int64_t n, double* a, double* v) {
  double const scale = scale_down(n * n, a),
               least = 1e-16 * __builtin_sqrt(dot(n * n, a, a));  // less is noise of rounding
  bool turned = true;
  for (int sweep = 0; sweep < 60 && turned; ++sweep) {
    turned = false;
    for (std::int64_t p = 0; p < n; ++p)
      for (std::int64_t q = p + 1; q < n; ++q) {
        if (__builtin_fabs(a[p * n + q]) <= least) continue;
        turned = true;
        rotation const r(a[p * n + p], a[q * n + q], a[p * n + q]);
        rotate(n, a + p * n, a + q * n, r.c, r.s);
        for (std::int64_t i = 0; i < n; ++i) {
          double* const row = a + i * n;
          double const was = row[p];
          row[p] = r.c * was - r.s * row[q], row[q] = r.s * was + r.c * row[q];
        }
        rotate(n, v + p * n, v + q * n, r.c, r.s);
      }
  }
  for (std::int64_t i = 0; i < n; ++i) a[i * n + i] *= scale;
}

/// means: the rows of w (k, n), k <= n, become u[i] s[i] with orthonormal u[i], and then u[i]; v
///        (k, k), the identity first, has taken the same rotations: w before = vt diag(s) u
/// after: rotations from one side, of Hestenes; Golub and Van Loan, 8.6
inline void svd(std::int64_t k, std::int64_t n, double* w, double* s, double* v) {
  double const scale = scale_down(k * n, w), norm = __builtin_sqrt(dot(k * n, w, w)),
               least = 1e-16 * norm;
  bool turned = true;
  for (int sweep = 0; sweep < 60 && turned; ++sweep) {
    turned = false;
    for (std::int64_t p = 0; p < k; ++p)
      for (std::int64_t q = p + 1; q < k; ++q) {
        double* const x = w + p * n;
        double* const y = w + q * n;
        double const xx = dot(n, x, x), yy = dot(n, y, y), xy = dot(n, x, y),
                     lengths = __builtin_sqrt(xx) * __builtin_sqrt(yy);
        bool const is_noise = xx <= least * least || yy <= least * least;
        if (__builtin_fabs(xy) <= 1e-15 * lengths || is_noise) continue;
        turned = true;
        rotation const r(xx, yy, xy);
        rotate(n, x, y, r.c, r.s);
        rotate(k, v + p * k, v + q * k, r.c, r.s);
      }
  }
  double most = 0;
  for (std::int64_t i = 0; i < k; ++i) {
    s[i] = __builtin_sqrt(dot(n, w + i * n, w + i * n));
    most = s[i] > most ? s[i] : most;
  }
  auto const straighten = [=](double* x) {  // x loses its parts along all rows that have a length
    for (int twice = 0; twice < 2; ++twice)
      for (std::int64_t j = 0; j < k; ++j) {
        if (w + j * n == x || s[j] < 0) continue;
        double const part = dot(n, x, w + j * n);
        for (std::int64_t c = 0; c < n; ++c) x[c] -= part * w[j * n + c];
      }
  };
  for (std::int64_t i = 0; i < k; ++i)
    if (s[i] > most * 1e-15)
      for (std::int64_t c = 0; c < n; ++c) w[i * n + c] /= s[i];
    else
      s[i] = -1;  // the row's direction is noise: any will do that is orthogonal to the others
  for (std::int64_t i = 0; i < k; ++i) {
    if (s[i] >= 0) continue;
    double* const x = w + i * n;
    for (std::int64_t axis = 0; axis < n; ++axis) {
      for (std::int64_t c = 0; c < n; ++c) x[c] = c == axis ? 1 : 0;
      straighten(x);
      double const length = __builtin_sqrt(dot(n, x, x));
      if (length * length * 2 * static_cast<double>(n) < 1) continue;
      for (std::int64_t c = 0; c < n; ++c) x[c] /= length;
      break;
    }
    s[i] = 0;
  }
  for (std::int64_t i = 0; i < k; ++i) s[i] *= scale;
}

}  // namespace LOCUS_MODE
}  // namespace locus::linalg::plain
