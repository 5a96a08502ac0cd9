// SPDX-License-Identifier: Apache-2.0
// One of the units: MODES_UNIT says which. It is compiled once under each set of flags.
#include "unit.hpp"

#include <locus/locus.hpp>

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
}  // namespace MODES_UNIT
