// SPDX-License-Identifier: Apache-2.0
// Tensors, errors and devices cross between a unit of the host compiler and one of nvcc: on what is
// there, and on two simulated GPUs.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <locus/testing/simulated_gpus.hpp>

#include "mixed.hpp"

namespace {

int failures = 0;
void check(bool holds, char const* what, int line) {
  if (holds) return;
  std::printf("line %d: %s\n", line, what);
  ++failures;
}
#define CHECK(...) check(__VA_ARGS__, #__VA_ARGS__, __LINE__)

template <class F>
bool throws_bad_access(F f) {
  try {
    f();
  } catch (locus::bad_access const& e) {
    return std::strstr(e.what(), "moved from") != nullptr;
  }
  return false;
}

/// sum of (2 (first + i) + 0.5)^2 over 15 elements, in double
double expected_total(double first) {
  double sum = 0;
  for (int i = 0; i < 15; ++i) sum += (2 * (first + i) + 0.5) * (2 * (first + i) + 0.5);
  return sum;
}

void exchange() {
  Grid from_host = host_unit::make_grid(5, 1.f), from_cuda = cuda_unit::make_grid(5, 7.f);
  Grid a = cuda_unit::scaled(from_host, 2.f), b = host_unit::scaled(from_cuda, 2.f);
  CHECK(std::abs(host_unit::total(a) - expected_total(1)) < 1e-2);
  CHECK(std::abs(cuda_unit::total(a) - expected_total(1)) < 1e-2);
  CHECK(std::abs(host_unit::total(b) - expected_total(7)) < 1e-2);
  CHECK(std::abs(cuda_unit::total(b) - expected_total(7)) < 1e-2);

  auto host_gram = host_unit::gram(from_cuda), cuda_gram = cuda_unit::gram(from_cuda);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      double sum = 0;
      for (int k = 0; k < 5; ++k) sum += (7. + 3 * k + i) * (7. + 3 * k + j);
      CHECK(std::abs(host_gram(i, j) - sum) < 1e-3);
      CHECK(std::abs(cuda_gram(i, j) - sum) < 1e-3);
    }

  Copies mirrored({1, 2, 3, 4});
  host_unit::average(mirrored, from_host);
  CHECK(locus::fetch(mirrored)(3) == 120.f);
  cuda_unit::average(mirrored, from_cuda);
  CHECK(locus::fetch(mirrored)(3) == 210.f);

  CHECK(throws_bad_access(host_unit::misuse));
  CHECK(throws_bad_access(cuda_unit::misuse));
}

}  // namespace

int main() {
  CHECK(host_unit::table_of_devices() == cuda_unit::table_of_devices());
  exchange();
  {
    locus::testing::simulated_gpus two{2, {.seed = 7}};
    exchange();
  }
  exchange();
  std::printf("%d failures\n", failures);
  return failures ? 1 : 0;
}
