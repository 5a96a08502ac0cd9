// SPDX-License-Identifier: Apache-2.0
// Fourier transforms on a GPU: by cuFFT, or with one launch for each factor of the length, one thread
// for each number of its result.
#pragma once
#include <cstdint>      // int64_t, uintptr_t
#include <type_traits>  // is_same_v

#include <locus/backend/cuda/real_cufft.hpp>  // cufft_table, cufft_lines
#include <locus/core/macros.hpp>              // LOCUS_HOST_DEVICE, LOCUS_MATH, LOCUS_MODE
#include <locus/engine/gpu/card_context.hpp>  // card_context
#include <locus/fft/factors.hpp>              // next_factor, largest_factor
#include <locus/fft/lines.hpp>                // transform, line_grid
#include <locus/runtime/variables.hpp>        // own_or_fftw
#include <locus/shape/complex.hpp>            // complex

namespace locus::fourier::cards {
inline namespace LOCUS_MODE {

/// Root i of the n roots of unity, with the sign of a transform or of its inverse.
template <class T>
struct root_on_card {
  std::int64_t n;
  double sign;
  complex<T>* roots;
  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    // i / n = quarter / 4 + rest / (4 n) turns, |rest| <= n / 2, as on the host
    std::int64_t quarter = 4 * i / n, rest = 4 * i - quarter * n;
    if (2 * rest > n) rest -= n, ++quarter;
    double const angle =
        1.57079632679489661923 * static_cast<double>(rest) / static_cast<double>(n);
    double const c = LOCUS_MATH(cos)(angle), s = LOCUS_MATH(sin)(angle);
    auto const turn = static_cast<int>(quarter & 3);
    double const re = turn == 0   ? c
                      : turn == 1 ? -s
                      : turn == 2 ? -c
                                  : s,
                 im = turn == 0   ? s
                      : turn == 1 ? c
                      : turn == 2 ? -s
                                  : -c;
    roots[i] = {static_cast<T>(re), static_cast<T>(sign * im)};
  }
};

/// One pass over lines (outer, n, inner): number q + s (factor p + k) is the sum over j of the
/// numbers q + s (p + m j), each times a root. Halves: the operand has the first n / 2 + 1 numbers
/// of lines whose transforms are real. A real result keeps the real parts. Sum: the type of sums.
template <class Sum, bool Halves, class From, class T, class To>
struct pass_on_card {
  std::int64_t n, inner, in_n, out_n, factor, m, s;
  T scale;
  From const* from;
  complex<T> const* roots;
  To* to;

  LOCUS_HOST_DEVICE complex<T> number(std::int64_t line, std::int64_t at, std::int64_t c) const {
    bool const turned = Halves && at >= in_n;
    From const x = from[(line * in_n + (turned ? n - at : at)) * inner + c];
    if constexpr (!is_complex_v<From>)
      return complex<T>(x);
    else if constexpr (Halves)
      return at == 0 || 2 * at == n ? complex<T>(x.re) : complex<T>(x.re, turned ? -x.im : x.im);
    else
      return x;
  }
  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    std::int64_t const c = i % inner, at = i / inner % out_n, line = i / inner / out_n;
    std::int64_t const q = at % s, k = at / s % factor, p = at / s / factor,
                       step = k * (n / factor);
    std::int64_t power = p * k * s;
    complex<Sum> sum(Sum(0));
    for (std::int64_t j = 0; j < factor; ++j) {
      complex<T> const x = number(line, q + s * (p + m * j), c), w = roots[power];
      sum += complex<Sum>(x) * complex<Sum>(w);
      power += step;
      if (power >= n) power -= n;
    }
    T const re = static_cast<T>(sum.re) * scale, im = static_cast<T>(sum.im) * scale;
    if constexpr (is_complex_v<To>)
      to[i] = To(re, im);
    else
      to[i] = re;
  }
};

/// means: as fourier::transform_lines, but that an inverse is not divided by n; a real inverse
///        overwrites its operand
/// shape: grid.inner is 1, or grid.outer is small: a call for each of them
template <transform Kind, class From, class To>
struct lines_of_library {
  static constexpr char const* name = "cufftExec";
  static constexpr std::int64_t most_calls = 64;
  using library = cuda_side::cufft_table;
  line_grid grid;
  From* from;
  To* to;

  static constexpr bool takes_real = Kind == transform::real,
                        gives_real = Kind == transform::real_inverse,
                        inverse = Kind == transform::inverse || gives_real;
  using number = typename parts_of<From>::type;

  /// means: cuFFT is to be used, was found, has few calls to make, and takes the address of each call
  static bool takes(line_grid const& grid, From const* from, To const* to) {
    return !runtime::gpu_api->is_recorder && runtime::own_or_fftw() != 0 &&
           (grid.inner == 1 || grid.outer <= most_calls) && is_aligned(grid, from, to) &&
           cuda_side::finds_library<lines_of_library>();
  }
  /// means: each call begins at a multiple of a complex number, also with reals
  /// after: NVIDIA's cuFFT manual, cufftExecR2C
  static bool is_aligned(line_grid const& grid, From const* from, To const* to) {
    auto const fits = [](void const* at) {
      return reinterpret_cast<std::uintptr_t>(at) % (2 * sizeof(number)) == 0;
    };
    bool const calls_fit = !(takes_real || gives_real) || grid.inner == 1 || grid.outer == 1 ||
                           grid.inner * grid.n % 2 == 0;
    return fits(from) && fits(to) && calls_fit;
  }
  std::int64_t in_n() const { return gives_real ? grid.n / 2 + 1 : grid.n; }
  std::int64_t out_n() const { return takes_real ? grid.n / 2 + 1 : grid.n; }
  cuda_side::algorithm_size size() const {
    return {grid.n, grid.inner == 1 ? grid.outer : -grid.inner};
  }
  void host() const { transform_lines<Kind>(from, to, grid); }  // unused: takes()
  int card(void* memory, std::size_t* bytes, void* stream) const {
    constexpr auto kinds = std::is_same_v<number, float> ? library::of_floats : library::of_doubles;
    cuda_side::cufft_lines what;
    what.kind = takes_real ? kinds.real : gives_real ? kinds.real_inverse : kinds.complex;
    what.sign = inverse ? library::inverse : library::forward;
    what.n = grid.n;
    bool const in_rows = grid.inner == 1;
    what.lines = in_rows ? grid.outer : grid.inner;
    what.stride = grid.inner;
    what.in_step = in_rows ? in_n() : 1;
    what.out_step = in_rows ? out_n() : 1;
    if (!memory) return cuda_side::workspace_of_cufft(what, bytes);
    for (std::int64_t o = 0; o < (in_rows ? 1 : grid.outer); ++o)
      if (int const code = cuda_side::run_cufft(what, from + o * grid.inner * in_n(),
                                                to + o * grid.inner * out_n(), memory, stream);
          code != 0)
        return code;
    return 0;
  }
};

/// Number i of the half of lines whose transforms are real, divided by n.
template <class T>
struct half_of_n {
  std::int64_t n, inner;
  complex<T> const* from;
  complex<T>* to;
  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    std::int64_t const at = i / inner % (n / 2 + 1);
    T const by = T(1) / static_cast<T>(n);
    bool const has_no_partner = at == 0 || 2 * at == n;
    to[i] = complex<T>(from[i].re * by, has_no_partner ? T(0) : from[i].im * by);
  }
};
template <class T>
struct scaled_number {
  T by;
  complex<T>* x;
  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    x[i] = complex<T>(x[i].re * by, x[i].im * by);
  }
};

/// means: as fourier::transform_lines, by cuFFT
template <transform Kind, class From, class To>
void transform_by_library(card_context& here, From const* from, To* to, line_grid const& grid) {
  using lines = lines_of_library<Kind, From, To>;
  using T = typename lines::number;
  std::int64_t const all = grid.lines() * grid.n;
  From* in = const_cast<From*>(from);  // that cuFFT keeps as it is
  if constexpr (Kind == transform::real_inverse) {
    std::int64_t const half = grid.lines() * (grid.n / 2 + 1);
    in = here.take<From>(half);
    here.each(half, half_of_n<T>{grid.n, grid.inner, from, in});
  }
  here.run(lines{grid, in, to});
  if constexpr (Kind == transform::inverse)
    here.each(all, scaled_number<T>{T(1) / static_cast<T>(grid.n), to});
}

/// means: as fourier::transform_lines
/// cost:  by cuFFT, where there is one (LOCUS_FFT=own: not asked) that takes the addresses: the passes of its plan, and
///        one more for an inverse. Otherwise for each factor f of n one launch with f multiplications for each number; prime factors
///        beyond 31 are one factor. Workspace: n roots, and one or two copies of the lines
template <transform Kind, class From, class To>
void transform_lines(card_context& here, From const* from, To* to, line_grid const& grid) {
  constexpr bool takes_real = Kind == transform::real, gives_real = Kind == transform::real_inverse,
                 inverse = Kind == transform::inverse || gives_real;
  using T = typename parts_of<From>::type;
  using number = complex<T>;
  std::int64_t const n = grid.n, inner = grid.inner, half = n / 2 + 1, all = grid.lines() * n;
  if (all == 0) return;
  if (lines_of_library<Kind, From, To>::takes(grid, from, to))
    return transform_by_library<Kind>(here, from, to, grid);
  int passes = 0;
  for (std::int64_t left = n; left > 1 || passes == 0; ++passes)
    left /= left > 1 ? next_factor(left) : 1;
  number* const roots = here.take<number>(n);
  number* turns[2] = {here.take<number>(passes > 1 ? all : 0),
                      here.take<number>(passes > 2 ? all : 0)};
  here.each(n, root_on_card<T>{n, inverse ? 1. : -1., roots});
  std::int64_t left = n, s = 1;
  // one pass from operand or workspace to workspace or result
  auto const pass = [&]<bool Halves>(auto const* x, std::int64_t in_n, auto* y, std::int64_t out_n,
                                     T scale) {
    using X = std::remove_cvref_t<decltype(*x)>;
    using Y = std::remove_cvref_t<decltype(*y)>;
    std::int64_t const f = left > 1 ? next_factor(left) : 1, results = grid.lines() * out_n;
    if (f > largest_factor)
      here.each(results, pass_on_card<double, Halves, X, T, Y>{n, inner, in_n, out_n, f, left / f,
                                                               s, scale, x, roots, y});
    else
      here.each(results, pass_on_card<T, Halves, X, T, Y>{n, inner, in_n, out_n, f, left / f, s,
                                                          scale, x, roots, y});
    left /= f, s *= f;
  };
  constexpr bool halves = gives_real;
  std::int64_t const in_n = gives_real ? half : n, out_n = takes_real ? half : n;
  T const scale = inverse ? T(1) / static_cast<T>(n) : T(1);
  if (passes == 1) return pass.template operator()<halves>(from, in_n, to, out_n, scale);
  pass.template operator()<halves>(from, in_n, turns[0], n, T(1));
  for (int k = 2; k < passes; ++k) {
    number* const other = turns[0];
    pass.template operator()<false>(static_cast<number const*>(turns[0]), n, turns[1], n, T(1));
    turns[0] = turns[1], turns[1] = other;
  }
  pass.template operator()<false>(static_cast<number const*>(turns[0]), n, to, out_n, scale);
}

/// means: as host::transform_tiles
template <transform Kind, class R, class T>
void transform_tiles(card_context& here, tile<R> r, tile<T const> x, int axis, std::int64_t n) {
  transform_lines<Kind>(here, x.data, r.data, grid_around(x, axis, n));
}

}  // namespace LOCUS_MODE
}  // namespace locus::fourier::cards
