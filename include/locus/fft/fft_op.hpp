// SPDX-License-Identifier: Apache-2.0
// Fourier transforms as steps of a plan: which operands fit, the rule over replicas, the kernels of
// the host.
#pragma once
#include <type_traits>  // is_same

#include <locus/core/macros.hpp>     // LOCUS_MODE
#include <locus/fft/fftw.hpp>        // fftw_transform_lines
#include <locus/fft/lines.hpp>       // transform_lines, line_grid
#include <locus/ops/call.hpp>        // call_rule, call_cut, tile
#include <locus/tensor/complex.hpp>  // complex

namespace locus::fourier {

constexpr std::string_view name_of(transform kind) {
  return kind == transform::forward   ? "fft"
         : kind == transform::inverse ? "ifft"
         : kind == transform::real    ? "rfft"
                                      : "irfft";
}
constexpr std::string_view tensorflow_name_of(transform kind) {
  return kind == transform::forward   ? "FFT"
         : kind == transform::inverse ? "IFFT"
         : kind == transform::real    ? "RFFT"
                                      : "IRFFT";
}

template <class T>
inline constexpr bool is_real_number = std::is_same_v<T, float> || std::is_same_v<T, double>;

/// means: the lines of n numbers along an axis of x, or of the other side of a transform
template <class T>
constexpr line_grid grid_around(tile<T> const& x, int axis, std::int64_t n) {
  line_grid grid{1, n, 1};
  for (int a = 0; a < x.rank; ++a)
    if (a != axis) (a < axis ? grid.outer : grid.inner) *= x.extent[a];
  return grid;
}

}  // namespace locus::fourier

#if LOCUS_CUDA_KERNELS
#include <locus/fft/fft_card.hpp>  // cards::transform_tiles
#endif

namespace locus::fourier {

namespace host {
inline namespace LOCUS_MODE {

/// means: r[o, ., c] = the transform of x[o, ., c] along an axis, of n real or complex numbers
/// cost:  lines along the last axis by FFTW, where there is one; all others by kernels of locus,
///        which read columns in blocks
template <transform Kind, class R, class T>
void transform_tiles(tile<R> r, tile<T const> x, int axis, std::int64_t n) {
  line_grid const grid = grid_around(x, axis, n);
  if (grid.inner == 1 && fftw_transform_lines<Kind>(x.data, r.data, grid)) return;
  transform_lines<Kind>(x.data, r.data, grid);
}

}  // namespace LOCUS_MODE
}  // namespace host

/// What a transform along Axis is over replicas: its lines are computed where they are.
template <transform Kind, int Axis>
struct transform_rule {
  static constexpr call_rule rule{.name = name_of(Kind),
                                  .operands = {call_role::rows},
                                  .results = {call_role::rows},
                                  .tensorflow = tensorflow_name_of(Kind)};
  static constexpr call_cut cut(call_axes const& found) {
    call_cut c{.fits = found[0] != Axis};
    c.operands[0] = c.axis = found[0];
    return c;
  }
  static constexpr std::int64_t operations(shape const&, shape const& x) {
    std::int64_t each = 5;
    for (std::int64_t n = x.extent[Axis]; n > 2; n /= 2) each += 5;
    return each * x.size();
  }
};

/// means: r[a..., k, b...] = the sum over j of x[a..., j, b...] exp(-2 pi i j k / n), a: Axis axes;
///        for the inverse with exp(+...), divided by n; of real numbers the first n / 2 + 1 numbers k
/// device: as x, which is whole, or in pieces along another axis
template <transform Kind, int Axis>
struct transform_op : transform_rule<Kind, Axis> {
  template <int, class T>
  using result = typename std::conditional_t<Kind == transform::real, complex<T>, T>;
  static constexpr shape infer(int, shape x) {
    if (x.rank <= Axis || x.extent[Axis] == 0) return no_shape;
    if (std::int64_t& n = x.extent[Axis]; Kind == transform::real && n != dyn) n = n / 2 + 1;
    return x;
  }
  template <class R, class T>
  void host(call_context const&, tile<R> r, tile<T const> x) const {
    host::transform_tiles<Kind>(r, x, Axis, x.extent[Axis]);
  }
  template <class R, class T>
  void card(card_context& here, tile<R> r, tile<T const> x) const;
};

/// means: the n real numbers whose transform begins with x[a..., ., b...]; N: n; 0: twice the
///        numbers of x less 2; dyn: that of the object
template <int Axis, std::int64_t N>
struct real_inverse_op : transform_rule<transform::real_inverse, Axis> {
  template <int, class T>
  using result = typename T::value_type;
  static constexpr shape infer(int, shape x) {
    if (x.rank <= Axis) return no_shape;
    std::int64_t& n = x.extent[Axis];
    if (N > 0 && n != dyn && n != N / 2 + 1) return no_shape;
    if (N == 0 && n != dyn && n < 2) return no_shape;
    n = N > 0 ? N : n == dyn ? dyn : 2 * (n - 1);
    return x;
  }
  template <class R, class T>
  void host(call_context const&, tile<R> r, tile<T const> x) const {
    host::transform_tiles<transform::real_inverse>(r, x, Axis, r.extent[Axis]);
  }
  template <class R, class T>
  void card(card_context& here, tile<R> r, tile<T const> x) const;
};
template <int Axis>
struct real_inverse_op<Axis, dyn> : transform_rule<transform::real_inverse, Axis> {
  std::int64_t n = 1;
  template <int, class T>
  using result = typename T::value_type;
  constexpr shape infer(int, shape x) const {
    if (x.rank <= Axis || n < 1) return no_shape;
    if (x.extent[Axis] != dyn && x.extent[Axis] != n / 2 + 1) return no_shape;
    x.extent[Axis] = n;
    return x;
  }
  template <class R, class T>
  void host(call_context const&, tile<R> r, tile<T const> x) const {
    host::transform_tiles<transform::real_inverse>(r, x, Axis, n);
  }
  template <class R, class T>
  void card(card_context& here, tile<R> r, tile<T const> x) const;
};

#if LOCUS_CUDA_KERNELS
template <transform Kind, int Axis>
template <class R, class T>
void transform_op<Kind, Axis>::card(card_context& here, tile<R> r, tile<T const> x) const {
  cards::transform_tiles<Kind>(here, r, x, Axis, x.extent[Axis]);
}
template <int Axis, std::int64_t N>
template <class R, class T>
void real_inverse_op<Axis, N>::card(card_context& here, tile<R> r, tile<T const> x) const {
  cards::transform_tiles<transform::real_inverse>(here, r, x, Axis, r.extent[Axis]);
}
template <int Axis>
template <class R, class T>
void real_inverse_op<Axis, dyn>::card(card_context& here, tile<R> r, tile<T const> x) const {
  cards::transform_tiles<transform::real_inverse>(here, r, x, Axis, n);
}
#endif

}  // namespace locus::fourier
