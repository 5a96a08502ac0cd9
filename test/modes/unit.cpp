// SPDX-License-Identifier: Apache-2.0
// One of the units: MODES_UNIT says which. It is compiled once under each set of flags.
#include "unit.hpp"

#include <locus/locus.hpp>

#include <cstdint>
#include <sstream>

namespace MODES_UNIT {
using namespace locus;
using Vector = Tensor<float, Extents<dyn>, CpuDevice>;

bool sums_on_gpu() {
  Vector a(3), b(3);
  auto const sum = a + b;
  return device_of<decltype(sum)>.at(0).is_gpu();
}
/// out of line: the compiler would see, and refuse, what is done on purpose below
[[gnu::noinline]] void end(Vector* a) {
  asm volatile("" ::"r"(a) : "memory");
  delete a;
}
bool notices_dead_tensor() {
  Vector y(3);
  auto* const a = new Vector(3);
  auto const e = *a + 1.f;
  if (!checked_build) {  // reading it would be an error of the program
    y = e;
    end(a);
    return false;
  }
  end(a);
  try {
    y = e;
  } catch (bad_access const&) {
    return true;
  }
  return false;
}
int count_nans() {
  Vector x(1000);
  for (int i = 0; i < 1000; ++i) x(i) = static_cast<float>(i);
  for (int i = 0; i < 7; ++i) x(100 * i) = __builtin_nanf("");
  return static_cast<int>(fetch(sum(cast<int>(x != x))));
}
bool notices_bad_index() {
  Vector x(3);
  if (!checked_build) return false;
  try {
    x(3) = 1.f;
  } catch (bad_access const&) {
    return true;
  }
  return false;
}
/// the compiler does not see them, and cannot take them for impossible
std::uint64_t volatile bits_of_nan = 0x7ff8000000000000, bits_of_infinity = 0x7ff0000000000000;
double number_of(std::uint64_t bits) { return __builtin_bit_cast(double, bits); }
bool narrows_nan() {
  double const nan = number_of(bits_of_nan), infinity = number_of(bits_of_infinity);
  return half(nan).bits == 0x7e00 && bfloat16(nan).bits == 0x7fc0 && half(infinity).bits == 0x7c00;
}
std::string numbers() {
  Tensor<double, Extents<3>, CpuDevice> x{0, 0, 1.5};
  x(0) = number_of(bits_of_nan), x(1) = number_of(bits_of_infinity);
  std::ostringstream text;
  text << x;
  return text.str();
}
template <class F>
bool refuses(F const& f) {
  try {
    f();
  } catch (configuration_error const&) {
    return true;
  }
  return false;
}
bool refuses_nan() {
  double const nan = number_of(bits_of_nan);
  return refuses([&] { config::set_memory_fraction(nan); }) &&
         refuses([&] { (void)uniform<double>(Extents<3>{}, seed{1}, 0., nan); });
}
}  // namespace MODES_UNIT
