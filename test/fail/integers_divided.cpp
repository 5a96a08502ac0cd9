// SPDX-License-Identifier: Apache-2.0
// Integers divided by /: three divisions are meant by it. Floats and %: two remainders are.
// expect-1: locus: / of integers is ambiguous; write floor_div(a, b), trunc_div(a, b) or true_div(a, b)
// expect-2: locus: % of floats is ambiguous; write fmod(a, b) for a remainder with the sign of a, or floor_mod(a, b) for one with the sign of b
// expect-3: locus: 'shift_left' does not take these element types together; write cast<float>(x) or another type
#include <locus/locus.hpp>
using namespace locus;

auto quotients(Tensor<int, Extents<2>>& a, Tensor<float, Extents<2>>& x) {
#if LOCUS_MUST_FAIL == 1
  return a / 2;
#elif LOCUS_MUST_FAIL == 2
  return x % 2;
#elif LOCUS_MUST_FAIL == 3
  return x << 2;
#else
  static_cast<void>(fmod(x, 2));
  return floor_div(a << 2, 2) % 2;
#endif
}
