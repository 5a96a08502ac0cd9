// SPDX-License-Identifier: Apache-2.0
// Fourier transforms of real numbers, of integers, along axes that are not there, of lines without numbers;
// gradients through them.
// expect-1: locus: fft, ifft and irfft take complex<float> or complex<double>; write rfft(x) for real numbers
// expect-2: locus: rfft takes float or double; write cast<float>(x), or fft(x) for complex numbers
// expect-3: locus: a Fourier transform names an axis that its operand does not have; axes count from 0, or from -1 backwards
// expect-4: locus: a Fourier transform takes lines of one number or more; its operand has none along the axis
// expect-5: locus: irfft of n numbers takes n / 2 + 1 of them, and n is 1 or more; name another N, or slice the operand
// expect-6: locus: irfft of n numbers takes n / 2 + 1 of them, and n is 1 or more; name another N, or slice the operand
// expect-7: locus: a gradient leads through complex numbers, which have none; write the real and the imaginary part as two tensors, or stop_gradient(z)
#include <locus/fft/fft.hpp>
#include <locus/grad/grad.hpp>
#include <locus/locus.hpp>
using namespace locus;

Tensor<complex<double>, Extents<3, 8>> x;
Tensor<complex<double>, Extents<3, 1>> one;
Tensor<float, Extents<0>> none;
Tensor<float, Extents<8>> samples;
Tensor<int, Extents<8>> whole;
#if LOCUS_MUST_FAIL == 1
auto misuse() { return fft(samples); }
#elif LOCUS_MUST_FAIL == 2
auto misuse() { return rfft(whole); }
#elif LOCUS_MUST_FAIL == 3
auto misuse() { return ifft<2>(x); }
#elif LOCUS_MUST_FAIL == 4
auto misuse() { return rfft(none); }
#elif LOCUS_MUST_FAIL == 5
auto misuse() { return irfft<1, 12>(x); }
#elif LOCUS_MUST_FAIL == 6
auto misuse() { return irfft(one); }
#elif LOCUS_MUST_FAIL == 7
auto misuse() {
  auto const x = named<"x">(samples);
  return grad(sum(x * x) + sum(irfft(rfft(x))), x);
}
#else
auto other() {
  auto const x = named<"x">(samples);
  return eval(grad(sum(x * x * stop_gradient(irfft(rfft(x)))), x));
}
auto proper() { return eval(irfft<1, 15>(ifft<0>(fft(x)))); }
#endif
