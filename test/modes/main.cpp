// SPDX-License-Identifier: Apache-2.0
// Units with different flags and different default policies are one program, and each behaves by
// its own. The linker keeps one copy of an inline function: it must not be another unit's.
#include <cstdio>

#include "unit.hpp"

static int failures = 0;
static void check(bool holds, char const* what) {
  if (holds) return;
  std::printf("%s\n", what);
  ++failures;
}
#define CHECK(...) check(__VA_ARGS__, #__VA_ARGS__)

int main() {
  CHECK(plain_unit::sums_on_gpu());       // prefer_gpu
  CHECK(!unchecked_unit::sums_on_gpu());  // follow_data
  CHECK(plain_unit::notices_dead_tensor());
  CHECK(fast_unit::notices_dead_tensor());
  CHECK(!unchecked_unit::notices_dead_tensor());
  CHECK(plain_unit::notices_bad_index());
  CHECK(!unchecked_unit::notices_bad_index());
  CHECK(plain_unit::count_nans() == 7);  // under -ffast-math x != x may be false
  CHECK(unchecked_unit::count_nans() == 7);
  (void)fast_unit::count_nans();  // any number: g++ 0, clang 7
  // what all units share
  for (std::string const& text :
       {plain_unit::numbers(), fast_unit::numbers(), unchecked_unit::numbers()})
    CHECK(text == "[nan inf 1.5]");
  CHECK(plain_unit::narrows_nan() && fast_unit::narrows_nan() && unchecked_unit::narrows_nan());
  CHECK(plain_unit::refuses_nan() && fast_unit::refuses_nan() && unchecked_unit::refuses_nan());
  std::printf("%d failures\n", failures);
  return failures ? 1 : 0;
}
