// SPDX-License-Identifier: Apache-2.0
// A product of matrices on a card, as the stand-ins for cuBLAS and cuBLASLt both make it: in the order of a stream, each
// element asked for as a card's kernel would.
#pragma once
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "../cudart/library.hpp"
#include "../machine/numbers.hpp"

#define BLAS_API extern "C" __attribute__((visibility("default")))

namespace products {

// cuBLAS' numbers
enum : int {
  success = 0,
  not_initialized = 1,
  invalid_value = 7,
  execution_failed = 13,
  not_supported = 15
};
enum : int {
  real_float = 0,
  real_double = 1,
  real_half = 2,
  complex_float = 4,
  complex_double = 5,
  real_bfloat16 = 14
};
enum : int { sums_of_floats = 68, sums_of_doubles = 70, sums_of_tf32 = 77 };

/// whether matrices of a type are added up so
constexpr bool is_known(int type, int sums) {
  return sums == sums_of_doubles  ? type == real_double || type == complex_double
         : sums == sums_of_tf32   ? type == real_float
         : sums == sums_of_floats ? type == real_float || type == real_half ||
                                        type == real_bfloat16 || type == complex_float
                                  : false;
}
constexpr bool is_complex(int type) { return type == complex_float || type == complex_double; }

struct matrix {
  char const* at;
  int type;
  long long step;  // of columns
  bool turned;
  std::size_t size() const {
    return type == complex_double                         ? 16
           : type == real_double || type == complex_float ? 8
           : type == real_float                           ? 4
                                                          : 2;
  }
};
struct product {
  matrix a, b, c;
  long long a_step, b_step, c_step;  // of a batch
  int m, n, k, batch, sums;
  double alpha, beta;
  int card;
  bool narrow_sums;
  char const* row = nullptr;  // m numbers that cuBLASLt adds to each column
  bool relu = false;          // then max(x, 0), as fmax has it: NaN becomes 0
  /// that it reads and writes, what all products of a batch share once
  std::size_t bytes() const {
    auto const times = [&](long long step) { return std::size_t(step != 0 ? batch : 1); };
    auto const of = [](int rows, int columns) { return std::size_t(rows) * std::size_t(columns); };
    return (of(m, k) * times(a_step) + of(k, n) * times(b_step) +
            of(m, n) * times(c_step) * (beta != 0 ? 2 : 1) + (row ? std::size_t(m) : 0)) *
           a.size();
  }
  std::size_t multiplications() const {
    return std::size_t(m) * std::size_t(n) * std::size_t(k) * std::size_t(batch);
  }
};

template <class S>
S value(char const* p, int type, bool tf32) {
  auto const read = [p]<class T>(T v) {
    return std::memcpy(static_cast<void*>(&v), p, sizeof v), v;
  };
  switch (type) {
  case real_double: return static_cast<S>(read(double()));
  case real_half: return static_cast<S>(float(read(ptx::half())));
  case real_bfloat16: return static_cast<S>(float(read(ptx::brain())));
  default: {
    float const v = read(float());
    if (!tf32) return static_cast<S>(v);
    std::uint32_t const bits = std::bit_cast<std::uint32_t>(v);  // 10 bits of fraction stay
    return static_cast<S>(std::isfinite(v) ? std::bit_cast<float>((bits + 0x1000) & ~0x1fffu) : v);
  }
  }
}
inline double rounded(double v, int type) {
  return type == real_half       ? double(float(ptx::half(v)))
         : type == real_bfloat16 ? double(float(ptx::brain(v)))
         : type == real_float    ? double(float(v))
                                 : v;
}
inline void put(char* p, int type, double v) {
  auto const write = [p](auto x) { std::memcpy(p, &x, sizeof x); };
  switch (type) {
  case real_double: return write(v);
  case real_half: return write(ptx::half(v));
  case real_bfloat16: return write(ptx::brain(v));
  default: return write(float(v));
  }
}
/// op(x) as rows of S, each element asked for as a card's kernel would
template <class S>
std::vector<S> rows_of(matrix const& x, char const* at, int rows, int columns, product const& p) {
  std::vector<S> r(std::size_t(rows) * std::size_t(columns));
  int const high = x.turned ? columns : rows, wide = x.turned ? rows : columns;
  for (int j = 0; j < wide && high > 0; ++j) {
    auto const* const column =
        static_cast<char const*>(ptx_reach(at + x.step * j * (long long)x.size(),
                                           std::size_t(high) * x.size(), p.card, true, "cuBLAS"));
    for (int i = 0; i < high; ++i)
      r[x.turned ? std::size_t(j) * std::size_t(columns) + std::size_t(i)
                 : std::size_t(i) * std::size_t(columns) + std::size_t(j)] =
          value<S>(column + std::size_t(i) * x.size(), x.type, p.sums == sums_of_tf32);
  }
  return r;
}
template <class S>
void multiply(product const& p, long long number) {
  std::size_t const n = std::size_t(p.n), k = std::size_t(p.k);
  auto const a = rows_of<S>(p.a, p.a.at + number * p.a_step * (long long)p.a.size(), p.m, p.k, p);
  auto const b = rows_of<S>(p.b, p.b.at + number * p.b_step * (long long)p.b.size(), p.k, p.n, p);
  std::vector<S> c(std::size_t(p.m) * n);
  for (std::size_t i = 0; i < std::size_t(p.m); ++i)
    for (std::size_t l = 0; l < k; ++l) {
      S const x = a[i * k + l];
      for (std::size_t j = 0; j < n; ++j) c[i * n + j] += x * b[l * n + j];
      if (p.narrow_sums && l % 64 == 63)  // parts of a sum meet as halves, unless that is forbidden
        for (std::size_t j = 0; j < n; ++j)
          c[i * n + j] = S(rounded(double(c[i * n + j]), p.c.type));
    }
  auto const* const row =
      p.row ? static_cast<char const*>(
                  ptx_reach(p.row, std::size_t(p.m) * p.c.size(), p.card, true, "cuBLASLt"))
            : nullptr;
  char const* const to = p.c.at + number * p.c_step * (long long)p.c.size();
  for (std::size_t j = 0; j < n; ++j) {
    char const* const column = to + p.c.step * (long long)(j * p.c.size());
    std::size_t const bytes = std::size_t(p.m) * p.c.size();
    auto* const out = static_cast<char*>(ptx_reach(column, bytes, p.card, p.beta != 0, "cuBLAS"));
    for (std::size_t i = 0; i < std::size_t(p.m); ++i) {
      char* const e = out + i * p.c.size();
      double const before = p.beta != 0 ? p.beta * value<double>(e, p.c.type, false) : 0;
      double sum = p.alpha * double(c[i * n + j]) + before;
      if (row) sum += value<double>(row + i * p.c.size(), p.c.type, false);
      put(e, p.c.type, p.relu ? std::fmax(sum, 0.) : sum);
    }
    ptx_wrote(column, bytes);
  }
}
/// the same for complex numbers, whose factors alpha and beta are real
template <class S>
void multiply_complex(product const& p, long long number) {
  using complex = std::complex<S>;
  auto const read = [&](matrix const& x, long long step, int row, int column) {
    long long const at = number * step + (x.turned ? row * x.step + column : column * x.step + row);
    complex z;
    std::memcpy(&z, ptx_reach(x.at + at * (long long)sizeof z, sizeof z, p.card, true, "cuBLAS"),
                sizeof z);
    return z;
  };
  for (int i = 0; i < p.m; ++i)
    for (int j = 0; j < p.n; ++j) {
      complex sum = 0;
      for (int l = 0; l < p.k; ++l) sum += read(p.a, p.a_step, i, l) * read(p.b, p.b_step, l, j);
      sum *= S(p.alpha);
      if (p.beta != 0) sum += S(p.beta) * read(p.c, p.c_step, i, j);
      char const* const to =
          p.c.at + (number * p.c_step + j * p.c.step + i) * (long long)sizeof sum;
      std::memcpy(ptx_reach(to, sizeof sum, p.card, false, "cuBLAS"), &sum, sizeof sum);
      ptx_wrote(to, sizeof sum);
    }
}
inline void run(void* data) {
  std::unique_ptr<product> const p(static_cast<product*>(data));
  for (long long each = 0; each < p->batch; ++each)
    if (is_complex(p->c.type))
      p->sums == sums_of_doubles ? multiply_complex<double>(*p, each)
                                 : multiply_complex<float>(*p, each);
    else
      p->sums == sums_of_doubles ? multiply<double>(*p, each) : multiply<float>(*p, each);
}

}  // namespace products
