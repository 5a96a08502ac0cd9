// SPDX-License-Identifier: Apache-2.0
// fft, ifft, rfft, irfft: Fourier transforms of lines along an axis. A program includes this header
// by name; <locus/locus.hpp> does not.
#pragma once
#include <utility>  // forward

#include <locus/core/macros.hpp>  // LOCUS_MODE
#include <locus/fft/fft_op.hpp>   // transform_op, real_inverse_op
#include <locus/ops/call.hpp>     // call

namespace locus {

namespace fourier {

/// means: Axis of X, counted from 0
template <int Axis, class X>
inline constexpr int axis_of = Axis < 0 ? Axis + expression_of_t<X>::pattern.rank : Axis;

/// means: X has the axis, with as many numbers as a line needs, and elements of its kind
/// fails: at compile time, with a sentence
template <int Axis, bool Real, class X>
consteval bool takes_lines() {
  using T = element_of_t<X>;
  constexpr int rank = expression_of_t<X>::pattern.rank, axis = axis_of<Axis, X>;
  constexpr bool has_axis = axis >= 0 && axis < rank;
  static_assert(has_axis,
                "locus: a Fourier transform names an axis that its operand does not have; "
                "axes count from 0, or from -1 backwards");
  constexpr bool fits = Real ? is_real_number<T> : is_complex_v<T>;
  if constexpr (Real)
    static_assert(fits, "locus: rfft takes float or double; write cast<float>(x), or fft(x) for "
                        "complex numbers");
  else
    static_assert(fits, "locus: fft, ifft and irfft take complex<float> or "
                        "complex<double>; write rfft(x) for real numbers");
  if constexpr (has_axis && fits) {
    constexpr bool has_numbers = expression_of_t<X>::pattern.extent[axis] != 0;
    static_assert(has_numbers, "locus: a Fourier transform takes lines of one number or more; its "
                               "operand has none along the axis");
    return has_numbers;
  } else
    return false;
}

}  // namespace fourier

inline namespace LOCUS_MODE {

/// means: r[a..., k, b...] = the sum over j of x[a..., j, b...] exp(-2 pi i j k / n), a: Axis axes,
///        n: the extent of x along Axis; any n, and quickest for those with factors up to 31
/// shape: that of x, of complex<float> or complex<double>
/// device: as x, which is whole, or in pieces along another axis; pieces along Axis do not compile.
///         In units without nvcc a real GPU's operands are brought to the host and back
/// cost:  one step; no fusion. 5 n log2 n operations a line, by FFTW where one is found and Axis is
///        the last axis, else by kernels of locus (LOCUS_FFT=own); lines on several threads. On GPUs
///        a launch for each factor of n
/// fails: at compile time, for other types, an axis outside the rank, pieces along it, an extent of
///        0; shape_error, where it is 0 when it is bound
/// after: NumPy's fft, with its norm "backward"
template <int Axis = -1, tensor_operand X>
constexpr auto fft(X&& x) {
  if constexpr (fourier::takes_lines<Axis, false, X>())
    return call(fourier::transform_op<fourier::transform::forward, fourier::axis_of<Axis, X>>{},
                std::forward<X>(x));
}
/// means: r[a..., j, b...] = the sum over k of x[a..., k, b...] exp(2 pi i j k / n), divided by n:
///        ifft(fft(x)) is x, but for rounding
/// shape, device, cost, fails: as fft     after: NumPy's ifft
template <int Axis = -1, tensor_operand X>
constexpr auto ifft(X&& x) {
  if constexpr (fourier::takes_lines<Axis, false, X>())
    return call(fourier::transform_op<fourier::transform::inverse, fourier::axis_of<Axis, X>>{},
                std::forward<X>(x));
}

/// means: the first n / 2 + 1 numbers k of fft of real x; the others are the conjugates of these
/// shape: n / 2 + 1 along Axis, else that of x; float gives complex<float>, double
///        complex<double>
/// cost:  half of that of fft where n is even     device, fails: as fft     after: NumPy's rfft
template <int Axis = -1, tensor_operand X>
constexpr auto rfft(X&& x) {
  if constexpr (fourier::takes_lines<Axis, true, X>())
    return call(fourier::transform_op<fourier::transform::real, fourier::axis_of<Axis, X>>{},
                std::forward<X>(x));
}
/// means: the n real numbers whose rfft is x; n: N, or the argument, or 2 (m - 1) with m the extent
///        of x along Axis. The imaginary parts of number 0, and of number n / 2 of an even n, count
///        as 0
/// shape: n along Axis, else that of x, whose m is n / 2 + 1; complex<T> gives T
/// cost:  half of that of ifft where n is even     device: as fft
/// fails: as fft, and where m is not n / 2 + 1     after: NumPy's irfft, which cuts and pads, too
template <int Axis = -1, std::int64_t N = 0, tensor_operand X>
constexpr auto irfft(X&& x) {
  if constexpr (fourier::takes_lines<Axis, false, X>()) {
    constexpr int axis = fourier::axis_of<Axis, X>;
    constexpr std::int64_t m = expression_of_t<X>::pattern.extent[axis];
    constexpr bool fits = N > 0 ? m == dyn || m == N / 2 + 1 : N == 0 && (m == dyn || m > 1);
    static_assert(fits, "locus: irfft of n numbers takes n / 2 + 1 of them, and n is 1 or more; "
                        "name another N, or slice the operand");
    if constexpr (fits) return call(fourier::real_inverse_op<axis, N>{}, std::forward<X>(x));
  }
}
template <int Axis = -1, tensor_operand X>
constexpr auto irfft(X&& x, std::int64_t n) {
  if constexpr (fourier::takes_lines<Axis, false, X>()) {
    fourier::real_inverse_op<fourier::axis_of<Axis, X>, dyn> op;
    op.n = n;
    return call(op, std::forward<X>(x));
  }
}

}  // namespace LOCUS_MODE
}  // namespace locus
