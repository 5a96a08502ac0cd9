// SPDX-License-Identifier: Apache-2.0
// fftn, ifftn, fft2, ifft2, rfft2, irfft2: Fourier transforms along several axes. A program includes
// this header by name; <locus/locus.hpp> does not.
#pragma once
#include <utility>  // forward

#include <locus/core/macros.hpp>  // LOCUS_MODE
#include <locus/fft/fft.hpp>      // fft, ifft, rfft, irfft

namespace locus {
inline namespace LOCUS_MODE {

/// means: the transform of x along each of these axes, one after the other; ifftn the inverse, which
///        divides by the product of their extents
/// shape, device: as fft, for each axis
/// cost:  one step for each axis
/// fails: as fft     after: NumPy's fftn(x, axes=...)
template <int Axis, int... Axes, tensor_operand X>
constexpr auto fftn(X&& x) {
  if constexpr (sizeof...(Axes) == 0)
    return fft<Axis>(std::forward<X>(x));
  else
    return fftn<Axes...>(fft<Axis>(std::forward<X>(x)));
}
template <int Axis, int... Axes, tensor_operand X>
constexpr auto ifftn(X&& x) {
  if constexpr (sizeof...(Axes) == 0)
    return ifft<Axis>(std::forward<X>(x));
  else
    return ifftn<Axes...>(ifft<Axis>(std::forward<X>(x)));
}

/// means: the transform along the last two axes, and its inverse
/// shape, device, fails: as fft     cost: two steps     after: NumPy's fft2, ifft2
template <tensor_operand X>
constexpr auto fft2(X&& x) {
  return fftn<-1, -2>(std::forward<X>(x));
}
template <tensor_operand X>
constexpr auto ifft2(X&& x) {
  return ifftn<-2, -1>(std::forward<X>(x));
}
/// means: rfft along the last axis, then fft along the one before
/// shape: n / 2 + 1 along the last axis     device, fails: as rfft     cost: two steps
/// after: NumPy's rfft2
template <tensor_operand X>
constexpr auto rfft2(X&& x) {
  return fft<-2>(rfft<-1>(std::forward<X>(x)));
}
/// means: the real numbers whose rfft2 is x; n: N, or the argument, or 2 (m - 1), as irfft
/// shape, device, fails: as irfft     cost: two steps     after: NumPy's irfft2
template <std::int64_t N = 0, tensor_operand X>
constexpr auto irfft2(X&& x) {
  return irfft<-1, N>(ifft<-2>(std::forward<X>(x)));
}
template <tensor_operand X>
constexpr auto irfft2(X&& x, std::int64_t n) {
  return irfft<-1>(ifft<-2>(std::forward<X>(x)), n);
}

}  // namespace LOCUS_MODE
}  // namespace locus
